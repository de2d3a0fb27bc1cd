import { derivedId } from '../../core/base/ids.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { type PushContext, type PushEmitted, pushMachine } from '../../machines/push.ts';

/** One per session, target and profile that was ever pushed; emits its events. Ends with its session. */
export const push: ActorType<typeof pushMachine> = {
  type: 'push',
  machine: pushMachine,
  version: 1,
  rows(context, state) {
    const { id, account, createdAt, name, sessionId, pair } = context.push;
    const row = { kind: pushKind, id, account, createdAt, name };
    if (state === 'gone') return [{ ...row, body: null, indexes: {} }];
    const indexes = { sessionId, pair, ...(context.holder && { node: context.holder.node }) };
    return [{ ...row, body: JSON.stringify(documentFor(context, state)), indexes }];
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
export interface PushDocument {
  readonly streamId: string;
  readonly sessionId: string;
  readonly targetId: string;
  readonly profile: string;
  readonly state: PushState;
  /** Process that pushes; null when none does. */
  readonly incarnation: string | null;
}

type PushState = 'idle' | 'connecting' | 'connected' | 'failing';

export function pushDocument(row: StoredResource): PushDocument {
  return JSON.parse(row.body) as PushDocument;
}

/**
 * Ids of the actor, which lies beside its session, and of the pair of target and profile, which all sessions of the stream share.
 * The same on every node.
 */
export function pushIds(
  of: Pick<PushDocument, 'streamId' | 'sessionId' | 'targetId' | 'profile'>,
  { nameBeside }: Pick<Kit['resources'], 'nameBeside'>,
): { readonly id: string; readonly pair: string } {
  const { streamId, sessionId, targetId, profile } = of;
  const drawn = (what: readonly string[]) => {
    let draws = 0;
    return () => derivedId(JSON.stringify(['push', ...what, draws++]));
  };
  return {
    id: nameBeside(sessionId, drawn([sessionId, targetId, profile])),
    pair: nameBeside(streamId, drawn([streamId, targetId, profile])),
  };
}

function documentFor(
  { push: { streamId, sessionId, targetId, profile }, holder }: PushContext,
  state: unknown,
) {
  const document: PushDocument = {
    ...{ streamId, sessionId, targetId, profile },
    state: (typeof state === 'string' ? state : Object.keys(state as object)[0]) as PushState,
    incarnation: holder?.incarnation ?? null,
  };
  return document;
}
