import { derivedId } from '../../core/base/ids.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { type Push, type PushEmitted, pushMachine } from '../../machines/push.ts';

/** One per session, target and profile that was ever pushed; emits its events. Ends with its session. */
export const push: ActorType<typeof pushMachine> = {
  type: 'push',
  machine: pushMachine,
  version: 1,
  get kinds() {
    return { [pushKind]: 'own' } as const;
  },
  rows({ push: { id, pair, account, createdAt, name, ...of }, holder }, value) {
    const row = { kind: pushKind, id, account, createdAt, name };
    if (value === 'gone') return [{ ...row, body: null, indexes: {} }];
    const { streamId, sessionId, targetId, profile } = of;
    const document: PushDocument = {
      ...{ streamId, sessionId, targetId, profile },
      state: typeof value === 'string' ? value : Object.keys(value as object)[0],
      incarnation: holder?.incarnation ?? null,
    };
    const indexes = { sessionId, pair, ...(holder && { node: holder.node }) };
    return [{ ...row, body: JSON.stringify(document), indexes }];
  },
  describe(emitted, { push: { account, streamId, targetId, name, profile }, stream }) {
    const told = emitted as unknown as PushEmitted;
    const payload = {
      target: { id: targetId, name, profile },
      ...(told.type === 'multistream.error' && { error: told.error }),
    };
    return { account, stream: streamId, body: { stream, payload } };
  },
};

export const pushKind = 'multistream-push';

/** What is stored of a push. */
export interface PushDocument extends PushedPair {
  readonly state: string;
  /** Process that pushes; null when none does. */
  readonly incarnation: string | null;
}

/** Target and profile in a session. */
type PushedPair = Pick<Push, 'streamId' | 'sessionId' | 'targetId' | 'profile'>;

export function pushDocument(row: StoredResource): PushDocument {
  return JSON.parse(row.body) as PushDocument;
}

/** Ids of the actor, and of the pair of target and profile, which all sessions of the stream share. The same on every node. */
export function pushIds(of: PushedPair): { readonly id: string; readonly pair: string } {
  const { streamId, sessionId, targetId, profile } = of;
  const derived = (owner: string) => derivedId(JSON.stringify(['push', owner, targetId, profile, 0]));
  return { id: derived(sessionId), pair: derived(streamId) };
}
