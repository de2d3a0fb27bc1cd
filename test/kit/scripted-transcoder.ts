import type { LadderReading, Transcoder, TranscoderTotals } from '../../core/ports/transcoder.ts';

/** A transcoder without processes: tests say what becomes of the renditions. */
export interface ScriptedTranscoder extends Transcoder {
  /** What there is of the renditions of a playlist from now on; undefined: nothing is wanted of it. */
  shows(playbackId: string, reading: Partial<Omit<LadderReading, 'playbackId'>> | undefined): void;
  /** What `totals` answers from now on. */
  counts(totals: TranscoderTotals): void;
}

export function scriptedTranscoder(): ScriptedTranscoder {
  const shown = new Map<string, LadderReading>();
  let totals: TranscoderTotals = {
    ...{ ladders: 0, pixelRate: 0, capacity: 64_000_000, pictures: 0, restarts: 0 },
    troubles: {},
  };
  return {
    readings: () => [...shown.values()],
    totals: () => totals,
    close() {},
    shows(playbackId, reading) {
      if (reading === undefined) shown.delete(playbackId);
      else shown.set(playbackId, { playbackId, state: 'running', renditions: [], lag: 0, ...reading });
    },
    counts(given) {
      totals = given;
    },
  };
}
