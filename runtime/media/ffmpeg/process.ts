import { setPriority } from 'node:os';
import type { FileSink, Subprocess } from 'bun';
import { withoutSecrets } from '../../../core/base/secrets.ts';
import type { Clock } from '../../../core/ports/clock.ts';

/** Bytes handed at once to a process that reads slowly. */
const inputAtOnce = 65_536;
/** ms that the last output of a process that is gone may still be on its way. Longer: one of its children has the pipe open. */
const lastOutputTimeout = 2000;
/** ms that a process may take to end after its input was closed, before SIGTERM. */
const endTimeout = 3000;
/** ms that it may take after SIGTERM, before SIGKILL. */
const termTimeout = 2000;

/** A running ffmpeg process. None of this throws. */
export interface FfmpegProcess {
  readonly ok: true;
  readonly pid: number;
  /** Writes to its standard input. Returns how many bytes were taken, maybe none; write the rest again after `onDrain`. */
  write(bytes: Uint8Array): number;
  /** Writes all of it as fast as it reads, and calls `onTaken` for each piece. False: it takes nothing any more. */
  feed(bytes: Uint8Array, onTaken?: () => void): Promise<boolean>;
  /**
   * Closes its input after what was written. If it does not end `within` so many ms (default 3 s) it gets SIGTERM, then SIGKILL.
   */
  end(options?: { readonly within?: number }): void;
  /** SIGKILL. */
  kill(): void;
  /** Resolves when it is gone. */
  readonly ended: Promise<FfmpegEnd>;
}

export interface FfmpegHandlers {
  /** Bytes of its standard output. The next are read after a returned promise resolves. */
  onOutput?(bytes: Uint8Array): void | Promise<void>;
  /** It takes bytes again, after `write` took less than it was given. */
  onDrain?(): void;
}

export interface FfmpegEnd {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The end of its standard error, without secrets. */
  readonly errors: string;
}

export interface ProcessOptions {
  readonly clock: Clock;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** All variables that it has. */
  readonly env: Readonly<Record<string, string>>;
  /** A descriptor it gets as file 3. The caller closes it. */
  readonly hidden?: number;
  /** Removed from `errors`. */
  readonly secrets: readonly string[];
  /** 0..19, from as urgent as the server to least urgent. */
  readonly niceness?: number;
  readonly handlers: FfmpegHandlers;
}

type Child = Subprocess<'pipe', 'pipe', 'pipe'>;

/** Starts one. Throws the system's error. */
export function startProcess(options: ProcessOptions): FfmpegProcess {
  const { clock, handlers } = options;
  const stdio: ('pipe' | number)[] = ['pipe', 'pipe', 'pipe'];
  if (options.hidden !== undefined) stdio.push(options.hidden);
  const child = Bun.spawn({
    cmd: [...options.command],
    env: { ...options.env },
    stdio: stdio as ['pipe', 'pipe', 'pipe'],
  }) as Child;
  if (options.niceness) lower(child.pid, options.niceness);

  let isGone = false;
  let isEnding = false;
  const timers: (() => void)[] = [];
  const after = (ms: number, run: () => void) => timers.push(clock.at(clock.now() + ms, run));
  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    if (!isGone) child.kill(name);
  };
  let wake = () => {};
  const input = inputOf(child.stdin, () => {
    wake();
    handlers.onDrain?.();
  });
  const write = (bytes: Uint8Array) => (isEnding || isGone ? 0 : input.write(bytes));

  const watch = async (): Promise<FfmpegEnd> => {
    const { secrets } = options;
    const tail = errorTail(child.stderr, { secrets, pause: (ms) => passing(clock, ms) });
    const output = readOutput(child.stdout, handlers);
    await child.exited;
    isGone = true;
    wake();
    for (const cancel of timers) cancel();
    input.close();
    await drained(Promise.all([tail.isRead, output.read]), { clock, taken: output.taken });
    const { exitCode, signalCode } = child;
    return {
      code: exitCode ?? undefined,
      signal: signalCode === null ? undefined : `${signalCode}`,
      errors: tail.text(),
    };
  };

  return {
    ok: true,
    pid: child.pid,
    write,
    async feed(bytes, onTaken = () => {}) {
      for (let at = 0; at < bytes.length && !isEnding && !isGone; ) {
        const count = write(bytes.subarray(at));
        if (count > 0) onTaken();
        at += count;
        if (at < bytes.length)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
      return !isEnding && !isGone;
    },
    end({ within = endTimeout } = {}) {
      if (isEnding || isGone) return;
      isEnding = true;
      input.close();
      after(within, () => {
        signal('SIGTERM');
        after(termTimeout, () => signal('SIGKILL'));
      });
    },
    kill() {
      isEnding = true;
      wake();
      signal('SIGKILL');
    },
    ended: watch(),
  };
}

