import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { type OwnThread, ownThread } from '../../base/own-thread.ts';
import type { PublishedPart } from '../publish/subscriber.ts';
import type { RecordingMeta } from './meta.ts';
import type { RecorderSettings } from './settings.ts';
import type { Calls, FileNote, FromThread, Op, Problem, ToThread } from './thread/protocol.ts';
import { isFull } from './trouble.ts';

export interface WritingThreadOptions {
  readonly worker: URL;
  /** Holds the folders of all recording files. */
  readonly folder: string;
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  readonly log: Log;
  metaOf(file: number): RecordingMeta | undefined;
  onNote(note: FileNote): void;
}

/** The main thread's side of the recording thread, which starts when it is first needed, and again if it ends. */
export class WritingThread {
  readonly #options: WritingThreadOptions;
  readonly #calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #worker: OwnThread<ToThread> | undefined;
  /** The files that the thread knows, and the bytes of parts that wait for each. */
  readonly #waiting = new Map<number, number>();
  #waitingBytes = 0;
  #ops: Op[] = [];
  #isFlushing = false;
  #lastCall = 0;
  #startAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Counts threads: a new one knows nothing of what the former one was sent. */
  epoch = 0;

  constructor(options: WritingThreadOptions) {
    this.#options = options;
  }

  /** Whether there is a thread, or can be. */
  get isUp(): boolean {
    return !this.#isClosed && (this.#worker !== undefined || this.#options.clock.now() >= this.#startAt);
  }

  /** In order. False: there is no thread. */
  send(op: Extract<Op, { op: 'begin' | 'gap' | 'end' }>): boolean {
    if (!this.announce(op.file)) return false;
    this.#push(op);
    return true;
  }

  /** Copies the bytes. False: too much waits, or there is no thread. Renditions leave half of the queue to sources. */
  part(file: number, bytes: Uint8Array, part: PublishedPart): boolean {
    if (!this.announce(file)) return false;
    const { queue, queuePerFile } = this.#options.settings;
    const most = this.#options.metaOf(file)?.rendition ? queue / 2 : queue;
    const own = (this.#waiting.get(file) ?? 0) + bytes.length;
    if (own > queuePerFile || this.#waitingBytes + bytes.length > most) return false;
    this.#waiting.set(file, own);
    this.#waitingBytes += bytes.length;
    // No `slice`: that of a Buffer is a view of the same memory.
    this.#push({ op: 'part', file, bytes: new Uint8Array(bytes), part });
    return true;
  }

  /** The thread knows the file from now on, and repairs what a former process left. False: there is no thread. */
  announce(file: number): boolean {
    if (!this.isUp) return false;
    if (!this.#worker) this.#start();
    if (this.#waiting.has(file)) return true;
    const meta = this.#options.metaOf(file);
    if (!meta) return false;
    this.#waiting.set(file, 0);
    this.#push({ op: 'file', file, meta });
    return true;
  }

  /** The thread closes the file, and gets nothing more for it. */
  async forget(file: number): Promise<void> {
    if (!this.#waiting.has(file)) return;
    const forgotten = this.call('forget', file);
    this.#waitingBytes -= this.#waiting.get(file) ?? 0;
    this.#waiting.delete(file);
    await forgotten;
  }

  /** Everything sent before is done when it is answered. Rejects with `recording.unavailable` and `recording.full`. */
  async call<Name extends keyof Calls>(
    name: Name,
    argument: Parameters<Calls[Name]>[0],
  ): Promise<ReturnType<Calls[Name]>> {
    const file = typeof argument === 'number' ? argument : argument?.file;
    if (file === undefined ? !this.#worker : !this.announce(file)) throw unavailable('it is not running');
    const id = ++this.#lastCall;
    const answer = new Promise<unknown>((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.#push({ op: 'call', id, name, argument } as Op);
    this.#flush();
    return answer as Promise<ReturnType<Calls[Name]>>;
  }

  /** All that was sent is written and on disk, or it took too long. */
  async close(): Promise<void> {
    if (this.#worker) {
      const { clock, log } = this.#options;
      const waiting = new AbortController();
      const late = pause(clock.now() + closingMs, { clock, signal: waiting.signal });
      await Promise.race([this.call('close', null), late]).catch((error: unknown) => {
        log.warn('recordings could not be synced at the end', { error });
      });
      waiting.abort();
    }
    this.#isClosed = true;
    this.#end('the server is stopping');
  }

  #start(): void {
    const { worker: url, folder, settings, clock, log } = this.#options;
    this.#worker = ownThread<ToThread, FromThread>(url, {
      hear: (message) => this.#hear(message),
      ended: (reason) => {
        log.error('the recorder stopped and is started again', { reason });
        this.#startAt = clock.now() + settings.threadWait;
        this.#end(reason);
      },
    });
    this.#worker.send({ start: { folder, settings } });
    this.epoch += 1;
  }

  #hear(message: FromThread): void {
    if ('notes' in message) for (const note of message.notes) this.#note(note);
    else if ('log' in message) this.#options.log.warn(message.log, message.fields);
    else {
      const caller = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if ('problem' in message) caller?.reject(recordingFault(message.problem));
      else caller?.resolve(message.value);
    }
  }

  #note(note: FileNote): void {
    const waiting = this.#waiting.get(note.file);
    if (waiting !== undefined) {
      this.#waiting.set(note.file, waiting - note.taken);
      this.#waitingBytes -= note.taken;
    }
    this.#options.onNote(note);
  }

  #end(reason: string): void {
    this.#worker?.end();
    this.#worker = undefined;
    this.#waiting.clear();
    this.#waitingBytes = 0;
    this.#ops = [];
    for (const { reject } of this.#calls.values()) reject(unavailable(reason));
    this.#calls.clear();
  }

  #push(op: Op): void {
    this.#ops.push(op);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    const { clock } = this.#options;
    clock.at(clock.now() + batchMs, () => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#ops.length === 0) return;
    const ops = this.#ops;
    this.#ops = [];
    this.#worker?.send(
      ops,
      ops.flatMap((op) => (op.op === 'part' ? [op.bytes.buffer] : [])),
    );
  }
}

/** ms for which ops are gathered: each message between threads wakes both. */
export const batchMs = 200;
/** ms that the end of the process waits for recordings to be synced; later they are repaired at the next start. */
const closingMs = 2000;

export function recordingFault(problem: Problem): Fault {
  const { message } = problem;
  if (!isFull(problem)) return unavailable(message);
  return new Fault('recording.full', {
    status: 507,
    message: `The disk has no room for the recording: ${message}`,
  });
}

export function unavailable(reason: string): Fault {
  const message = `The recorder does not answer: ${reason}`;
  return new Fault('recording.unavailable', { status: 503, message, retryAfter: 5 });
}
