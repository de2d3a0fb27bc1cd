import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { every } from '../../../../core/base/timing.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { freeBytes } from '../../../base/copy-bytes.ts';
import { codeOf } from '../../../base/disk.ts';
import { fileNames, folderName, parseMeta, type RecordingMeta } from '../meta.ts';
import { type DiskFile, diskFile } from './file-io.ts';
import { FileWriter, type RecorderContext } from './file-writer.ts';
import { FreeSpace } from './free-space.ts';
import type { Call, FromThread, Op, Problem, Start, ToThread } from './protocol.ts';

export interface ThreadOptions {
  readonly clock: Clock;
  /** Opens a file. For tests of disks that are slow or fail. */
  readonly open?: (path: string) => DiskFile;
}

interface Port {
  onmessage: ((message: MessageEvent<ToThread>) => void) | null;
  postMessage(message: FromThread, transfer?: Transferable[]): void;
}

/** The thread that owns the recording files of a node: it writes, syncs and hashes. Writes come first. */
export function recorderThread(port: Port, options: ThreadOptions): void {
  let running: RunningThread | undefined;
  port.onmessage = ({ data }) => {
    if ('start' in data) running = new RunningThread(port, { ...options, ...data.start });
    else running?.take(data);
  };
}

class RunningThread {
  readonly #port: Port;
  readonly #folder: string;
  readonly #writers = new Map<number, FileWriter>();
  /** To be reported to the main thread. */
  readonly #touched = new Set<FileWriter>();
  /** They may have something to hash. */
  readonly #unhashed = new Set<FileWriter>();
  readonly #context: RecorderContext;
  /** Files of a former process are looked through one after the other. */
  #repairing: Promise<void> = Promise.resolve();
  #isSyncing = false;

  constructor(port: Port, { clock, folder, settings, open = diskFile }: ThreadOptions & Start) {
    this.#port = port;
    this.#folder = folder;
    let last: Promise<unknown> = Promise.resolve();
    this.#context = {
      ...{ clock, settings, open },
      space: new FreeSpace(folder, { clock, settings }),
      inOrder(work) {
        const done = last.then(work);
        last = done.catch(() => {});
        return done;
      },
      log: (log, fields) => port.postMessage({ log, fields }),
    };
    every(settings.sync, { clock, work: () => void this.#sync() });
  }

  take(ops: readonly Op[]): void {
    for (const op of ops) this.#perform(op);
    this.#report();
    this.#hash();
  }

  #perform(op: Op): void {
    if (op.op === 'call') return void this.#answer(op);
    if (op.op === 'file') return void this.#add(op.file, op.meta);
    const writer = this.#writers.get(op.file);
    if (writer) this.#touched.add(writer);
    if (writer) this.#unhashed.add(writer);
    if (op.op === 'part') {
      writer?.part(op.bytes, op.part);
      freeBytes(op.bytes);
    } else if (op.op === 'begin') writer?.begin(op.init);
    else if (op.op === 'gap') writer?.gap(op.reason);
    else writer?.end();
  }

  #add(number: number, meta: RecordingMeta): void {
    const folder = join(this.#folder, folderName(meta));
    const found = this.#metaIn(folder);
    const isMade = found !== undefined;
    const writer = new FileWriter({ number, meta: found ?? meta, isMade, folder }, this.#context);
    this.#writers.set(number, writer);
    if (!isMade) return;
    this.#repairing = this.#repairing.then(async () => {
      await writer.repair();
      this.#touched.add(writer);
      this.#report();
    });
  }

  #metaIn(folder: string): RecordingMeta | undefined {
    const path = join(folder, fileNames.meta);
    try {
      return existsSync(path) ? parseMeta(readFileSync(path, 'utf8'), path) : undefined;
    } catch (error) {
      // It was whole at the start. What the main thread knows of it takes its place.
      this.#context.log('the take.json of a recording was damaged and is written again', {
        error: String(error),
      });
      return undefined;
    }
  }

  /** While files grow they are hashed with a quarter of a core at most; `seal` hashes the rest. */
  #hash(): void {
    const until = performance.now() + hashingMs;
    for (const writer of this.#unhashed) {
      this.#unhashed.delete(writer);
      // Behind the others: a set goes on to what is added meanwhile.
      if (writer.hashNext()) this.#unhashed.add(writer);
      if (performance.now() > until) return;
    }
  }

  async #answer({ id, ...call }: Call & { id: number }): Promise<void> {
    try {
      const value = await this.#call(call as Call);
      this.#report();
      this.#port.postMessage({ id, value });
    } catch (error) {
      this.#port.postMessage({ id, problem: problemOf(error) });
    }
  }

  async #call(call: Call): Promise<unknown> {
    if (call.name === 'close') {
      for (const writer of this.#writers.values()) await writer.close();
      return undefined;
    }
    const writer = this.#writers.get(call.name === 'save' ? call.argument.file : call.argument);
    if (!writer) throw new Error('there is no such recording file');
    this.#touched.add(writer);
    if (call.name === 'save') {
      await writer.save(call.argument.fields);
      if (call.argument.fields.finished || call.argument.fields.made) writer.forget();
      return undefined;
    }
    if (call.name === 'seal') return writer.seal();
    this.#writers.delete(call.argument);
    this.#unhashed.delete(writer);
    await writer.leave();
    this.#touched.delete(writer);
    return undefined;
  }

  #report(): void {
    if (this.#touched.size === 0) return;
    const notes = [...this.#touched].map((writer) => writer.note());
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
    for (const writer of [...this.#writers.values()]) {
      if (writer.needsSync) {
        await writer.sync().catch((error: unknown) => {
          this.#context.log('the take.json of a recording cannot be written', { error: String(error) });
        });
        this.#touched.add(writer);
        this.#report();
      }
      writer.rest();
    }
    this.#isSyncing = false;
  }
}

/** ms of hashing after each batch of writes; batches come every 200 ms. */
const hashingMs = 50;

function problemOf(error: unknown): Problem {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return { message, ...(code !== '' && { code }) };
}
