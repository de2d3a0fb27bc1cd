/**
 * Renditions of the broadcasts on this node. Media starts them by the grant of each publish (`PublishGrant.profiles`); this port
 * reports on them. Their failures never affect the broadcast itself.
 */
export interface Transcoder {
  /** Every broadcast on this node that has profiles, as it is now. */
  readings(): readonly LadderReading[];
  /** Of all of them, for metrics. Counts only grow. */
  totals(): TranscoderTotals;
  /** Ends all encoders. */
  close(): void;
}

/** A rendition that is wanted: the field `profiles` of a stream. */
export interface RenditionProfile {
  readonly name: string;
  /** Pixels; the picture fits into it with its shape kept, and is never made larger than it came. */
  readonly width: number;
  readonly height: number;
  /** bit/s of the video. */
  readonly bitrate: number;
  /** Most pictures a second, `fps / fpsDen`; 0: as many as come. None is doubled: never more than the source has. */
  readonly fps: number;
  readonly fpsDen?: number;
  /** Seconds between key frames as a number, or `intra`: each picture is one. Those of the source always are. Absent: those alone. */
  readonly gop?: string;
  readonly profile?: 'H264Baseline' | 'H264Main' | 'H264High' | 'H264ConstrainedHigh';
  readonly encoder?: 'H.264';
}

/** Seconds from one picture of a profile to the next. */
const maxInterval = 10;

/** What is wrong with a profile that its schema does not say, each problem as it follows the name of the field and a dot. */
export function profileProblems({ fps, fpsDen = 1 }: Pick<RenditionProfile, 'fps' | 'fpsDen'>): string[] {
  if (fps === 0 || fpsDen / fps <= maxInterval) return [];
  return [`fps: expected 0, or at least a picture in ${maxInterval} s (fps / fpsDen)`];
}

/** The renditions of one broadcast. */
export interface LadderReading {
  readonly playbackId: string;
  /**
   * `starting`: there is nothing of them yet. `running`: they come in time. `behind`: they come, but too late to be shown.
   * `waiting`: they broke, and are begun anew at `retryAt`. `refused`: they are not made (`trouble`).
   */
  readonly state: 'starting' | 'running' | 'behind' | 'waiting' | 'refused';
  /** Names of the profiles in the order of the field, and whether viewers are offered them now. */
  readonly renditions: readonly { readonly name: string; readonly isListed: boolean }[];
  /** By how much the renditions are behind the source, ms of media; 0 before any. */
  readonly lag: number;
  /** What was wrong last and is not over yet. */
  readonly trouble?: TranscodeTrouble;
  /** Epoch ms of the next attempt, while there is none. */
  readonly retryAt?: number;
}

/** What is wrong, as one plain sentence. Never the words of ffmpeg. */
export interface TranscodeTrouble {
  readonly reason: TranscodeReason;
  readonly message: string;
}

/**
 * - `missing`: there is no ffmpeg. `encoder`: it has not the encoder that the config names, or that cannot be used here.
 * - `capacity`: the node makes as many renditions as it may. `processes`: it runs as many processes of ffmpeg as it may, whatever for.
 * - `source`: a picture or frame rate beyond what is transcoded, or a
 *   codec that cannot be decoded. `broken`: it ended, or wrote what cannot be read. `slow`: it does not keep up.
 * - `stalled`: it took or gave nothing for too long. `memory`: there is none left for another playlist.
 */
export const transcodeReasons = [
  'missing',
  'encoder',
  'capacity',
  'processes',
  'source',
  'broken',
  'slow',
  'stalled',
  'memory',
] as const;

export type TranscodeReason = (typeof transcodeReasons)[number];

export interface TranscoderTotals {
  /** Broadcasts whose renditions are running or starting. */
  readonly ladders: number;
  /** Pixels a second that are being made, as planned: those encoded, and what decoding counts as. And the most of this node. */
  readonly pixelRate: number;
  readonly capacity: number;
  /** Pictures encoded, all renditions together. */
  readonly pictures: number;
  /** Processes that were begun again. */
  readonly restarts: number;
  /** By reason. */
  readonly troubles: Readonly<Partial<Record<TranscodeReason, number>>>;
}
