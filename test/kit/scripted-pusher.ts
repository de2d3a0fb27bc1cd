import type { Clock } from '../../core/ports/clock.ts';
import type {
  Pusher,
  PushFact,
  PushOrder,
  PushReading,
  PushReason,
  PushTotals,
  PushTrouble,
} from '../../core/ports/pusher.ts';

/** A pusher without connections: tests say what the servers do, it keeps the rules of the port. */
export interface ScriptedPusher extends Pusher {
  /** Every `want`, in order. */
  readonly wants: readonly { readonly playbackId: string; readonly orders: readonly PushOrder[] }[];
  /** What is being pushed of a playlist, as it was last wanted. */
  orders(playbackId: string): readonly PushOrder[];
  /** The server of one push (the only one, unless its id is given) says yes and takes media. */
  connects(playbackId: string, id?: string): void;
  fails(playbackId: string, reason: PushReason, options?: ScriptedTrouble): void;
  slows(playbackId: string, id?: string): void;
  loses(playbackId: string, reason: PushReason, options?: ScriptedTrouble): void;
  /** A playlist is there from now on, or is no more: then its pushes end. */
  follows(playbackId: string, isThere: boolean): void;
  /** What `totals` answers from now on. */
  counts(totals: PushTotals): void;
  readonly isClosed: boolean;
}

interface ScriptedTrouble {
  readonly id?: string;
  readonly message?: string;
  /** Epoch ms of the next attempt. */
  readonly retryAt?: number;
}

export function scriptedPusher(clock: Clock): ScriptedPusher {
  const wants: { playbackId: string; orders: readonly PushOrder[] }[] = [];
  const playlists = new Map<string, Map<string, Push>>();
  let report: (fact: PushFact) => void = () => {};
  let totals: PushTotals = { connected: 0, connecting: 0, sentBytes: 0, droppedFrames: 0, troubles: {} };
  let isTold = false;
  let isClosed = false;

  const pushOf = (playbackId: string, id?: string): Push => {
    const pushes = [...(playlists.get(playbackId)?.values() ?? [])];
    const found = id === undefined ? pushes : pushes.filter(({ order }) => order.id === id);
    if (found.length !== 1) throw new Error(`${found.length} pushes of ${playbackId} are meant by ${id}`);
    return found[0];
  };
  const say = (playbackId: string, id: string, told: Told) =>
    report({ playbackId, id, at: clock.now(), ...told } as PushFact);
  const end = (playbackId: string, id: string) => {
    playlists.get(playbackId)?.delete(id);
    say(playbackId, id, { type: 'ended' });
  };
  const ends = (playbackId: string) => {
    for (const id of [...(playlists.get(playbackId)?.keys() ?? [])]) end(playbackId, id);
    playlists.delete(playbackId);
  };
  const troubled = (playbackId: string, push: Push, told: Told & { trouble: PushTrouble }) => {
    push.trouble = told.trouble;
    say(playbackId, push.order.id, told);
  };

  return {
    wants,
    get isClosed() {
      return isClosed;
    },
    tell(to) {
      if (isTold) throw new Error('facts are told already');
      isTold = true;
      report = to;
    },
    want(playbackId, wanted) {
      wants.push({ playbackId, orders: wanted });
      const pushes = playlists.get(playbackId);
      if (!pushes) return;
      for (const [id, { order }] of [...pushes]) {
        const now = wanted.find((one) => one.id === id);
        if (now?.url !== order.url || now.videoOnly !== order.videoOnly || now.profile !== order.profile)
          end(playbackId, id);
      }
      for (const order of wanted) {
        if (!pushes.has(order.id)) pushes.set(order.id, { order, state: 'connecting' });
      }
    },
    orders: (playbackId) => [...(playlists.get(playbackId)?.values() ?? [])].map(({ order }) => order),
    connects(playbackId, id) {
      const push = pushOf(playbackId, id);
      if (push.state === 'connected') throw new Error(`${push.order.id} is connected already`);
      Object.assign(push, { state: 'connected', trouble: undefined, retryAt: undefined });
      say(playbackId, push.order.id, { type: 'connected' });
    },
    fails(playbackId, reason, { id, message = `It met ${reason}.`, retryAt = clock.now() + 8000 } = {}) {
      const push = pushOf(playbackId, id);
      if (push.state === 'connected') throw new Error(`${push.order.id} is connected`);
      push.retryAt = retryAt;
      troubled(playbackId, push, { type: 'failed', trouble: { reason, message } });
    },
    slows(playbackId, id) {
      const trouble = { reason: 'slow', message: 'It takes less than is broadcast.' } as const;
      troubled(playbackId, pushOf(playbackId, id), { type: 'slow', trouble });
    },
    loses(playbackId, reason, { id, message = `It met ${reason}.`, retryAt = clock.now() + 1000 } = {}) {
      const push = pushOf(playbackId, id);
      if (push.state !== 'connected') throw new Error(`${push.order.id} is not connected`);
      Object.assign(push, { state: 'connecting', retryAt });
      troubled(playbackId, push, { type: 'lost', trouble: { reason, message } });
    },
    follows(playbackId, isThere) {
      if (!isThere) ends(playbackId);
      else if (!playlists.has(playbackId)) playlists.set(playbackId, new Map());
    },
    readings: () =>
      [...playlists].flatMap(([playbackId, pushes]) =>
        [...pushes.values()].map(({ order, state, trouble, retryAt }): PushReading => {
          const counts = { sentBytes: 0, queuedBytes: 0, droppedFrames: 0 };
          const more = { ...(trouble && { trouble }), ...(retryAt !== undefined && { retryAt }) };
          return { playbackId, id: order.id, state, ...more, ...counts };
        }),
      ),
    totals: () => totals,
    counts(given) {
      totals = given;
    },
    close() {
      isClosed = true;
      for (const playbackId of [...playlists.keys()]) ends(playbackId);
    },
  };
}

interface Push {
  readonly order: PushOrder;
  state: PushReading['state'];
  trouble?: PushTrouble | undefined;
  retryAt?: number | undefined;
}

type Told = { readonly type: PushFact['type']; readonly trouble?: PushTrouble };
