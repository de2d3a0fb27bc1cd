import { pulledStream } from '../../../core/base/pulled-stream.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  beyondConversion,
  type ConversionEnd,
  type ConversionOrder,
  type Converter,
  type SourceFilm,
} from '../../../core/ports/converter.ts';
import { Shares } from '../../base/shares.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import { type ConversionSettings, conversionCommand, maxAudioTracks, usesDevice } from './command.ts';
import { closed, refused, unavailable } from './faults.ts';
import { type FilmFeed, fileFeed, filmFeed } from './film-feed.ts';
import { fitInto, fittingThreads, isSlowPreset, memoryOf, sizeOf } from './memory.ts';
import { normalising } from './normalising.ts';
import { ConversionPlaces } from './places.ts';
import { run } from './run.ts';

/** Conversions that may wait for a place. */
const maxWaiting = 1000;

export interface ConverterOptions extends ConversionSettings {
  readonly clock: Clock;
  readonly runner: FfmpegRunner;
  readonly blobs: Pick<Blobs, 'get'>;
  /** Conversions at one time. */
  readonly running: number;
  /** Of all of them together, bytes. */
  readonly memory: number;
}

/** Converts by processes of ffmpeg on this node. */
export function ffmpegConverter(options: ConverterOptions): Converter {
  const { clock, runner, blobs, running } = options;
  const tools = { clock, runner, memory: new Shares(options.memory) };
  const slots = new ConversionPlaces({ running, waiting: maxWaiting });
  const closing = new AbortController();
  const ended: Record<ConversionEnd, number> = { done: 0, refused: 0, broken_off: 0 };

  /** One conversion, from the first read to whatever end it has. */
  const converted = (
    { account, signal }: ConversionOrder,
    work: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
  ): ReadableStream<Uint8Array> => {
    const leaving = new AbortController();
    const ending = AbortSignal.any([signal, leaving.signal, closing.signal]);
    const pieces = async function* () {
      let end: ConversionEnd = 'broken_off';
      let leave: (() => void) | 'full' | undefined;
      try {
        leave = await slots.take(account, ending);
        if (leave === 'full') throw unavailable(`${maxWaiting} films are waiting to be converted.`, 60);
        yield* work(ending);
        end = 'done';
      } catch (error) {
        if ((error as { code?: string }).code === 'conversion.refused') end = 'refused';
        throw error;
      } finally {
        ended[end] += 1;
        if (typeof leave === 'function') leave();
      }
    };
    const all = pieces();
    return pulledStream({
      next: async () => (await all.next()).value ?? undefined,
      async end() {
        leaving.abort(closed);
        await all.return(undefined).catch(() => {});
      },
    });
  };

  return {
    isAvailable: async () => (await runner.about()) !== undefined,
    transcode(film, order) {
      return converted(order, async function* (signal) {
        const problem = beyondConversion(film.spec);
        if (problem !== undefined) throw refused(problem);
        const feed = await filmFeed(film, { blobs, signal });
        const video = { profile: order.profile };
        const from = sizeOf(film.spec);
        const sizes = { from, to: fitInto(from, order.profile), isSlow: isSlowPreset(options.h264) };
        const settings = { ...options, threads: fittingThreads(sizes, options) };
        const command = conversionCommand({ container: 'mp4', video, audio: soundOf(film, feed) }, settings);
        const { fps, fpsDen = 1 } = order.profile;
        const interval = fps > 0 ? fpsDen / fps : 0;
        const memory = memoryOf(sizes, settings.threads);
        const hasDevice = usesDevice(options.h264);
        const input = feed.pieces(order.progress);
        yield* run({ command, input, signal, memory, hasDevice, interval }, tools);
      });
    },
    normalise(file, { progress, isAnew = false, ...order }) {
      return converted({ ...order, progress }, (signal) =>
        normalising({
          ...{ signal, isAnew, settings: options, tools },
          container: file.foreign.container,
          input: () => fileFeed(file, progress),
        }),
      );
    },
    totals: () => ({ running: slots.running, waiting: slots.waiting, ended: { ...ended } }),
    close: () => closing.abort(closed),
  };
}

/** What becomes of each track of sound. */
function soundOf({ spec, index, heads }: SourceFilm, feed: FilmFeed): ('copy' | 'aac')[] {
  const tracks = spec.tracks.filter(({ type }) => type === 'audio');
  // A file that was sent may have sound in it that is no part of the film, and that its tracks are counted without.
  if (feed.form === 'whole' && (heads || !index)) return tracks.length > 0 ? ['aac'] : [];
  return tracks
    .slice(0, feed.form === 'segments' ? 1 : maxAudioTracks)
    .map(({ codec }) => (codec === 'aac' ? 'copy' : 'aac'));
}
