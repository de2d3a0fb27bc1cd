import { Type } from '@sinclair/typebox';
import { nearMiss } from '../../core/base/near-miss.ts';
import { idSchema } from '../../core/http/operation.ts';
import { invalidQuery } from '../../core/http/query.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';

/** Events of an account; only those of this type or stream. Null: all. */
export interface WantedEvents {
  readonly account: string;
  readonly type: string | null;
  readonly streamId: string | null;
}

export function isWanted(event: LoggedEvent, { account, type, streamId }: WantedEvents): boolean {
  return (
    event.account === account &&
    (type === null || type === event.type) &&
    (streamId === null || streamId === event.stream)
  );
}

export const wantedQuery = {
  type: Type.String({ description: 'Only events of this type.', examples: ['stream.started'] }),
  streamId: Type.String({ description: 'Only events of this stream.', examples: idSchema.examples }),
};

/** A plugin may be off for now, but a misspelt name would never match and never be noticed. Throws 422 `query.invalid`. */
export function refuseMisspelt(type: string | null, known: ReadonlySet<string>): void {
  if (type === null || known.has(type)) return;
  const meant = nearMiss(type, known);
  if (meant !== undefined) throw invalidQuery(`type: there is no event ${type}; did you mean ${meant}?`);
}
