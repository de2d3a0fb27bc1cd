import type { Clock } from '../../../core/ports/clock.ts';
import type { FfmpegCommand } from '../ffmpeg/command.ts';
import type { FfmpegProcess } from '../ffmpeg/process.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import type { Box } from '../mp4/inspect/boxes.ts';
import { endedBy, notStarted, refused } from './faults.ts';
import { FragmentScan } from './fragment-scan.ts';
import type { TranscodeLimits } from './limits.ts';
import { Outlet } from './outlet.ts';

/** One process that reads a film and writes another. */
export interface RunOrder {
  readonly command: FfmpegCommand;
  /** What it reads. Ended when the process is. */
  readonly input: AsyncGenerator<Uint8Array>;
  readonly signal: AbortSignal;
  /** Pictures a second beyond which it is refused; undefined: they were counted before. */
  readonly frameRate?: number;
  /** Seconds of film of which one picture is kept, where pictures are left out. Default: 0, all are kept. */
  readonly interval?: number;
  /** Told of the index of what is written, before a byte of that is handed on. What it throws ends the run. */
  onMovie?(moov: Box): void;
}

export interface RunTools {
  readonly clock: Clock;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  readonly limits: TranscodeLimits;
}

/** How much less urgent than the server. */
const niceness = 10;

/**
 * What it writes, as fast as it is taken. Whoever stops taking it ends the process; when it is over none is left. Faults as of the
 * converter, what the input throws, and the reason of the signal.
 */
export async function* run(order: RunOrder, tools: RunTools): AsyncGenerator<Uint8Array> {
  const { signal, input } = order;
  const { runner, limits } = tools;
  signal.throwIfAborted();
  const outlet = new Outlet();
  let wake = () => {};
  const process = await runner.start({
    command: order.command,
    niceness,
    handlers: { onOutput: (bytes) => outlet.give(bytes), onDrain: () => wake() },
  });
  if (!process.ok) throw notStarted(process.reason);

  let why: { readonly error: unknown } | undefined;
  const end = (error: unknown) => {
    why ??= { error };
    process.kill();
    outlet.drop();
    wake();
  };
  const abort = () => end(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  let isGone = false;
  const gone = process.ended.then(() => {
    isGone = true;
    outlet.close();
    wake();
  });
  const scan = new FragmentScan({ most: limits.initSize, onMovie: (moov) => order.onMovie?.(moov) });
  const watch = watchOver({ tools, scan, order, end });
  const feeding = feed(process, {
    input,
    ending: limits.ending,
    watch,
    isOver: () => isGone || why !== undefined,
    drained: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
  }).catch(end);

  // Until it is known what it is.
  let held: Uint8Array[] | undefined = [];
  try {
    for (;;) {
      const piece = await outlet.take();
      if (piece === undefined) break;
      scan.take(piece);
      watch.note();
      held?.push(piece);
      if (!scan.hasMovie) continue;
      watch.isTaken = false;
      yield* held ?? [piece];
      held = undefined;
      watch.isTaken = true;
    }
    await gone;
    if (why) throw why.error;
    const ended = await process.ended;
    if (ended.code !== 0) throw endedBy(ended);
    if (held) throw refused('it has no pictures');
    // Those that are broken off: ffmpeg says nothing of it, and what sound it found would be a film.
    if (scan.isBlind) throw refused('none of its pictures could be read');
  } catch (error) {
    // What is no mp4 came from ffmpeg.
    throw error instanceof RangeError ? refused('ffmpeg wrote what is no film') : error;
  } finally {
    watch.stop();
    signal.removeEventListener('abort', abort);
    end(undefined);
    await gone;
    await feeding;
  }
}

/** Hands it all that it is to read, as fast as it reads. */
async function feed(
  process: FfmpegProcess,
  options: {
    input: AsyncGenerator<Uint8Array>;
    /** How long it may take for what is left to do when it has all, ms. */
    ending: number;
    watch: Watch;
    isOver(): boolean;
    drained(): Promise<void>;
  },
): Promise<void> {
  const { input, ending, watch, isOver, drained } = options;
  for (;;) {
    watch.isFed = false;
    const next = await input.next();
    watch.isFed = true;
    if (next.done) break;
    for (let rest = next.value; rest.length > 0; ) {
      if (isOver()) return void (await input.return(undefined));
      const took = process.write(rest);
      if (took > 0) watch.note();
      rest = rest.subarray(took);
      if (rest.length > 0 && !isOver()) await drained();
    }
  }
  process.end({ within: ending });
}

interface Watch {
  /** It took or gave something. */
  note(): void;
  /** There is something for it to read, or it has all. */
  isFed: boolean;
  /** What it writes is taken. */
  isTaken: boolean;
  stop(): void;
}

/** Ends what hangs, takes far too long, or has too many pictures. Only what it is waited for itself counts. */
function watchOver(options: {
  tools: RunTools;
  scan: FragmentScan;
  order: RunOrder;
  end(error: unknown): void;
}): Watch {
  const { tools, scan, order, end } = options;
  const { clock, limits } = tools;
  let aliveAt = clock.now();
  let lookedAt = clock.now();
  let worked = 0;
  let cancel = () => {};
  const look = () => {
    const now = clock.now();
    if (watch.isFed && watch.isTaken) worked += now - lookedAt;
    else aliveAt = now;
    lookedAt = now;
    const { frameRate = Number.POSITIVE_INFINITY, interval = 0 } = order;
    if (scan.pictures > frameRate * (scan.time + limits.burst))
      return end(refused(`it has more than ${frameRate} pictures a second`));
    if (now - aliveAt >= limits.silence)
      return end(refused(`ffmpeg hung over it: nothing was heard of it for ${limits.silence / 1000} s`));
    if (worked > limits.start + 1000 * workOf(scan, { limits, interval }))
      return end(
        refused(`it takes too long: ${Math.round(worked / 1000)} s for ${Math.round(scan.time)} s of film`),
      );
    arm();
  };
  const arm = () => {
    cancel = clock.at(clock.now() + limits.look, look);
  };
  const watch: Watch = {
    isFed: false,
    isTaken: true,
    note() {
      aliveAt = clock.now();
    },
    stop: () => cancel(),
  };
  arm();
  return watch;
}

/** Seconds of work that what was done so far may have taken: of few pictures far apart no more than those are worth. */
function workOf(
  { time, pictures }: Pick<FragmentScan, 'time' | 'pictures'>,
  { limits, interval }: { limits: TranscodeLimits; interval: number },
): number {
  const ofPictures = pictures * (limits.picture + limits.slowness * interval);
  return Math.min(limits.slowness * time, ofPictures + limits.passing * time);
}
