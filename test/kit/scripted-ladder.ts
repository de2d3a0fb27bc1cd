import type { RenditionProfile } from '../../core/ports/transcoder.ts';
import type { Ladder, LadderMedia, LadderRun } from '../../runtime/media/renditions/ladder.ts';

/** A ladder whose media the test makes up; what is encoded is counted by the byte. */
export interface ScriptedLadder extends Ladder {
  readonly runs: readonly ScriptedRun[];
  /** `next` answers from now on as it is told here; undefined: the playlist is over. */
  source: LadderRun['video'] | undefined;
  /** ms */
  lag: number;
  /** How often it was told that they cannot be made. */
  suspended: number;
  isOffered: boolean;
  /** There is no media for now: `next` waits until there is. */
  isQuiet: boolean;
}

export interface ScriptedRun extends LadderRun {
  /** Media comes. */
  give(piece: LadderMedia): void;
  /** The media of this run is over. */
  over(): void;
  /** `media` throws this. */
  fail(error: Error): void;
  /** What the next `take` throws. */
  refuses: Error | undefined;
  /** How it was ended. */
  ends: boolean[];
}

export const profile480: RenditionProfile = {
  ...{ name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 },
};
export const profile240: RenditionProfile = {
  ...{ name: '240p', width: 426, height: 240, bitrate: 400_000, fps: 0 },
};
export const video720: LadderRun['video'] = { codec: 'avc1.640020', width: 1280, height: 720, frameRate: 30 };

export function scriptedLadder(
  options: { id?: string; profiles?: readonly RenditionProfile[]; source?: LadderRun['video'] } = {},
): ScriptedLadder {
  const { id = 'ladder', profiles = [profile480, profile240], source = video720 } = options;
  const runs: ScriptedRun[] = [];
  const ladder: ScriptedLadder = {
    ...{ playbackId: id, streamId: `${id}-stream`, profiles, source, lag: 0, suspended: 0, isOffered: false },
    isQuiet: false,
    runs,
    isListed: () => ladder.isOffered,
    async next(signal) {
      while (ladder.isQuiet && !signal.aborted) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
      }
      if (ladder.source === undefined || signal.aborted) return undefined;
      const run = scriptedRun(ladder.source);
      runs.push(run);
      return run;
    },
    suspend() {
      ladder.suspended += 1;
      ladder.isOffered = false;
    },
  };
  return ladder;
}

function scriptedRun(video: LadderRun['video']): ScriptedRun {
  const pieces: (LadderMedia | Error | 'over')[] = [];
  let wake = () => {};
  const put = (one: LadderMedia | Error | 'over') => {
    pieces.push(one);
    wake();
  };
  const run = {
    ...{
      video,
      from: undefined,
      pictures: 0,
      ends: [] as boolean[],
      refuses: undefined as Error | undefined,
    },
    give: put,
    over: () => put('over'),
    fail: put,
    async *media(signal: AbortSignal) {
      while (!signal.aborted) {
        const one = pieces.shift();
        if (one === 'over') return;
        if (one instanceof Error) throw one;
        if (one) yield one;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
        }
      }
    },
    take(bytes: Uint8Array) {
      if (run.refuses) throw run.refuses;
      run.pictures += bytes.length;
    },
    end: ({ isWhole }: { isWhole: boolean }) => void run.ends.push(isWhole),
  };
  return run;
}
