import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PushFact, PushOrder, PushReading, PushTrouble } from '../../../core/ports/pusher.ts';
import { Backoff } from '../../base/backoff.ts';
import type { BufferPool } from '../live/pool.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import type { OpeningPush, OpenPush, PushConnection } from './connection.ts';
import { pushLimits } from './limits.ts';
import { Outlet, type PushSource } from './outlet.ts';
import { PushQueue } from './queue.ts';
import { mishap, troubles } from './troubles.ts';

/** What all pushes of a node have in common. */
export interface PushHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly pool: BufferPool;
  readonly limits: PushSettings;
  /** The way to the server of this URL, or why there is none. */
  opener(url: string): OpenPush | PushTrouble;
  /** A new push of this playlist may connect at once. False: too many did. */
  mayBegin(playbackId: string): boolean;
  /**
   * One of so many connections at a time, and over SRT one of so many processes; given back at the end of the push. Answers why not
   * when all that this owner may have are taken.
   */
  takePlace(push: Push): PushTrouble | undefined;
  openMemory(owner: string): MemoryShare;
  report(fact: PushFact): void;
  /** The push is over. */
  ended(push: Push, hadPlace: boolean): void;
}

/** ms and bytes; see `pushLimits`. */
export interface PushSettings {
  readonly queue: number;
  readonly batch: number;
  readonly stall: number;
  readonly retryFirst: number;
  readonly retryMost: number;
}

/** The broadcast that is pushed. */
export interface PushedBroadcast extends PushSource {
  readonly playbackId: string;
  /** Somebody publishes: it is not held. */
  readonly isLive: boolean;
}

/**
 * One push: a connection that is made, fed by an `Outlet`, and made anew when it breaks, until `end`. No method throws, whatever
 * the connection does, so that a broadcast and the other pushes never notice.
 */
export class Push {
  readonly order: PushOrder;
  /** See `PushOrder`. */
  readonly owner: string;
  readonly #host: PushHost;
  readonly #broadcast: PushedBroadcast;
  readonly #queue: PushQueue;
  readonly #memory: MemoryShare;
  readonly #backoff: Backoff;
  /** What was said to the former connections is not heard. */
  #turn = 0;
  #opening: OpeningPush | undefined;
  /** Since when its server's yes is awaited, epoch ms; -1: it is not. */
  #askedAt = -1;
  /** The server said yes, and media was handed over: it is connected when both are so. */
  #isAccepted = false;
  #hasMedia = false;
  #outlet: Outlet | undefined;
  /** Epoch ms; -1: it is not connected. */
  #connectedAt = -1;
  #hasPlace = false;
  /** An attempt is due as soon as somebody publishes. */
  #isDue = false;
  #retryAt: number | undefined;
  #cancelRetry = () => {};
  #trouble: PushTrouble | undefined;
  #isSlow = false;
  #isEnded = false;
  /** A call of the outlet is under way; what the connection says meanwhile is heard after it. */
  #isBusy = false;
  #isDrained = false;
  #brokenBy: PushTrouble | undefined;

