import type { Principal } from '../../core/auth.ts';
import { resource } from '../../core/resource.ts';
import { token } from '../../core/token.ts';

/** The stream object; sessions are of the same kind. Other plugins add fields to it. */
export const stream = resource('stream');

/** What other plugins may ask of streams. */
export interface Streams {
  /**
   * Sets fields that other plugins own on a parent stream.
   * Faults: `stream.not_found` (404), `stream.session_read_only` (400), and those of the fields.
   */
  setFields(
    principal: Principal,
    options: { id: string; fields: Readonly<Record<string, unknown>> },
  ): Promise<void>;
}

/** Codes of what `setFields` throws itself. */
export const setFieldsFaults = [
  'stream.not_found',
  'stream.session_read_only',
  'actor.not_found',
  'actor.not_possible',
] as const;

export const streams = token<Streams>('streams');
