import type { FieldSet } from '../../core/plugin/resource.ts';
import type { BroadcastContext } from '../../machines/broadcast-context.ts';
import type { SessionFacts } from './contract.ts';

/** What other plugins are told of the session of a broadcast, which has one. Pure. */
export function sessionFacts({ stream, session }: BroadcastContext, fields: FieldSet): SessionFacts {
  if (!session) throw new Error('there is no session to tell of');
  const { account, createdByTokenName } = stream;
  const { id, createdAt, name, lastMediaAt, reconnectWindow } = session;
  const endsAt = lastMediaAt + reconnectWindow;
  return {
    ...{ id, streamId: stream.id, account, createdAt, endsAt, name, createdByTokenName },
    fields: fields.present(session.fields),
  };
}
