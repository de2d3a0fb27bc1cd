import { setPriority } from 'node:os';
import type { FileSink, Subprocess } from 'bun';
import type { Clock } from '../../../core/ports/clock.ts';
import { ErrorTail } from './error-tail.ts';
import type { FfmpegLimits } from './limits.ts';

/** A process of ffmpeg that runs. None of this throws. */
export interface FfmpegProcess {
  readonly ok: true;
  readonly pid: number;
  /** Hands bytes to its input: answers how many of them it took, which may be none. The rest is given again after `onDrain`. */
  write(bytes: Uint8Array): number;
  /**
   * Closes its input once it has read what it took; what does not end by that gets SIGTERM, then SIGKILL. `within`: ms that it may
   * take for what is left to do; default `endTimeout`.
   */
  end(options?: { readonly within?: number }): void;
  /** SIGKILL: it is gone at once, whatever it does or does not do. */
  kill(): void;
  /** Resolves when it is gone. */
  readonly ended: Promise<FfmpegEnd>;
}

export interface FfmpegHandlers {
  /** What it wrote to its standard output. What is next is read when a promise that this answers is kept. */
  onOutput?(bytes: Uint8Array): void | Promise<void>;
  /** It takes bytes again, after `write` took less than it was given. */
  onDrain?(): void;
}

export interface FfmpegEnd {
  /** `order`: by `end` or `kill`. `deadline`: it ran for longer than it may. */
  readonly by: 'itself' | 'order' | 'deadline';
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The end of what it said on its standard error, without secrets. */
  readonly errors: string;
}

export interface ProcessOptions {
  readonly clock: Clock;
  readonly limits: FfmpegLimits;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** All variables that it has. */
  readonly env: Readonly<Record<string, string>>;
  /** What it finds as file 3. Closed by the caller. */
  readonly hidden?: number;
  /** What must be in nothing that it is said to have said. */
  readonly secrets: readonly string[];
  /** 0..19, from as urgent as the server to least urgent. */
  readonly niceness?: number;
  /** How long it may run, ms. */
  readonly deadline?: number;
  readonly handlers: FfmpegHandlers;
}

type Child = Subprocess<'pipe', 'pipe', 'pipe'>;

/** Starts one. Throws what the system says when it cannot. */
export function startProcess(options: ProcessOptions): FfmpegProcess {
  const { clock, limits, handlers } = options;
  const stdio: ('pipe' | number)[] = ['pipe', 'pipe', 'pipe'];
  if (options.hidden !== undefined) stdio.push(options.hidden);
  const child = Bun.spawn({
    cmd: [...options.command],
    env: { ...options.env },
    stdio: stdio as ['pipe', 'pipe', 'pipe'],
  }) as Child;
  if (options.niceness) lower(child.pid, options.niceness);

  let by: FfmpegEnd['by'] = 'itself';
  let isGone = false;
  let isEnding = false;
  const timers: (() => void)[] = [];
  const after = (ms: number, run: () => void) => timers.push(clock.at(clock.now() + ms, run));
  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    if (!isGone) child.kill(name);
  };
  const input = inputOf(child.stdin, { limits, onDrain: () => handlers.onDrain?.() });
  if (options.deadline !== undefined) {
    after(options.deadline, () => {
      by = 'deadline';
      signal('SIGKILL');
    });
  }

  const watch = async (): Promise<FfmpegEnd> => {
    const tail = new ErrorTail({ limits, secrets: options.secrets });
    const said = tail.read(child.stderr, (ms) => passing(clock, ms));
    const output = readOutput(child.stdout, handlers);
    await child.exited;
    isGone = true;
    for (const cancel of timers) cancel();
    input.close();
    // A child of its own could hold these open for ever.
    let isRead = false;
    const read = Promise.all([said, output.read]).then(() => {
      isRead = true;
    });
    for (let before = -1; !isRead && output.taken() !== before; ) {
      before = output.taken();
      await Promise.race([read, passing(clock, limits.lastWords)]);
    }
    const { exitCode, signalCode } = child;
    return {
      by,
      code: exitCode ?? undefined,
      signal: signalCode === null ? undefined : `${signalCode}`,
      errors: tail.text(),
    };
  };

  return {
    ok: true,
    pid: child.pid,
    write: (bytes) => (isEnding || isGone ? 0 : input.write(bytes)),
    end({ within = limits.endTimeout } = {}) {
      if (isEnding || isGone) return;
      isEnding = true;
      if (by === 'itself') by = 'order';
      input.close();
      after(within, () => {
        signal('SIGTERM');
        after(limits.termTimeout, () => signal('SIGKILL'));
      });
    },
    kill() {
      isEnding = true;
      if (by === 'itself') by = 'order';
      signal('SIGKILL');
    },
    ended: watch(),
  };
}

/** Bytes that are taken are on their way, or wait in `sink`: never more of them than one write. */
function inputOf(sink: FileSink, options: { limits: FfmpegLimits; onDrain: () => void }) {
  const { limits } = options;
  let isFull = false;
  let isClosed = false;
  const wait = async (flushed: Promise<unknown>) => {
    isFull = true;
    try {
      await flushed;
    } catch {
      // It reads no more; that it ends is told elsewhere.
      isClosed = true;
    }
    isFull = false;
    if (!isClosed) options.onDrain();
  };
  return {
    write(bytes: Uint8Array): number {
      let taken = 0;
      try {
        while (!isFull && !isClosed && taken < bytes.length) {
          const part = bytes.subarray(taken, taken + limits.inputAtOnce);
          const written: unknown = sink.write(part);
          const flushed: unknown = sink.flush();
          taken += part.length;
          const waited = [written, flushed].filter((one) => one instanceof Promise);
          if (waited.length > 0) void wait(Promise.all(waited));
        }
      } catch {
        isClosed = true;
      }
      return taken;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      // Answers a promise while it waits, which breaks when nobody reads.
      void (async () => sink.end())().catch(() => {});
    },
  };
}

/** `taken` counts what is given to the handler; while that is at it, it is another number each time. */
function readOutput(stream: ReadableStream<Uint8Array>, handlers: FfmpegHandlers) {
  let count = 0;
  let isBusy = false;
  const read = async () => {
    try {
      for await (const bytes of stream) {
        count += 1;
        isBusy = true;
        await handlers.onOutput?.(bytes);
        isBusy = false;
      }
    } catch {
      // The process is gone, which is told elsewhere.
      isBusy = false;
    }
  };
  return {
    read: read(),
    taken() {
      if (isBusy) count += 1;
      return count;
    },
  };
}

function passing(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.at(clock.now() + ms, resolve));
}

/** Of its first thread, from which all others inherit it. */
function lower(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // It is gone already, or the system knows no such thing.
  }
}