  constructor(order: PushOrder, options: { host: PushHost; broadcast: PushedBroadcast }) {
    const { host, broadcast } = options;
    this.order = order;
    this.#host = host;
    this.#broadcast = broadcast;
    this.owner = order.owner ?? broadcast.playbackId;
    this.#memory = host.openMemory(this.owner);
    this.#queue = new PushQueue({
      limit: host.limits.queue,
      pieceBytes: pushLimits.batchBytes.value,
      pool: host.pool,
      memory: this.#memory.hold(),
    });
    const { retryFirst: first, retryMost: most } = host.limits;
    this.#backoff = new Backoff({ first, most, random: host.random });
  }

  get isConnected(): boolean {
    return this.#connectedAt >= 0;
  }

  /**
   * Begins to connect, or will when somebody publishes. Called once. Each change of a target is a push that knows nothing of the
   * waits of the one before it: where there are too many it waits for the longest time first, and nothing is told of it.
   */
  start(): void {
    if (this.#isEnded) return;
    if (this.#host.mayBegin(this.#broadcast.playbackId)) {
      this.#attempt();
      return;
    }
    this.#trouble = troubles.hasty;
    this.#retryIn(this.#host.limits.retryMost);
  }

  /** A picture. Numbers one by one, because this is called for every one of them; see `Outlet`. */
  video(bytes: Uint8Array, start: number, end: number, time: number, isKey: boolean, now: number): void {
    if (this.#outlet === undefined) return;
    this.#isBusy = true;
    try {
      this.#outlet.video(bytes, start, end, time, isKey, now);
    } catch (error) {
      this.#brokenBy = this.#mishap(error, 'closed');
    }
    this.#settle();
  }

  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number): void {
    if (this.#outlet === undefined) return;
    this.#isBusy = true;
    try {
      this.#outlet.audio(bytes, start, end, time, now);
    } catch (error) {
      this.#brokenBy = this.#mishap(error, 'closed');
    }
    this.#settle();
  }

  /** A publish begins. */
  begin(): void {
    this.#outlet?.restart();
    if (this.#isDue) this.#attempt();
  }

  /** Another video header is in force. */
  restartVideo(): void {
    this.#outlet?.restartVideo();
  }

  /** Nobody publishes for now. The connection is kept. */
  hold(): void {
    this.#tend((outlet, now) => outlet.flush(now));
  }

  /** To be called about twice a second: looks at the deadlines. */
  look(): void {
    const now = this.#host.clock.now();
    if (this.#askedAt >= 0 && now - this.#askedAt >= OPENING) {
      this.#giveUp(troubles.timeout);
      return;
    }
    this.#tend((outlet) => outlet.look(now));
    const outlet = this.#outlet;
    if (outlet === undefined) return;
    const { stall } = this.#host.limits;
    if (outlet.stalledFor(now) >= stall) {
      this.#giveUp(troubles.stalled(stall));
    } else if (this.#isSlow && outlet.hasKeptUp) {
      this.#isSlow = false;
      if (this.#trouble === troubles.slow) this.#trouble = undefined;
    }
  }

  /** It is not wanted any more: says goodbye where that is possible. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelRetry();
    this.#retryAt = undefined;
    let hasLeft = false;
    this.#tend((outlet, now) => {
      hasLeft = outlet.leave(now);
    });
    if (!hasLeft) this.#abort();
    this.#close();
    this.#memory.close();
    this.#host.ended(this, this.#hasPlace);
    this.#tell('ended');
  }

  reading(): PushReading {
    const { sentBytes, bytes, droppedFrames } = this.#queue;
    return {
      playbackId: this.#broadcast.playbackId,
      id: this.order.id,
      state: this.isConnected ? 'connected' : this.#isAccepted ? 'waiting' : 'connecting',
      ...(this.#trouble && { trouble: this.#trouble }),
      ...(this.#retryAt !== undefined && { retryAt: this.#retryAt }),
      sentBytes,
      queuedBytes: bytes,
      droppedFrames,
    };
  }

  #attempt(): void {
    this.#retryAt = undefined;
    this.#isDue = !this.#broadcast.isLive;
    if (this.#isDue) return;
    const open = this.#host.opener(this.order.url);
    // Before the place: what leads nowhere takes none from others.
    if (typeof open !== 'function') {
      this.#fail(open);
      return;
    }
    const refused = this.#hasPlace ? undefined : this.#host.takePlace(this);
    this.#hasPlace = refused === undefined;
    if (refused === undefined) this.#connect(open);
    else this.#fail(refused);
  }

  #connect(open: OpenPush): void {
    this.#turn += 1;
    const turn = this.#turn;
    this.#askedAt = this.#host.clock.now();
    try {
      const opening = open(this.order.url, {
        onOpen: (connection) => {
          if (turn === this.#turn && this.#outlet === undefined) this.#opened(connection);
        },
        onAccepted: () => {
          if (turn === this.#turn) this.#accepted();
        },
        onDrain: () => {
          if (turn !== this.#turn) return;
          if (this.#isBusy) this.#isDrained = true;
          else this.#tend((outlet, now) => outlet.drain(now));
        },
        onEnd: (trouble) => {
          if (turn !== this.#turn) return;
          this.#opening = undefined;
          if (this.#isBusy) this.#brokenBy = trouble;
          else this.#fail(trouble);
        },
      });
      if (turn === this.#turn) this.#opening = opening;
    } catch (error) {
      this.#fail(this.#mishap(error, 'connect'));
    }
  }

  #opened(connection: PushConnection): void {
    this.#askedAt = -1;
    this.#isAccepted = connection.isAccepted !== false;
    this.#outlet = new Outlet({
      connection,
      source: this.#broadcast,
      queue: this.#queue,
      videoOnly: this.order.videoOnly,
      batch: this.#host.limits.batch,
      onSlow: () => this.#slow(),
      onMedia: () => this.#begun(),
    });
    this.#tend((outlet, now) => {
      if (!outlet.open(now)) this.#brokenBy = troubles.memory;
    });
  }

  /** Media was handed over. */
  #begun(): void {
    this.#hasMedia = true;
    if (this.#isAccepted) this.#connected();
    else this.#askedAt = this.#host.clock.now();
  }

  #accepted(): void {
    if (this.#isAccepted || this.#outlet === undefined) return;
    this.#isAccepted = true;
    this.#askedAt = -1;
    if (this.#hasMedia) this.#connected();
  }

  #connected(): void {
    this.#connectedAt = this.#host.clock.now();
    this.#trouble = this.#isSlow ? troubles.slow : undefined;
    this.#tell('connected');
  }

  #slow(): void {
    if (this.#isSlow || !this.isConnected) return;
    this.#isSlow = true;
    this.#trouble = troubles.slow;
    this.#tell('slow', troubles.slow);
  }

  /** A call of the outlet, if there is one, in which nothing is thrown. */
  #tend(work: (outlet: Outlet, now: number) => void): void {
    const outlet = this.#outlet;
    if (outlet === undefined) return;
    this.#isBusy = true;
    try {
      work(outlet, this.#host.clock.now());
    } catch (error) {
      this.#brokenBy = this.#mishap(error, 'closed');
    }
    this.#settle();
  }

  /** The call is over: what the connection said during it. */
  #settle(): void {
    this.#isBusy = false;
    if (this.#brokenBy !== undefined) {
      this.#giveUp(this.#brokenBy);
    } else if (this.#isDrained) {
      this.#isDrained = false;
      this.#tend((outlet, now) => outlet.drain(now));
    }
  }

  /** The attempt or the connection is over. */
  #fail(trouble: PushTrouble): void {
    const connectedAt = this.#connectedAt;
    this.#close();
    if (this.#isEnded) return;
    const now = this.#host.clock.now();
    if (connectedAt >= 0 && now - connectedAt >= STEADY) this.#backoff.reset();
    this.#trouble = trouble;
    this.#retryIn(this.#backoff.next());
    this.#tell(connectedAt >= 0 ? 'lost' : 'failed', trouble);
  }

  #retryIn(ms: number): void {
    this.#retryAt = this.#host.clock.now() + ms;
    this.#cancelRetry = this.#host.clock.at(this.#retryAt, () => this.#attempt());
  }

  /** Forgets the connection and what waited for it. */
  #close(): void {
    this.#turn += 1;
    this.#opening = undefined;
    this.#askedAt = -1;
    this.#outlet = undefined;
    this.#connectedAt = -1;
    this.#isAccepted = this.#hasMedia = false;
    this.#isDrained = false;
    this.#brokenBy = undefined;
    this.#queue.clear();
  }

  /** Gives up a connection that may still be there. */
  #giveUp(trouble: PushTrouble): void {
    this.#turn += 1;
    this.#abort();
    this.#fail(trouble);
  }

  #abort(): void {
    try {
      this.#opening?.abort();
    } catch (error) {
      this.#mishap(error, 'closed');
    }
  }

  #mishap(error: unknown, reason: 'connect' | 'closed'): PushTrouble {
    const { playbackId } = this.#broadcast;
    this.#host.log.error('a push broke by an error of this server', {
      ...{ playbackId, push: this.order.id },
      ...mishap(error),
    });
    return reason === 'connect' ? troubles.notBegun : troubles.broken;
  }

  #tell(type: 'connected' | 'ended'): void;
  #tell(type: 'failed' | 'slow' | 'lost', trouble: PushTrouble): void;
  #tell(type: PushFact['type'], trouble?: PushTrouble): void {
    const { playbackId } = this.#broadcast;
    const at = this.#host.clock.now();
    this.#host.report({ playbackId, id: this.order.id, at, type, ...(trouble && { trouble }) } as PushFact);
  }
}

const OPENING = pushLimits.opening.value;
const STEADY = pushLimits.steady.value;