/** Never buffers more than one write in `sink`. */
function inputOf(sink: FileSink, onDrain: () => void) {
  let isFull = false;
  let isClosed = false;
  const wait = async (flushed: Promise<unknown>) => {
    isFull = true;
    try {
      await flushed;
    } catch {
      // It stopped reading; its end is reported by `ended`.
      isClosed = true;
    }
    isFull = false;
    if (!isClosed) onDrain();
  };
  return {
    write(bytes: Uint8Array): number {
      let taken = 0;
      try {
        while (!isFull && !isClosed && taken < bytes.length) {
          const part = bytes.subarray(taken, taken + inputAtOnce);
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
      // Returns a promise that rejects when nobody reads.
      void (async () => sink.end())().catch(() => {});
    },
  };
}

/** `taken` changes as long as output arrives or the handler is busy with it. */
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
      // The process is gone; `ended` reports it.
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

/** Resolves when all is read, or nothing arrives any more: one of its children could hold the pipes open for ever. */
async function drained(
  read: Promise<unknown>,
  { clock, taken }: { clock: Clock; taken: () => number },
): Promise<void> {
  let isRead = false;
  const end = read.then(() => {
    isRead = true;
  });
  for (let before = -1; !isRead && taken() !== before; ) {
    before = taken();
    await Promise.race([end, passing(clock, lastOutputTimeout)]);
  }
}

function passing(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.at(clock.now() + ms, resolve));
}

/** Set on its first thread, which all others inherit from. */
function lower(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // It is gone already, or this system has no such priority.
  }
}

/** Bytes kept of what a process writes to its standard error: the last ones. */
export const errorTailBytes = 16_384;
/** After so many bytes reading pauses, so that a process that floods its standard error waits and costs no CPU here. */
const bytesPerPause = 65_536;
const pauseMs = 100;

/** Reads what a process writes to its standard error, and keeps the end of it. `isRead` never rejects. */
function errorTail(
  stream: ReadableStream<Uint8Array>,
  { secrets, pause }: { secrets: readonly string[]; pause(ms: number): Promise<void> },
) {
  let kept = Buffer.alloc(0);
  const read = async (): Promise<void> => {
    let sincePause = 0;
    for await (const bytes of stream) {
      kept = Buffer.concat([kept, bytes]).subarray(-errorTailBytes);
      sincePause += bytes.length;
      if (sincePause < bytesPerPause) continue;
      sincePause = 0;
      await pause(pauseMs);
    }
  };
  return {
    // It fails when the process is gone.
    isRead: read().catch(() => {}),
    /** Without secrets, and without a first line that was cut: half a secret would not be recognised. */
    text(): string {
      const text = kept.toString('utf8');
      const start = kept.length >= errorTailBytes ? text.indexOf('\n') + 1 || text.length : 0;
      return redacted(text.slice(start), secrets);
    },
  };
}

/** Removes hidden options, URLs, addresses and what looks like a key. Still only for operators: ffmpeg repeats what its input holds. */
function redacted(text: string, hidden: readonly string[]): string {
  const known = [...hidden]
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return withoutSecrets(without.replace(url, '$1://***')).replace(address, '***');
}

const url = /\b([a-z][a-z0-9+.-]*):\/\/[^\s'"]*/gi;
const address = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d+)?/gi;
