import { Fault } from '../../core/base/fault.ts';
import type { Principal } from '../../core/http/auth.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './config.ts';
import { stream } from './contract.ts';
import { documentOf, type StreamDocument } from './document.ts';
import { deletedMeanwhile, streamNotFound } from './faults.ts';

/** The stream or session, if it is the caller's. One of another account is answered as if it did not exist. */
export async function owned(
  principal: Principal,
  options: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const row = await options.kit.resources.get('stream', options.id, { isBeside: true });
  if (!row || row.account !== principal.accountId) throw streamNotFound(options.id);
  return documentOf(row);
}

/** The stream, if it is not a session: those cannot be changed. */
export async function parent(
  principal: Principal,
  options: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const document = await owned(principal, options);
  if (document.parentId !== null) {
    throw new Fault('stream.session_read_only', {
      status: 400,
      message: `${options.id} is a session; sessions are read-only. Change its parent ${document.parentId}.`,
    });
  }
  return document;
}

/**
 * Changes what the body names; an empty body changes nothing. Throws the Faults of the fields that other plugins own.
 */
export async function changeStream(
  document: StreamDocument,
  options: { body: StreamBody; principal: Principal; kit: StreamsKit },
): Promise<void> {
  const { body, principal, kit } = options;
  if (Object.keys(body).length === 0) return;
  const { name, suspended, holdSeconds, userTags } = body;
  const fields = await kit.resources.fields(stream).named(body, { principal, stored: document.fields });
  const change = {
    type: 'change' as const,
    changes: {
      ...(name !== undefined && { name }),
      ...(suspended !== undefined && { suspended }),
      ...(holdSeconds !== undefined && { holdSeconds }),
      ...(userTags !== undefined && { userTags }),
      fields,
    },
  };
  await kit.actors.ask(broadcast, document.id, change).catch(deletedMeanwhile(document.id));
}

/** What a client may set, checked against the schema. */
export interface StreamBody extends Record<string, unknown> {
  readonly name?: string;
  readonly suspended?: boolean;
  readonly holdSeconds?: number;
  readonly userTags?: Record<string, unknown>;
}
