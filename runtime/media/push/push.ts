import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PushFact, PushOrder, PushReading, PushTrouble } from '../../../core/ports/pusher.ts';
import { Backoff } from '../../base/backoff.ts';
import type { BufferPool } from '../live/pool.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import type { OpeningPush, OpenPush, PushConnection } from './connection.ts';
import { batchBytes, Outlet, type PushedMedia } from './outlet.ts';
import { PushQueue } from './queue.ts';
import { mishap, troubles } from './troubles.ts';

/** What all pushes of a node have in common. */
export interface PushHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly pool: BufferPool;
  readonly settings: PushSettings;
  /** How to reach the server of this URL, or why it cannot be. */
  opener(url: string): OpenPush | PushTrouble;
  /** Whether a new push of this playlist may connect at once: not when too many did. */
  mayBegin(playbackId: string): boolean;
  /** Takes one of the connections (over SRT also a process). Returns how to give it back, or why there is none left. */
  takeSlot(push: Push): (() => void) | PushTrouble;
  openMemory(owner: string): MemoryShare;
  report(fact: PushFact): void;
  ended(push: Push): void;
}

/** Of the section `push` of the config; ms and bytes. */
export interface PushSettings {
  readonly queue: number;
  readonly batch: number;
  readonly stall: number;
  readonly retryFirst: number;
  readonly retryMost: number;
}

/** The broadcast that is pushed. */
export interface PushedBroadcast extends PushedMedia {
  readonly playbackId: string;
  /** Somebody publishes: it is not held. */
  readonly isLive: boolean;
}

type State =
  /** Connects as soon as somebody publishes. */
  | { readonly is: 'idle' }
  /** Connects at `retryAt`, epoch ms. */
  | { readonly is: 'waiting'; readonly retryAt: number; cancel(): void }
  | Attempt
  | { readonly is: 'ended' };

/** One connection, from the first try to its loss. What an earlier one says is ignored, because it is another object. */
interface Attempt {
  readonly is: 'attempt';
  opening?: OpeningPush;
  /** Since when the server's yes is awaited, epoch ms. */
  askedAt: number | undefined;
  /** There is one when media may be written. */
  outlet?: Outlet;
  /** The server said yes, and media was handed over: it is connected when both are so. */
  isAccepted: boolean;
  hasMedia: boolean;
  /** Epoch ms. */
  connectedAt?: number;
}

/**
 * One push: a connection that is made, fed by an `Outlet`, and made again when it breaks, until `end`. No method throws, whatever
 * the connection does, so that a broadcast and the other pushes never notice.
 */
export class Push {
  readonly order: PushOrder;
  readonly owner: string;
  readonly #host: PushHost;
  readonly #broadcast: PushedBroadcast;
  readonly #queue: PushQueue;
  readonly #memory: MemoryShare;
  readonly #backoff: Backoff;
  #state: State = { is: 'idle' };
  #giveSlot: (() => void) | undefined;
  #trouble: PushTrouble | undefined;
  #isSlow = false;

