import type { Log } from '../../../core/base/log.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Pusher, PushFact, PushOrder, PushReason, PushTotals } from '../../../core/ports/pusher.ts';
import { pushUrl } from '../../../core/push-url/push-url.ts';
import { BufferPool } from '../live/pool.ts';
import { MemoryBudget } from '../publish/memory-budget.ts';
import { WindowCounts } from '../rtmp/window-count.ts';
import type { OpenPush } from './connection.ts';
import type { Push, PushHost, PushSettings } from './push.ts';
import { PushRelay } from './relay.ts';
import { badUrl, mishap, troubles } from './troubles.ts';

export interface NodePusherOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to below 1, so that not all that broke at one moment come back at one. */
  readonly random: () => number;
  /** How the servers of each kind of URL are spoken to. */
  readonly open: Readonly<Record<'rtmp' | 'rtmps' | 'srt', OpenPush>>;
  readonly settings: PushSettings & {
    /** Bytes that wait for all targets together. */
    readonly memory: number;
    /** Pushes at one time. */
    readonly targets: number;
    /** Those of them over SRT: each has a process of ffmpeg. */
    readonly processes: number;
  };
}

/** The pusher of a node, and what its media hands to it. */
export interface NodePusher extends Pusher {
  /** Where the media of a playlist that begins here goes, of the source or of the rendition `profile`; until its `end`. */
  relayFor(playbackId: string, profile?: string): PushRelay;
}

/** Pushes what is broadcast in this process to other servers. Facts are reported in a turn of their own, never within a call. */
export function nodePusher(options: NodePusherOptions): NodePusher {
  const { clock, log, settings, open } = options;
  /** By playlist and profile. */
  const playlists = new Map<string, Map<string, PushRelay>>();
  const memory = new MemoryBudget({ limit: settings.memory });
  const counts: Partial<Record<PushReason, number>> = {};
  /** Of pushes that ended. */
  const past = { sentBytes: 0, droppedFrames: 0 };
  const beginnings = new WindowCounts({ most: mostBeginnings, window: 60_000, keys: 10_000 });
  const slots = new FairSlots(settings.targets);
  const processes = new FairSlots(settings.processes);
  let report: (fact: PushFact) => void = () => {};
  let isClosed = false;
  let stopLooking: (() => void) | undefined;

  const relays = () => [...playlists.values()].flatMap((one) => [...one.values()]);
  const everyPush = (work: (push: Push) => void) => {
    for (const playlist of playlists.values())
      for (const relay of playlist.values()) for (const push of relay.pushes) work(push);
  };

  const host: PushHost = {
    clock,
    log,
    random: options.random,
    settings,
    pool: new BufferPool({ limit: idleBytes }),
    opener(url) {
      const read = pushUrl(url);
      return read.ok ? open[read.scheme] : badUrl(read);
    },
    mayBegin: (playbackId) => beginnings.admit(playbackId, clock.now()),
    takeSlot({ owner, order }) {
      // Over SRT each push has a process of ffmpeg.
      const isSrt = /^srt:/i.test(order.url);
      if (isSrt && !processes.take(owner)) return troubles.processes;
      const hasSlot = slots.take(owner);
      const give = () => {
        if (hasSlot) slots.give(owner);
        if (isSrt) processes.give(owner);
      };
      if (hasSlot) return give;
      give();
      return troubles.full;
    },
    openMemory: (owner) => memory.open(owner),
    report(fact) {
      if (fact.type === 'failed' || fact.type === 'lost') {
        const { reason } = fact.trouble;
        counts[reason] = (counts[reason] ?? 0) + 1;
      }
      queueMicrotask(() => {
        try {
          report(fact);
        } catch (error) {
          log.error('the fact of a push could not be reported', mishap(error));
        }
      });
    },
    ended(push) {
      const { sentBytes, droppedFrames } = push.reading();
      past.sentBytes += sentBytes;
      past.droppedFrames += droppedFrames;
    },
  };

  /** Deadlines are looked at while there is something to look at. */
  const watch = () => {
    const isIdle = !relays().some((relay) => relay.isActive);
    if (isIdle) {
      stopLooking?.();
      stopLooking = undefined;
    } else stopLooking ??= every(lookMs, { clock, work: () => everyPush((push) => push.look()) });
  };

  return {
    tell(to) {
      report = to;
    },
    want(playbackId: string, wanted: readonly PushOrder[]) {
      const playlist = playlists.get(playbackId);
      if (isClosed || playlist === undefined) return;
      const orders = new Map<string, PushOrder>();
      for (const order of wanted) if (!orders.has(order.id)) orders.set(order.id, order);
      // A push that changes its profile ends before it begins there, so that its facts are in order.
      for (const [profile, relay] of playlist) {
        const own = relay.pushes.map(({ order }) => order);
        const staying = own.filter(({ id }) => profileOf(orders.get(id)) === profile || !orders.has(id));
        if (staying.length < own.length) relay.want(staying);
      }
      for (const [profile, relay] of playlist)
        relay.want([...orders.values()].filter((order) => profileOf(order) === profile));
      watch();
    },
    readings: () => relays().flatMap((relay) => relay.pushes.map((push) => push.reading())),
    totals(): PushTotals {
      let { sentBytes, droppedFrames } = past;
      let connected = 0;
      let all = 0;
      everyPush((push) => {
        const reading = push.reading();
        sentBytes += reading.sentBytes;
        droppedFrames += reading.droppedFrames;
        all += 1;
        if (push.isConnected) connected += 1;
      });
      return { connected, connecting: all - connected, sentBytes, droppedFrames, troubles: { ...counts } };
    },
    close() {
      isClosed = true;
      for (const relay of relays()) relay.want([]);
      watch();
    },
    relayFor(playbackId, profile = SOURCE) {
      playlists.get(playbackId)?.get(profile)?.end();
      const relay = new PushRelay(playbackId, {
        host,
        onEnd() {
          const playlist = playlists.get(playbackId);
          playlist?.delete(profile);
          if (playlist?.size === 0) playlists.delete(playbackId);
          watch();
        },
      });
      const playlist = playlists.get(playbackId) ?? new Map<string, PushRelay>();
      playlists.set(playbackId, playlist.set(profile, relay));
      return relay;
    },
  };
}

/** Pushes of one playlist that may connect at once within a minute, so that changed targets call nobody every second. */
export const mostBeginnings = 150;
/** Buffers kept for reuse. */
const idleBytes = 32 * 1_048_576;
/** How often the deadlines of all pushes are looked at. */
const lookMs = 500;

const SOURCE = 'source';

function profileOf(order: PushOrder | undefined): string {
  return order?.profile ?? SOURCE;
}

/**
 * Slots of which everybody may have any number while a quarter is free. Of that quarter nobody gets more than an equal share, as
 * if there were two owners at least: the first one can take three quarters, and leaves something for others.
 */
export class FairSlots {
  readonly #limit: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: all are taken, or this owner has its share. */
  take(owner: string): boolean {
    const own = this.#taken.get(owner) ?? 0;
    const owners = this.#taken.size + (own === 0 ? 1 : 0);
    if (this.#all >= this.#limit) return false;
    if (this.#all >= this.#limit * 0.75 && own >= this.#limit / Math.max(owners, 2)) return false;
    this.#taken.set(owner, own + 1);
    this.#all += 1;
    return true;
  }

  give(owner: string): void {
    const own = this.#taken.get(owner) ?? 0;
    if (own === 0) return;
    if (own === 1) this.#taken.delete(owner);
    else this.#taken.set(owner, own - 1);
    this.#all -= 1;
  }
}
