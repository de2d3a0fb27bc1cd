import { Fault, hasCode } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import type { Principal } from '../../core/http/auth.ts';
import { broadcast } from './actor.ts';
import { stream } from './contract.ts';
import { documentOf, type StreamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';

/** The stream or session, if it is the caller's. Another account's is as unknown as one that never was. */
export async function owned(
  principal: Principal,
  options: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const row = await options.kit.resources.get('stream', options.id, { isBeside: true });
  if (!row || row.account !== principal.accountId) throw streamNotFound(options.id);
  return documentOf(row);
}

export function streamNotFound(id: string): Fault {
  return new Fault('stream.not_found', { status: 404, message: `There is no stream ${idOrNone(id)}.` });
}

/** For a command to the actor of a stream that was there a moment ago: who deletes it is another request. */
export function deletedMeanwhile(id: string): (error: unknown) => never {
  return (error) => {
    throw hasCode(error, 'actor.not_found') ? streamNotFound(id) : error;
  };
}

export function sessionNotFound(id: string): Fault {
  return new Fault('session.not_found', { status: 404, message: `There is no session ${idOrNone(id)}.` });
}

/** The stream, and it may be changed: it is not a session. */
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
 * Asks the broadcast for what the body names; a body that names nothing is no step. Throws the Faults of the
 * fields that other plugins own.
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