  constructor(order: PushOrder, options: { host: PushHost; broadcast: PushedBroadcast }) {
    const { host, broadcast } = options;
    this.order = order;
    this.owner = order.owner ?? broadcast.playbackId;
    this.#host = host;
    this.#broadcast = broadcast;
    this.#memory = host.openMemory(this.owner);
    this.#queue = new PushQueue({
      limit: host.settings.queue,
      pieceBytes: batchBytes,
      pool: host.pool,
      memory: this.#memory.hold(),
    });
    const { retryFirst: first, retryMost: most } = host.settings;
    this.#backoff = new Backoff({ first, most, random: host.random });
  }

  get isConnected(): boolean {
    return this.#state.is === 'attempt' && this.#state.connectedAt !== undefined;
  }

  get #outlet(): Outlet | undefined {
    return this.#state.is === 'attempt' ? this.#state.outlet : undefined;
  }

  /**
   * Begins to connect, or will when somebody publishes. Called once. A changed target is a new push that knows nothing of the
   * waits before it: where there are too many, it waits for the longest time first.
   */
  start(): void {
    if (this.#host.mayBegin(this.#broadcast.playbackId)) return void this.#attempt();
    this.#trouble = troubles.hasty;
    this.#waitFor(this.#host.settings.retryMost);
  }

  /** A picture. Its arguments come one by one because this runs for each of them; see `Outlet`. */
  video(bytes: Uint8Array, start: number, end: number, time: number, isKey: boolean, now: number): void {
    try {
      this.#outlet?.video(bytes, start, end, time, isKey, now);
    } catch (error) {
      this.#broke(error);
    }
  }

  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number): void {
    try {
      this.#outlet?.audio(bytes, start, end, time, now);
    } catch (error) {
      this.#broke(error);
    }
  }

  /** A publish begins. */
  begin(): void {
    this.#outlet?.restart();
    if (this.#state.is === 'idle') this.#attempt();
  }

  /** Another video header is in force. */
  restartVideo(): void {
    this.#outlet?.restartVideo();
  }

  /** The publisher is gone for now. The connection is kept. */
  hold(): void {
    this.#try((outlet, now) => outlet.flush(now));
  }

  /** Looks at the deadlines, about twice a second. */
  look(): void {
    if (this.#state.is !== 'attempt') return;
    const now = this.#host.clock.now();
    const { askedAt } = this.#state;
    if (askedAt !== undefined && now - askedAt >= openingMs) return void this.#giveUp(troubles.timeout);
    this.#try((outlet) => outlet.look(now));
    const outlet = this.#outlet;
    const { stall } = this.#host.settings;
    if (outlet === undefined) return;
    if (outlet.stalledFor(now) >= stall) this.#giveUp(troubles.stalled(stall));
    else if (this.#isSlow && outlet.hasKeptUp) {
      this.#isSlow = false;
      if (this.#trouble === troubles.slow) this.#trouble = undefined;
    }
  }

  /** It is no longer wanted: says goodbye where that is possible. */
  end(): void {
    const state = this.#state;
    if (state.is === 'ended') return;
    this.#state = { is: 'ended' };
    if (state.is === 'waiting') state.cancel();
    if (state.is === 'attempt') this.#leave(state);
    this.#queue.clear();
    this.#memory.close();
    this.#giveSlot?.();
    this.#host.ended(this);
    this.#report('ended');
  }

  reading(): PushReading {
    const state = this.#state;
    const { sentBytes, bytes, droppedFrames } = this.#queue;
    const isAccepted = state.is === 'attempt' && state.isAccepted;
    return {
      playbackId: this.#broadcast.playbackId,
      id: this.order.id,
      state: this.isConnected ? 'connected' : isAccepted ? 'waiting' : 'connecting',
      ...(this.#trouble && { trouble: this.#trouble }),
      ...(state.is === 'waiting' && { retryAt: state.retryAt }),
      sentBytes,
      queuedBytes: bytes,
      droppedFrames,
    };
  }

  #attempt(): void {
    this.#state = { is: 'idle' };
    if (!this.#broadcast.isLive) return;
    const open = this.#host.opener(this.order.url);
    // Before the slot: a bad URL takes none from others.
    if (typeof open !== 'function') return void this.#fail(open);
    const slot = this.#giveSlot ?? this.#host.takeSlot(this);
    if (typeof slot !== 'function') return void this.#fail(slot);
    this.#giveSlot = slot;
    this.#connect(open);
  }

  #connect(open: OpenPush): void {
    const attempt: Attempt = {
      is: 'attempt',
      askedAt: this.#host.clock.now(),
      isAccepted: false,
      hasMedia: false,
    };
    this.#state = attempt;
    // In a turn of its own, because a connection may break within a call of ours; only while this is the connection.
    const hear = (work: () => void) =>
      queueMicrotask(() => {
        if (this.#state === attempt) work();
      });
    try {
      attempt.opening = open(this.order.url, {
        owner: this.order.owner,
        onOpen: (connection) => hear(() => this.#opened(attempt, connection)),
        onAccepted: () => hear(() => this.#accepted(attempt)),
        onDrain: () => {
          if (this.#state === attempt) this.#try((outlet, now) => outlet.drain(now));
        },
        onEnd: (trouble) => hear(() => this.#fail(trouble)),
      });
    } catch (error) {
      this.#log(error);
      this.#fail(troubles.notBegun);
    }
  }

  #opened(attempt: Attempt, connection: PushConnection): void {
    attempt.askedAt = undefined;
    attempt.isAccepted = connection.isAccepted !== false;
    attempt.outlet = new Outlet({
      connection,
      source: this.#broadcast,
      queue: this.#queue,
      videoOnly: this.order.videoOnly,
      batch: this.#host.settings.batch,
      onSlow: () => this.#slow(),
      onMedia: () => this.#handedOver(attempt),
    });
    this.#try((outlet, now) => {
      if (!outlet.open(now)) this.#giveUp(troubles.memory);
    });
  }

  #handedOver(attempt: Attempt): void {
    attempt.hasMedia = true;
    if (attempt.isAccepted) this.#connected(attempt);
    else attempt.askedAt = this.#host.clock.now();
  }

  #accepted(attempt: Attempt): void {
    if (attempt.isAccepted || attempt.outlet === undefined) return;
    attempt.isAccepted = true;
    attempt.askedAt = undefined;
    if (attempt.hasMedia) this.#connected(attempt);
  }

  #connected(attempt: Attempt): void {
    if (this.#state !== attempt) return;
    attempt.connectedAt = this.#host.clock.now();
    this.#trouble = this.#isSlow ? troubles.slow : undefined;
    this.#report('connected');
  }

  #slow(): void {
    if (this.#isSlow || !this.isConnected) return;
    this.#isSlow = true;
    this.#trouble = troubles.slow;
    this.#report('slow', troubles.slow);
  }

  /** A call of the outlet, if there is one. */
  #try(work: (outlet: Outlet, now: number) => void): void {
    const outlet = this.#outlet;
    if (outlet === undefined) return;
    try {
      work(outlet, this.#host.clock.now());
    } catch (error) {
      this.#broke(error);
    }
  }

  #broke(error: unknown): void {
    this.#log(error);
    this.#giveUp(troubles.broken);
  }

  /** Ends a connection that may still be there. */
  #giveUp(trouble: PushTrouble): void {
    if (this.#state.is === 'attempt') this.#abort(this.#state);
    this.#fail(trouble);
  }

  /** The attempt or the connection is over. */
  #fail(trouble: PushTrouble): void {
    const connectedAt = this.#state.is === 'attempt' ? this.#state.connectedAt : undefined;
    this.#queue.clear();
    if (connectedAt !== undefined && this.#host.clock.now() - connectedAt >= steadyMs) this.#backoff.reset();
    this.#trouble = trouble;
    this.#waitFor(this.#backoff.next());
    this.#report(connectedAt === undefined ? 'failed' : 'lost', trouble);
  }

  #waitFor(ms: number): void {
    const { clock } = this.#host;
    const retryAt = clock.now() + ms;
    this.#state = { is: 'waiting', retryAt, cancel: clock.at(retryAt, () => this.#attempt()) };
  }

  #leave(attempt: Attempt): void {
    try {
      if (attempt.outlet?.leave(this.#host.clock.now())) return;
    } catch (error) {
      this.#log(error);
    }
    this.#abort(attempt);
  }

  #abort({ opening }: Attempt): void {
    try {
      opening?.abort();
    } catch (error) {
      this.#log(error);
    }
  }

  #log(error: unknown): void {
    const { playbackId } = this.#broadcast;
    const fields = { playbackId, push: this.order.id, ...mishap(error) };
    this.#host.log.error('a push broke by an error of this server', fields);
  }

  #report(type: PushFact['type'], trouble?: PushTrouble): void {
    const { playbackId } = this.#broadcast;
    const at = this.#host.clock.now();
    this.#host.report({ playbackId, id: this.order.id, at, type, ...(trouble && { trouble }) } as PushFact);
  }
}

/** How long connecting may take, whatever the protocol. */
const openingMs = 60_000;
/** After so long a connection the waits begin with the shortest again. */
const steadyMs = 60_000;
