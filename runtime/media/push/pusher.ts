import type { Log } from '../../../core/base/log.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type {
  Pusher,
  PushFact,
  PushOrder,
  PushReading,
  PushReason,
  PushTotals,
  PushTrouble,
} from '../../../core/ports/pusher.ts';
import { pushUrl } from '../../../core/push-url/push-url.ts';
import { BufferPool } from '../live/pool.ts';
import { MemoryBudget, type MemoryShare } from '../publish/memory-budget.ts';
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

/** Pushes what is broadcast in this process to other servers. Facts are reported in a turn of their own, never within a call. */
export class NodePusher implements Pusher {
  readonly #clock: Clock;
  readonly #host: Host;
  /** By playlist and profile. */
  readonly #playlists = new Map<string, Map<string, PushRelay>>();
  #isClosed = false;
  #stopLooking: (() => void) | undefined;

  constructor(options: NodePusherOptions) {
    this.#clock = options.clock;
    this.#host = new Host(options);
  }

  tell(to: (fact: PushFact) => void): void {
    this.#host.tell(to);
  }

  want(playbackId: string, wanted: readonly PushOrder[]): void {
    const playlist = this.#playlists.get(playbackId);
    if (this.#isClosed || playlist === undefined) return;
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
    this.#watch();
  }

  readings(): PushReading[] {
    return this.#relays().flatMap((relay) => relay.pushes.map((push) => push.reading()));
  }

  totals(): PushTotals {
    let { sentBytes, droppedFrames } = this.#host.past;
    let connected = 0;
    let all = 0;
    this.#everyPush((push) => {
      const reading = push.reading();
      sentBytes += reading.sentBytes;
      droppedFrames += reading.droppedFrames;
      all += 1;
      if (push.isConnected) connected += 1;
    });
    const troubles = { ...this.#host.troubles };
    return { connected, connecting: all - connected, sentBytes, droppedFrames, troubles };
  }

  close(): void {
    this.#isClosed = true;
    for (const relay of this.#relays()) relay.want([]);
    this.#watch();
  }

  /** Where the media of a playlist that begins here goes, of the source or of the rendition `profile`; until its `end`. */
  relayFor(playbackId: string, profile = SOURCE): PushRelay {
    this.#playlists.get(playbackId)?.get(profile)?.end();
    const relay = new PushRelay(playbackId, {
      host: this.#host,
      onEnd: () => {
        const playlist = this.#playlists.get(playbackId);
        playlist?.delete(profile);
        if (playlist?.size === 0) this.#playlists.delete(playbackId);
        this.#watch();
      },
    });
    const playlist = this.#playlists.get(playbackId) ?? new Map<string, PushRelay>();
    this.#playlists.set(playbackId, playlist.set(profile, relay));
    return relay;
  }

  #relays(): PushRelay[] {
    return [...this.#playlists.values()].flatMap((one) => [...one.values()]);
  }

  #everyPush(work: (push: Push) => void): void {
    for (const playlist of this.#playlists.values())
      for (const relay of playlist.values()) for (const push of relay.pushes) work(push);
  }

  /** Deadlines are looked at while there is something to look at. */
  #watch(): void {
    if (this.#relays().some((relay) => relay.isActive)) {
      const work = () => this.#everyPush((push) => push.look());
      this.#stopLooking ??= every(lookMs, { clock: this.#clock, work });
    } else {
      this.#stopLooking?.();
      this.#stopLooking = undefined;
    }
  }
}

/** What all pushes of a node share, and what is counted over all of them. */
class Host implements PushHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly settings: PushSettings;
  readonly pool = new BufferPool({ limit: idleBytes });
  readonly troubles: Partial<Record<PushReason, number>> = {};
  /** Of pushes that ended. */
  readonly past = { sentBytes: 0, droppedFrames: 0 };
  readonly #open: NodePusherOptions['open'];
  readonly #memory: MemoryBudget;
  readonly #slots: FairSlots;
  readonly #processes: FairSlots;
  readonly #beginnings = new WindowCounts({ most: mostBeginnings, window: 60_000, keys: 10_000 });
  #onFact: (fact: PushFact) => void = () => {};

  constructor({ clock, log, random, open, settings }: NodePusherOptions) {
    this.clock = clock;
    this.log = log;
    this.random = random;
    this.settings = settings;
    this.#open = open;
    this.#memory = new MemoryBudget({ limit: settings.memory });
    this.#slots = new FairSlots(settings.targets);
    this.#processes = new FairSlots(settings.processes);
  }

  tell(to: (fact: PushFact) => void): void {
    this.#onFact = to;
  }

  opener(url: string): OpenPush | PushTrouble {
    const read = pushUrl(url);
    return read.ok ? this.#open[read.scheme] : badUrl(read);
  }

  mayBegin(playbackId: string): boolean {
    return this.#beginnings.admit(playbackId, this.clock.now());
  }

  takeSlot({ owner, order }: Push): (() => void) | PushTrouble {
    // Over SRT each push has a process of ffmpeg.
    const isSrt = /^srt:/i.test(order.url);
    if (isSrt && !this.#processes.take(owner)) return troubles.processes;
    const hasSlot = this.#slots.take(owner);
    const give = () => {
      if (hasSlot) this.#slots.give(owner);
      if (isSrt) this.#processes.give(owner);
    };
    if (hasSlot) return give;
    give();
    return troubles.full;
  }

  openMemory(owner: string): MemoryShare {
    return this.#memory.open(owner);
  }

  report(fact: PushFact): void {
    if (fact.type === 'failed' || fact.type === 'lost') {
      const { reason } = fact.trouble;
      this.troubles[reason] = (this.troubles[reason] ?? 0) + 1;
    }
    queueMicrotask(() => {
      try {
        this.#onFact(fact);
      } catch (error) {
        this.log.error('the fact of a push could not be reported', mishap(error));
      }
    });
  }

  ended(push: Push): void {
    const { sentBytes, droppedFrames } = push.reading();
    this.past.sentBytes += sentBytes;
    this.past.droppedFrames += droppedFrames;
  }
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
