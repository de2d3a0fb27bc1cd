import type {
  FinishedRecording,
  FinishedRendition,
  Recorder,
  RecordingFileState,
} from '../../core/ports/recorder.ts';

/** A recorder without files: tests say what it has. */
export interface ScriptedRecorder extends Recorder {
  /** What `finish` answers for a session from now on, now or later; an Error is thrown, `null` takes it away. */
  has(sessionId: string, take: FinishedRecording | Promise<FinishedRecording> | Error | null): void;
  /** What `takes` answers from now on. */
  shows(takes: readonly RecordingFileState[]): void;
  /** What it has of a session cannot be dropped from now on. */
  keeps(sessionId: string): void;
  /** Folder and takes of each `join`. */
  readonly joined: readonly { folder: string; takes: readonly FinishedRecording[] }[];
  /** Sessions that were finished and dropped, in order, repeats too. */
  readonly finished: readonly string[];
  readonly dropped: readonly string[];
}

export function scriptedRecorder(): ScriptedRecorder {
  const known = new Map<string, FinishedRecording | Promise<FinishedRecording> | Error>();
  const finished: string[] = [];
  const dropped: string[] = [];
  const joined: { folder: string; takes: readonly FinishedRecording[] }[] = [];
  const stuck = new Set<string>();
  let states: readonly RecordingFileState[] = [];
  return {
    finished,
    dropped,
    joined,
    has(sessionId, take) {
      if (take === null) known.delete(sessionId);
      else known.set(sessionId, take);
    },
    shows(takes) {
      states = takes;
    },
    keeps(sessionId) {
      stuck.add(sessionId);
    },
    open: async () => {},
    files: async () => states,
    totals: () => ({ files: states.length, growing: 0, bytes: 0, written: 0, gaps: {}, renditionGaps: {} }),
    async finish(sessionId, { signal }) {
      finished.push(sessionId);
      const take = known.get(sessionId);
      if (take instanceof Error) throw take;
      if (!(take instanceof Promise)) return take;
      return Promise.race([take, aborted(signal)]);
    },
    async join(takes, { folder }) {
      joined.push({ folder, takes });
      const [{ video, head, index, renditions: _, ...rest }] = takes;
      const renditions = takes.flatMap((take) => take.renditions ?? []);
      const names = [...new Set(renditions.map(({ name }) => name))];
      const size = takes.reduce((sum, take) => sum + take.video.size, 0);
      return {
        ...rest,
        video: { ...video, key: `${folder}/joined.mp4`, size },
        head: { ...head, key: `${folder}/joined-head.mp4` },
        index: { ...index, key: `${folder}/joined.idx` },
        gaps: takes.reduce((sum, take) => sum + take.gaps, 0),
        ...(names.length > 0 && {
          renditions: names.map((name) => {
            const shares = renditions.filter((one) => one.name === name).map(({ share }) => share);
            const share = shares.reduce((sum, one) => sum + one, 0) / takes.length;
            return scriptedRendition({ folder, name: `joined-${name}`, profile: name, share });
          }),
        }),
      };
    },
    async drop(sessionId) {
      if (stuck.has(sessionId)) throw new Error('the disk does not answer');
      dropped.push(sessionId);
      known.delete(sessionId);
    },
    close: async () => {},
  };
}

/** A take whose blobs lie in `folder`. */
export function scriptedTake(options: {
  folder: string;
  name?: string;
  startedAt?: number;
  gaps?: number;
  /** Names of profiles, and how much of each there is. */
  renditions?: Readonly<Record<string, number>>;
}): FinishedRecording {
  const { folder, name = 'video', startedAt = 0, gaps = 0, renditions } = options;
  const key = `${folder}/${name}`;
  return {
    video: { key: `${key}.mp4`, size: 1000, md5: 'a'.repeat(32), sha256: 'b'.repeat(64) },
    head: { key: `${key}-head.mp4`, size: 100, from: 32, to: 900 },
    index: { key: `${key}.idx`, size: 10 },
    spec: { format: 'mp4', duration: 4, bitrate: 2000, tracks: [] },
    startedAt,
    gaps,
    ...(renditions && {
      renditions: Object.entries(renditions).map(([profile, share]) =>
        scriptedRendition({ folder, name: `${name}-${profile}`, profile, share }),
      ),
    }),
  };
}

function scriptedRendition(options: {
  folder: string;
  name: string;
  profile: string;
  share: number;
}): FinishedRendition {
  const { folder, name, profile, share } = options;
  const key = `${folder}/${name}`;
  return {
    name: profile,
    video: { key: `${key}.mp4`, size: 500, md5: 'c'.repeat(32), sha256: 'd'.repeat(64) },
    index: { key: `${key}.idx`, size: 10 },
    variant: { bandwidth: { average: 1000, peak: 2000 }, codecs: ['avc1.42c01e'], width: 426, height: 240 },
    share,
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason));
  });
}
