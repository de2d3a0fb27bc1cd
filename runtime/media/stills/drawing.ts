import type { FfmpegOptions } from '../ffmpeg/command.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import {
  CTS,
  DTS,
  fragmentSize,
  OFFSET,
  type Run,
  SIZE,
  STRIDE,
  SYNC,
  writeFragment,
} from '../mp4/fragment.ts';
import { type Encoding, encodings } from './encodings.ts';
import { type FoundPictures, maxSourcePixels } from './found-pictures.ts';

/** Bytes of one picture, or of the pictures of one process. */
const maxOutputBytes = 16 * 1_048_576;
/** How much less urgent than the server it is. */
const niceness = 10;

/** One process of ffmpeg: what it reads, and what it makes of that. */
export interface Drawing {
  readonly format: string;
  readonly input?: FfmpegOptions;
  readonly filter: string;
  readonly media: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Pictures that it gives, one behind the other or in one animation. */
  readonly pictures: number;
  /** Default: that of JPEG. Its pixels are a part of `filter`. */
  readonly encoding?: Encoding;
  /** None is repeated to fill the time between two. */
  readonly isEachOnce?: boolean;
}

/**
 * What a process gave, or why it gave nothing. `none`: it ended by itself, and had nothing to show. `large`: it gave too much.
 * `unsupported`: it does not write this format.
 */
export type Drawn =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly ok: false;
      readonly reason: 'missing' | 'full' | 'none' | 'broken' | 'late' | 'large' | 'unsupported';
      readonly errors: string;
    };

export interface DrawOptions {
  readonly runner: FfmpegRunner;
  /** Aborted when it took too long or is not wanted any more: the process is killed (`late`). */
  readonly signal: AbortSignal;
}

/** ms for the rest of the work when all is read. The signal ends it earlier. */
const endTimeout = 3_600_000;

/** Bytes of memory of one process: some pictures of 8192 × 4352. */
const processMemory = 2 ** 30;
/** Seconds of processor time: far more than `stills.deadline` lets it run. */
const processorTime = 1800;

/**
 * Feeds a process and takes its pictures. It is given nothing but its standard input, and is gone when this resolves. What `media` throws
 * is thrown.
 */
export async function draw(drawing: Drawing, options: DrawOptions): Promise<Drawn> {
  const { runner, signal } = options;
  const { encoding = encodings.jpeg } = drawing;
  const taken: Uint8Array[] = [];
  let size = 0;
  let isTooMuch = false;
  let kill = () => {};
  const started = await runner.start({
    limits: { memory: processMemory, cpu: processorTime },
    command: {
      input: {
        format: drawing.format,
        // One picture or single key frames: threads would only cost memory.
        options: {
          threads: 1,
          max_pixels: maxSourcePixels,
          an: true,
          sn: true,
          dn: true,
          ...drawing.input,
        },
      },
      output: {
        target: 'pipe:1',
        format: encoding.muxer,
        protocol: 'pipe',
        options: {
          map: '0:v:0',
          vf: drawing.filter,
          'frames:v': drawing.pictures,
          ...(drawing.isEachOnce && { fps_mode: 'passthrough' }),
          ...encoding.encoder,
          map_metadata: -1,
        },
      },
    },
    niceness,
    isWanted: () => !signal.aborted,
    handlers: {
      onOutput(bytes) {
        size += bytes.length;
        isTooMuch = size > maxOutputBytes;
        if (isTooMuch) kill();
        else taken.push(bytes.slice());
      },
    },
  });
  if (!started.ok) {
    const reason = { missing: 'missing', unwanted: 'late', full: 'full' } as const;
    return {
      ok: false,
      reason: reason[started.reason as keyof typeof reason] ?? 'broken',
      errors: started.reason,
    };
  }
  kill = () => started.kill();
  const leave = () => kill();
  signal.addEventListener('abort', leave);
  try {
    if (signal.aborted) kill();
    for await (const bytes of drawing.media) if (!(await started.feed(bytes))) break;
    started.end({ within: endTimeout });
    const { code, errors } = await started.ended;
    if (signal.aborted) return { ok: false, reason: 'late', errors };
    if (isTooMuch) return { ok: false, reason: 'large', errors };
    if (code === undefined) return { ok: false, reason: 'broken', errors };
    if (size === 0 && noEncoder.test(errors)) return { ok: false, reason: 'unsupported', errors };
    if (size === 0) return { ok: false, reason: 'none', errors };
    return { ok: true, bytes: new Uint8Array(Buffer.concat(taken)) };
  } finally {
    signal.removeEventListener('abort', leave);
    kill();
    await started.ended;
  }
}

/** A build without its library. */
const noEncoder = /Unknown encoder|Unrecognized option|not a suitable output format/;

/** Of pictures that fit into `width` × `height`: shape kept, turned as the film says (which ffmpeg does first), never made larger. */
export function scaled(
  { width, height }: { width: number; height: number },
  { pixels, range }: Pick<Encoding, 'pixels' | 'range'> = encodings.jpeg,
): string {
  const wide = `min(min(${width},iw*sar),${height}*dar)`;
  const even = (text: string) => `max(2,trunc((${text})/2)*2)`;
  return `scale=w='${even(wide)}':h='${even('ow/dar')}'${range ? `:out_range=${range}` : ''},setsar=1,${pixels}`;
}

/** Fragmented mp4 of these pictures alone. `first`: the decode time of the first, ticks. */
export function fragmentOf(
  { init, pictures, bytes }: FoundPictures,
  { sequence, first }: { sequence: number; first: number },
): Uint8Array {
  const table = new Float64Array(pictures.length * STRIDE);
  pictures.forEach(({ at, size, dts, pts, isSync }, row) => {
    const from = row * STRIDE;
    table[from + DTS] = first + dts;
    table[from + CTS] = pts - dts;
    table[from + OFFSET] = at;
    table[from + SIZE] = size;
    table[from + SYNC] = Number(isSync);
  });
  const { id, timescale } = init.track;
  const until = table[(pictures.length - 1) * STRIDE + DTS] + timescale;
  const runs: Run[] = [{ id, isVideo: true, table, taken: pictures.length, until, bytes }];
  const written = new Uint8Array(fragmentSize(runs));
  writeFragment(written, { at: 0, sequence, runs });
  return written;
}
