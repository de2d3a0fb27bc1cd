import type { Clock } from '../../../core/ports/clock.ts';
import type { Shares } from '../../base/shares.ts';
import type { FfmpegCommand } from '../ffmpeg/command.ts';
import { wasShort } from '../ffmpeg/end-cause.ts';
import type { FfmpegProcess } from '../ffmpeg/process.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import type { Box } from '../mp4/inspect/boxes.ts';
import { endedBy, notStarted, refused } from './faults.ts';
import { FragmentScan } from './fragment-scan.ts';

/** How often a conversion is checked, ms. */
const checkEvery = 5000;
/** ms for which ffmpeg may neither take nor give a byte while there is something for it: a decoder that hangs. */
const maxSilence = 180_000;
/** ms of work that a conversion may take beside what its length gives it. */
const startAllowance = 600_000;
/** Seconds of work per second of film, however many pictures it has. */
const workPerSecond = 60;
/** Seconds of work per picture; a stretch of film whose pictures are left out counts as `workPerSecond`. */
const workPerPicture = 5;
/** Seconds of work per second of film beside its pictures: its sound. */
const workForSound = 0.2;
/** ms for what is left to do when all is read. Mostly `maxSilence` ends it before. */
const endTimeout = 24 * 3_600_000;
/** Seconds of film by which its pictures may exceed the frame rate. */
const burst = 5;

/** One process that reads a film and writes another. */
export interface RunOrder {
  readonly command: FfmpegCommand;
  /** What it reads. Ended when the process is. */
  readonly input: AsyncGenerator<Uint8Array>;
  readonly signal: AbortSignal;
  /** Bytes of memory that the process may need. It waits until there is so much for it, and gets no more. */
  readonly memory: number;
  /** It uses a graphics device. */
  readonly hasDevice?: boolean;
  /** Pictures a second beyond which it is refused; undefined: they were counted before. */
  readonly frameRate?: number;
  /** Seconds of film of which one picture is kept, where pictures are left out. Default: 0, all are kept. */
  readonly interval?: number;
  /** Called with the index of the output before a byte of that is handed on. What it throws ends the run. */
  onMovie?(moov: Box): void;
}

export interface RunTools {
  readonly clock: Clock;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  /** Memory of all conversions, bytes. */
  readonly memory: Shares;
}

/** Seconds of processor time of one process: more than the longest attempt at a task has. */
const processorTime = 7 * 24 * 3600;
/** How much less urgent than the server. */
const niceness = 10;

/**
 * Its output, as fast as it is read. The process ends when reading stops. Throws the faults of the converter, what the input throws,
 * and the reason of the signal.
 */
export async function* run(order: RunOrder, tools: RunTools): AsyncGenerator<Uint8Array> {
  const giveBack = await tools.memory.take(order.memory, order.signal);
  try {
    yield* converted(order, tools);
  } finally {
    giveBack();
  }
}

async function* converted(order: RunOrder, tools: RunTools): AsyncGenerator<Uint8Array> {
  const { signal, input, hasDevice = false, frameRate = Number.POSITIVE_INFINITY } = order;
  const { runner } = tools;
  const outlet = new Outlet();
  const process = await runner.start({
    command: order.command,
    niceness,
    limits: { memory: Math.min(order.memory, tools.memory.total), cpu: processorTime, hasDevice },
    handlers: { onOutput: (bytes) => outlet.give(bytes) },
  });
  if (!process.ok) throw notStarted(process.reason);

  let why: { readonly error: unknown } | undefined;
  const end = (error: unknown) => {
    why ??= { error };
    process.kill();
    outlet.drop();
  };
  const abort = () => end(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const gone = process.ended.then(() => outlet.close());
  const scan = new FragmentScan({ onMovie: (moov) => order.onMovie?.(moov) });
  const watch = watchOver({ tools, scan, order, end });
  const feeding = feed(process, { input, watch }).catch(end);

  // Held back until its codecs are known.
  let held: Uint8Array[] | undefined = [];
  try {
    for (;;) {
      const piece = await outlet.take();
      if (piece === undefined) break;
      scan.take(piece);
      watch.note();
      // Here and not with the clock: a small film is done before the first tick.
      if (scan.pictures > frameRate * (scan.time + burst))
        throw refused(`it has more than ${frameRate} pictures a second`);
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
    if (ended.code !== 0 || wasShort(ended)) throw endedBy(ended);
    if (held) throw refused('it has no pictures');
    // ffmpeg does not report a file that is cut off, and its sound alone would pass as a film.
    if (scan.isBlind) throw refused('none of its pictures could be read');
  } catch (error) {
    // ffmpeg wrote something else than mp4.
    throw error instanceof RangeError ? refused('ffmpeg wrote what is no film') : error;
  } finally {
    watch.stop();
    signal.removeEventListener('abort', abort);
    end(undefined);
    await gone;
    await feeding;
  }
}

/** Hands it all its input, as fast as it reads. */
async function feed(
  process: FfmpegProcess,
  { input, watch }: { input: AsyncGenerator<Uint8Array>; watch: Watch },
): Promise<void> {
  for (;;) {
    watch.isFed = false;
    const next = await input.next();
    watch.isFed = true;
    if (next.done) break;
    if (!(await process.feed(next.value, watch.note))) return void (await input.return(undefined));
  }
  process.end({ within: endTimeout });
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

/** Ends what hangs or takes far too long. Only time that ffmpeg itself takes counts. */
function watchOver(options: {
  tools: RunTools;
  scan: FragmentScan;
  order: RunOrder;
  end(error: unknown): void;
}): Watch {
  const { tools, scan, order, end } = options;
  const { clock } = tools;
  let aliveAt = clock.now();
  let lookedAt = clock.now();
  let worked = 0;
  let cancel = () => {};
  const look = () => {
    const now = clock.now();
    if (watch.isFed && watch.isTaken) worked += now - lookedAt;
    else aliveAt = now;
    lookedAt = now;
    const { interval = 0 } = order;
    if (now - aliveAt >= maxSilence)
      return end(refused(`ffmpeg hung: it did nothing for ${maxSilence / 1000} s`));
    if (worked > startAllowance + 1000 * workOf(scan, interval))
      return end(
        refused(`it takes too long: ${Math.round(worked / 1000)} s for ${Math.round(scan.time)} s of film`),
      );
    arm();
  };
  const arm = () => {
    cancel = clock.at(clock.now() + checkEvery, look);
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

/** Seconds of work allowed for what was done so far. Few pictures far apart get no more than those are worth. */
function workOf({ time, pictures }: Pick<FragmentScan, 'time' | 'pictures'>, interval: number): number {
  const ofPictures = pictures * (workPerPicture + workPerSecond * interval);
  return Math.min(workPerSecond * time, ofPictures + workForSound * time);
}

/** Hands pieces from a writer to a reader, one at a time: `give` waits until the piece is taken. */
class Outlet {
  #piece: { readonly bytes: Uint8Array; taken(): void } | undefined;
  #isClosed = false;
  #wake = () => {};

  give(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((taken) => {
      this.#piece = { bytes, taken };
      this.#wake();
    });
  }

  /** Undefined: nothing comes any more. */
  async take(): Promise<Uint8Array | undefined> {
    while (!this.#piece && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const piece = this.#piece;
    this.#piece = undefined;
    piece?.taken();
    return piece?.bytes;
  }

  /** What was given and not taken is taken still. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** The reader is gone. */
  drop(): void {
    this.close();
    void this.take();
  }
}
