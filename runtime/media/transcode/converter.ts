import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  beyondConversion,
  type ConversionEnd,
  type ConversionOrder,
  type Converter,
  conversionBounds,
  type SourceFilm,
} from '../../../core/ports/converter.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import { type ConversionSettings, conversionCommand } from './command.ts';
import { closed, refused, unavailable } from './faults.ts';
import { fileFeed } from './file-feed.ts';
import { type FilmFeed, filmFeed } from './film-feed.ts';
import { type TranscodeLimits, transcodeLimits } from './limits.ts';
import { normalising } from './normalising.ts';
import { run } from './run.ts';
import { streamOf } from './stream-of.ts';

export interface ConverterOptions extends ConversionSettings {
  readonly clock: Clock;
  readonly runner: FfmpegRunner;
  readonly blobs: Pick<Blobs, 'get'>;
  /** Conversions at one time. */
  readonly running: number;
  /** Of tests. */
  readonly limits?: Partial<TranscodeLimits>;
}

/** Converts by processes of ffmpeg on this node. */
export function ffmpegConverter(options: ConverterOptions): Converter {
  const { clock, runner, blobs, running } = options;
  const limits = { ...transcodeLimits, ...options.limits };
  const tools = { clock, runner, limits };
  const places = new Semaphore({ running, waiting: limits.waiting });
  const closing = new AbortController();
  const ended: Record<ConversionEnd, number> = { done: 0, refused: 0, broken_off: 0 };
  let working = 0;
  let waiting = 0;

  /** One conversion, from the first read to whatever end it has. */
  const converted = (
    { signal }: ConversionOrder,
    work: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  ): ReadableStream<Uint8Array> => {
    const leaving = new AbortController();
    const all = AbortSignal.any([signal, leaving.signal, closing.signal]);
    const pieces = async function* () {
      let end: ConversionEnd = 'broken_off';
      let leave: (() => void) | 'full' | undefined;
      try {
        waiting += 1;
        leave = await places.take(all).finally(() => {
          waiting -= 1;
        });
        if (leave === 'full') throw unavailable(`${limits.waiting} films wait to be converted.`, 60);
        working += 1;
        yield* work(all);
        end = 'done';
      } catch (error) {
        if ((error as { code?: string }).code === 'conversion.refused') end = 'refused';
        throw error;
      } finally {
        ended[end] += 1;
        if (typeof leave === 'function') {
          working -= 1;
          leave();
        }
      }
    };
    return streamOf(pieces(), { leave: () => leaving.abort(closed) });
  };

  return {
    isAvailable: async () => (await runner.about()) !== undefined,
    transcode(film, order) {
      return converted(order, async function* (signal) {
        const problem = beyondConversion(film.spec, conversionBounds);
        if (problem !== undefined) throw refused(problem);
        const feed = await filmFeed(film, { blobs, signal });
        const video = { profile: order.profile };
        const command = conversionCommand(
          { container: 'mp4', video, audio: soundOf(film, { feed, most: limits.audioTracks }) },
          options,
        );
        const { fps, fpsDen = 1 } = order.profile;
        const interval = fps > 0 ? fpsDen / fps : 0;
        yield* run({ command, input: feed.pieces(order.progress), signal, interval }, tools);
      });
    },
    normalise(file, { progress, isAnew = false, ...order }) {
      return converted({ ...order, progress }, (signal) =>
        normalising({
          ...{ signal, isAnew, settings: options, tools, frameRate: conversionBounds.frameRate },
          container: file.foreign.container,
          input: () => fileFeed(file, { readAtOnce: limits.readAtOnce, progress }),
        }),
      );
    },
    totals: () => ({ running: working, waiting, ended: { ...ended } }),
    close: () => closing.abort(closed),
  };
}

/** What becomes of each track of sound. */
function soundOf(
  { spec, index, heads }: SourceFilm,
  { feed, most }: { feed: FilmFeed; most: number },
): ('copy' | 'aac')[] {
  const tracks = spec.tracks.filter(({ type }) => type === 'audio');
  // A file that was sent may have sound in it that is no part of the film, and that its tracks are counted without.
  if (feed.form === 'whole' && (heads || !index)) return tracks.length > 0 ? ['aac'] : [];
  return tracks
    .slice(0, feed.form === 'segments' ? 1 : most)
    .map(({ codec }) => (codec === 'aac' ? 'copy' : 'aac'));
}
