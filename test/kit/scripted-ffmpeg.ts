import type { FfmpegAbout } from '../../runtime/media/ffmpeg/about.ts';
import { libavformat } from '../../runtime/media/ffmpeg/about.ts';
import type { FfmpegEnd, FfmpegProcess } from '../../runtime/media/ffmpeg/process.ts';
import type { FfmpegOrder, FfmpegRefusal, FfmpegRunner } from '../../runtime/media/ffmpeg/runner.ts';

/** One process that was started: what it was told, and what the test makes of it. */
export interface ScriptedProcess {
  readonly order: FfmpegOrder;
  /** What it took, in order. */
  readonly taken: Uint8Array[];
  /** `end` and `kill` as they came. */
  readonly calls: string[];
  /** Bytes that it still takes. */
  room: number;
  /** It writes to its standard output. */
  say(text: string): void;
  drain(): void;
  /** It is gone. */
  exit(end?: Partial<FfmpegEnd>): Promise<void>;
}

/** A runner without processes. */
export function scriptedFfmpeg(
  options: {
    about?: Partial<FfmpegAbout> | 'missing';
    refuses?: FfmpegRefusal['reason'];
    /** It is gone when it is killed, and when its input ends. */
    obeys?: boolean;
  } = {},
): FfmpegRunner & { readonly started: ScriptedProcess[] } {
  const started: ScriptedProcess[] = [];
  const about: FfmpegAbout | undefined =
    options.about === 'missing'
      ? undefined
      : {
          ...{
            path: '/usr/bin/ffmpeg',
            version: '8.0',
            libavformat: libavformat(62, 3),
            ...{ guard: [], isolation: [], shell: undefined },
            hides: true,
          },
          ...{ protocols: new Set(['pipe', 'srt']), ...options.about },
        };
  return {
    started,
    about: async () => about,
    async start(order) {
      if (options.refuses) return { ok: false, reason: options.refuses };
      const { scripted, process } = startScripted(order, options.obeys ?? false);
      started.push(scripted);
      return process;
    },
    get running() {
      return started.length;
    },
    close() {},
  };
}

function startScripted(
  order: FfmpegOrder,
  obeys: boolean,
): { scripted: ScriptedProcess; process: FfmpegProcess } {
  const gone = Promise.withResolvers<FfmpegEnd>();
  let isOver = false;
  let wake = () => {};
  const stop = () => {
    isOver = true;
    wake();
  };
  const scripted: ScriptedProcess = {
    order,
    taken: [],
    calls: [],
    room: Number.POSITIVE_INFINITY,
    say: (text) => void order.handlers.onOutput?.(Buffer.from(text)),
    drain() {
      wake();
      order.handlers.onDrain?.();
    },
    async exit(end) {
      stop();
      gone.resolve({ code: 1, signal: undefined, errors: '', ...end });
      await gone.promise;
      await Promise.resolve();
    },
  };
  const process: FfmpegProcess = {
    ok: true,
    pid: 1,
    write(bytes) {
      const count = Math.min(bytes.length, scripted.room);
      scripted.room -= count;
      if (count > 0) scripted.taken.push(bytes.slice(0, count));
      return count;
    },
    async feed(bytes, onTaken = () => {}) {
      for (let at = 0; at < bytes.length && !isOver; ) {
        const count = process.write(bytes.subarray(at));
        if (count > 0) onTaken();
        at += count;
        if (at < bytes.length)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
      return !isOver;
    },
    end() {
      scripted.calls.push('end');
      if (obeys) void scripted.exit({ code: 0 });
    },
    kill() {
      scripted.calls.push('kill');
      stop();
      if (obeys) void scripted.exit({ code: undefined, signal: 'SIGKILL' });
    },
    ended: gone.promise,
  };
  return { scripted, process };
}
