import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { type OwnThread, ownThread } from '../../base/own-thread.ts';
import type { FedPart } from './feed.ts';
import type { RecorderLimits } from './limits.ts';
import { PartRing, ringMemory } from './part-ring.ts';
import type { Calls, FromThread, Op, Problem, TakeNote, ToThread } from './protocol.ts';
import type { TakeMeta } from './take-meta.ts';
import { isFull } from './trouble.ts';

export interface LinkOptions {
  readonly worker: URL;
  /** Of the spools. */
  readonly folder: string;
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly log: Log;
  /** What is told of a take before anything else. */
  metaOf(take: number): TakeMeta | undefined;
  onNote(note: TakeNote): void;
}

/** The main thread's end of the writing one, which is started when it is first needed, and again should it end. */
export class RecorderLink {
  readonly #options: LinkOptions;
  readonly #calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #worker: OwnThread<ToThread> | undefined;
  #ring: PartRing | undefined;
  #announced = new Set<number>();
  #ops: Op[] = [];
  #isFlushing = false;
  #lastCall = 0;
  #startAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Counts threads: what was told to a former one is unknown to this. */
  epoch = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Whether there is a thread, or can be. */
  get isUp(): boolean {
    return !this.#isClosed && (this.#worker !== undefined || this.#options.clock.now() >= this.#startAt);
  }

  /** In order. False: nobody hears of it. */
  send(op: Exclude<Op, { op: 'call' | 'part' | 'take' }>): boolean {
    if (!this.#ready(op.take)) return false;
    this.#push(op);
    return true;
  }

  /** Copies the bytes. False: there is no room, or no thread. Those of renditions leave room for sources. */
  part(take: number, bytes: Uint8Array, part: FedPart): boolean {
    if (!this.#ready(take)) return false;
    const isSpare = this.#options.metaOf(take)?.rendition !== undefined;
    const at = this.#ring?.put(take, bytes, { isSpare });
    if (at === undefined) return false;
    this.#push({ op: 'part', take, at, size: bytes.length, part });
    return true;
  }

  /** The thread knows of it from now on, and hashes what is there. */
  announce(take: number): void {
    this.#ready(take);
  }

  /** The thread closes its file, and hears no more of it. */
  async forget(take: number): Promise<void> {
    if (!this.#announced.has(take)) return;
    const forgotten = this.call('forget', take);
    this.#announced.delete(take);
    await forgotten;
  }

  /** Everything that was sent before is done when it is answered. Rejects with `recording.unavailable` and `recording.full`. */
  async call<Name extends keyof Calls>(
    name: Name,
    argument: Parameters<Calls[Name]>[0],
  ): Promise<ReturnType<Calls[Name]>> {
    const take = typeof argument === 'number' ? argument : argument?.take;
    if (take === undefined ? !this.#worker : !this.#ready(take)) throw unavailable('it is not running');
    const id = ++this.#lastCall;
    const answer = new Promise<unknown>((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.#push({ op: 'call', id, name, argument } as Op);
    this.#flush();
    return answer as Promise<ReturnType<Calls[Name]>>;
  }

  /** All that was sent is written and on disk, or the limit has passed. */
  async close(): Promise<void> {
    if (this.#worker) {
      const { clock, limits } = this.#options;
      const closed = this.call('close', null);
      let cancel = () => {};
      const late = new Promise<void>((resolve) => {
        cancel = clock.at(clock.now() + limits.closing, resolve);
      });
      await Promise.race([closed, late]).catch((error: unknown) => {
        this.#options.log.warn('recordings could not be synced at the end', { error });
      });
      closed.catch(() => {});
      cancel();
    }
    this.#isClosed = true;
    this.#end('the server is about to end');
  }

  #ready(take: number): boolean {
    if (!this.isUp) return false;
    if (!this.#worker) this.#start();
    if (this.#announced.has(take)) return true;
    const meta = this.#options.metaOf(take);
    if (!meta) return false;
    this.#announced.add(take);
    this.#push({ op: 'take', take, meta });
    return true;
  }

  #start(): void {
    const { worker: url, folder, limits } = this.#options;
    const memory = ringMemory(limits.queue);
    const worker = ownThread<ToThread, FromThread>(url, {
      hear: (message) => this.#hear(message),
      ended: (reason) => this.#fail(reason),
    });
    worker.send({ start: { folder, ring: memory, limits } });
    const spare = (limits.queue * limits.renditionQueue) / 100;
    this.#ring = new PartRing(memory, { perTake: limits.queuePerTake, spare });
    this.#worker = worker;
    this.epoch += 1;
  }

  #hear(message: FromThread): void {
    if ('notes' in message) {
      for (const note of message.notes) this.#options.onNote(note);
    } else if ('log' in message) this.#options.log[message.level ?? 'warn'](message.log, message.fields);
    else {
      const caller = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if ('problem' in message) caller?.reject(recordingFault(message.problem));
      else caller?.resolve(message.value);
    }
  }

  #fail(reason: string): void {
    const { clock, limits, log } = this.#options;
    log.error('the recorder stopped and is started again', { reason });
    this.#startAt = clock.now() + limits.threadWait;
    this.#end(reason);
  }

  #end(reason: string): void {
    this.#worker?.end();
    this.#worker = undefined;
    this.#ring = undefined;
    this.#announced = new Set();
    this.#ops = [];
    for (const { reject } of this.#calls.values()) reject(unavailable(reason));
    this.#calls.clear();
  }

  #push(op: Op): void {
    this.#ops.push(op);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    const { clock, limits } = this.#options;
    clock.at(clock.now() + limits.batch, () => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#ops.length === 0) return;
    const ops = this.#ops;
    this.#ops = [];
    this.#worker?.send(ops);
  }
}

export function recordingFault({ message, code }: Problem): Fault {
  if (!isFull(code)) return unavailable(message);
  return new Fault('recording.full', {
    status: 507,
    message: `there is no room for the recording: ${message}`,
  });
}

export function unavailable(reason: string): Fault {
  const message = `the recorder does not answer: ${reason}`;
  return new Fault('recording.unavailable', { status: 503, message, retryAfter: 5 });
}
