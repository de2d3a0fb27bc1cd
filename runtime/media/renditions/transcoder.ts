import type { Log } from '../../../core/base/log.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Transcoder } from '../../../core/ports/transcoder.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import { Capacity } from './capacity.ts';
import type { RenditionMaker } from './ladder.ts';
import { Transcoding, type TranscodingHost, type TranscodingSettings } from './transcoding.ts';

/** Share of `ffmpeg.processes` for renditions, so that stills, pushes over SRT and conversions find some. */
const processShare = 0.75;
/** How often the deadlines of all renditions are checked, ms. */
const checkEvery = 250;

export interface NodeTranscoderOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  /** From 0 to below 1: spreads restarts after a common failure. */
  readonly random: () => number;
  readonly settings: TranscodingSettings;
  /** Pixels a second of all renditions together, with what decoding counts as. */
  readonly capacity: number;
  /** Most ffmpeg processes of the node, for all purposes. */
  readonly processes: number;
}

/** The transcoder of a node. */
export type NodeTranscoder = Transcoder & RenditionMaker;

/** Makes renditions in processes of ffmpeg, one for each playlist that wants any, within the capacity of the node. */
export function nodeTranscoder(options: NodeTranscoderOptions): NodeTranscoder {
  const { clock, log, runner, random, settings } = options;
  const ladders = new Set<Transcoding>();
  const capacity = new Capacity({
    limit: options.capacity,
    processes: Math.max(1, Math.floor(options.processes * processShare)),
  });
  let isClosed = false;
  let stopLooking: (() => void) | undefined;

  const counts: TranscodingHost['counts'] = { pictures: 0, restarts: 0, troubles: {} };
  const host = { clock, log, runner, random, settings, capacity, counts };

  /** Checks deadlines while there are ladders. */
  const watch = () => {
    if (ladders.size === 0) {
      stopLooking?.();
      stopLooking = undefined;
      return;
    }
    const work = () => {
      for (const one of ladders) one.look();
    };
    stopLooking ??= every(checkEvery, { clock, work });
  };

  return {
    begin(ladder) {
      if (isClosed || ladder.profiles.length === 0) return () => {};
      const one = new Transcoding(ladder, host);
      ladders.add(one);
      watch();
      const forget = () => {
        ladders.delete(one);
        watch();
      };
      void one.ended.then(forget);
      return () => {
        one.stop();
        forget();
      };
    },
    readings: () => [...ladders].map((one) => one.reading()),
    totals: () => ({
      ladders: [...ladders].filter(({ isMaking }) => isMaking).length,
      pixelRate: capacity.used,
      capacity: capacity.limit,
      ...structuredClone(counts),
    }),
    close() {
      isClosed = true;
      for (const one of ladders) one.stop();
    },
  };
}
