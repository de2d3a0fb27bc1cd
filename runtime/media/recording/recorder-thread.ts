import { join } from 'node:path';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { FreeSpace } from './free-space.ts';
import { HashTurns } from './hash-turns.ts';
import { fileIo, OpenFiles } from './open-files.ts';
import { places } from './places.ts';
import type { Call, FromThread, Op, Problem, Start, ToThread } from './protocol.ts';
import { Spool } from './spool.ts';
import type { SpoolSurroundings } from './spool-surroundings.ts';
import type { Steps } from './steps.ts';
import type { TakeFile, TakeIo } from './take-file.ts';
import { metaIn, spoolName } from './take-meta.ts';
import { codeOf } from './trouble.ts';

export interface ThreadOptions {
  readonly clock: Clock;
  openTakeFile(io: TakeIo): Steps<TakeFile>;
  /** Puts something before the disk: for tests of disks that are slow or fail. */
  readonly through?: (io: TakeIo, path: string) => TakeIo;
}

interface Port {
  onmessage: ((message: MessageEvent<ToThread>) => void) | null;
  postMessage(message: FromThread, transfer?: Transferable[]): void;
}

/** The thread that owns the spools of a node: writes, syncs and hashes. Writes come first. */
export function recorderThread(port: Port, options: ThreadOptions): void {
  let running: RunningThread | undefined;
  port.onmessage = ({ data }) => {
    if ('start' in data) running = new RunningThread(port, { ...options, ...data.start });
    else running?.take(data);
  };
}

class RunningThread {
  readonly #port: Port;
  readonly #options: ThreadOptions & Start;
  readonly #ring: Uint8Array;
  readonly #taken: Int32Array;
  readonly #spools = new Map<number, Spool>();
  /** Of which the main thread is to hear. */
  readonly #touched = new Set<Spool>();
  readonly #hashing: HashTurns<Spool>;
  readonly #around: SpoolSurroundings;
  #isSyncing = false;

  constructor(port: Port, options: ThreadOptions & Start) {
    const { clock, folder, limits, ring, openTakeFile, through = (io) => io } = options;
    this.#port = port;
    this.#options = options;
    this.#ring = new Uint8Array(ring.bytes);
    this.#taken = new Int32Array(ring.taken);
    const onOpened = (spool: Spool) => {
      this.#touched.add(spool);
      this.#tell();
    };
    this.#hashing = new HashTurns({ clock, limits, onOpened });
    const files = new OpenFiles({ clock, most: limits.openFiles });
    const { reserve, renditionReserve, reserveSlack: slack, spaceLook: interval } = limits;
    this.#around = {
      ...{ clock, limits, files, openTakeFile, finishing: places(1) },
      space: new FreeSpace(folder, { clock, reserve, renditionReserve, slack, interval }),
      io: (path) => through(fileIo(files, path), path),
      log: (log, fields) => port.postMessage({ log, fields }),
    };
    every(limits.sync, { clock, work: () => void this.#sync() });
  }

  take(ops: readonly Op[]): void {
    for (const op of ops) this.#perform(op);
    this.#tell();
    this.#hashing.soon();
  }

  #perform(op: Op): void {
    if (op.op === 'call') return void this.#answer(op);
    if (op.op === 'take') {
      const folder = join(this.#options.folder, spoolName(op.meta));
      const found = this.#metaIn(folder);
      const meta = found ?? op.meta;
      const spool = new Spool({ take: op.take, meta, isMade: found !== undefined, folder }, this.#around);
      this.#spools.set(op.take, spool);
      this.#hashing.add(spool);
      return;
    }
    const spool = this.#spools.get(op.take);
    if (spool) this.#touched.add(spool);
    if (spool) this.#hashing.add(spool);
    if (op.op === 'part') {
      spool?.part(this.#ring.subarray(op.at, op.at + op.size), op.part);
      // From here on the main thread may use that memory again.
      Atomics.add(this.#taken, 0, 1);
    } else if (op.op === 'begin') spool?.begin(op.init);
    else if (op.op === 'gap') spool?.gap(op.reason);
    else spool?.end();
  }

  #metaIn(folder: string): ReturnType<typeof metaIn> {
    try {
      return metaIn(folder);
    } catch (error) {
      // It was whole at the start. What the main thread knows of it takes its place.
      this.#around.log('a take.json was damaged and is written anew', { error: String(error) });
      return undefined;
    }
  }

  async #answer({ id, ...call }: Call & { id: number }): Promise<void> {
    try {
      const value = await this.#call(call as Call);
      this.#tell();
      this.#port.postMessage({ id, value });
    } catch (error) {
      this.#port.postMessage({ id, problem: problemOf(error) });
    }
  }

  async #call(call: Call): Promise<unknown> {
    if (call.name === 'close') {
      for (const spool of this.#spools.values()) await spool.close();
      return undefined;
    }
    const spool = this.#spools.get(call.name === 'save' ? call.argument.take : call.argument);
    if (!spool) throw new Error('there is no such take');
    this.#touched.add(spool);
    if (call.name === 'save') {
      await spool.save(call.argument.fields);
      if (call.argument.fields.finished || call.argument.fields.made) spool.forget();
      return undefined;
    }
    if (call.name === 'seal') return spool.seal();
    this.#spools.delete(call.argument);
    this.#touched.delete(spool);
    this.#hashing.delete(spool);
    await spool.leave();
    this.#touched.delete(spool);
    return undefined;
  }

  #tell(): void {
    if (this.#touched.size === 0) return;
    const notes = [...this.#touched].map((spool) => spool.note());
    this.#touched.clear();
    this.#port.postMessage(
      { notes },
      notes.map(({ rows }) => rows.buffer),
    );
  }

  async #sync(): Promise<void> {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    // One after the other: a slow disk is not asked for all at once.
    for (const spool of [...this.#spools.values()]) {
      if (!spool.needsSync) continue;
      await spool.sync().catch((error: unknown) => {
        this.#around.log('a take.json cannot be written', { error: String(error) });
      });
      this.#touched.add(spool);
      this.#tell();
    }
    this.#around.files.closeIdle(this.#options.limits.idleFile);
    this.#isSyncing = false;
  }
}

function problemOf(error: unknown): Problem {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return { message, ...(code !== '' && { code }) };
}
