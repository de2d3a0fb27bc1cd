import type { FinishedTake, Recorder, TakeState } from '../../core/ports/recorder.ts';

/** A recorder without files: tests say what it has. */
export interface ScriptedRecorder extends Recorder {
  /** What `finish` answers for a session from now on, now or later; an Error is thrown, `null` takes it away. */
  has(sessionId: string, take: FinishedTake | Promise<FinishedTake> | Error | null): void;
  /** What `takes` answers from now on. */
  shows(takes: readonly TakeState[]): void;
  /** What it has of a session cannot be dropped from now on. */
  keeps(sessionId: string): void;
  /** Folder and takes of each `join`. */
  readonly joined: readonly { folder: string; takes: readonly FinishedTake[] }[];
  /** Sessions that were finished and dropped, in order, repeats too. */
  readonly finished: readonly string[];
  readonly dropped: readonly string[];
}

export function scriptedRecorder(): ScriptedRecorder {
  const known = new Map<string, FinishedTake | Promise<FinishedTake> | Error>();
  const finished: string[] = [];
  const dropped: string[] = [];
  const joined: { folder: string; takes: readonly FinishedTake[] }[] = [];
  const stuck = new Set<string>();
  let states: readonly TakeState[] = [];
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
    takes: async () => states,
    totals: () => ({ takes: states.length, growing: 0, bytes: 0, written: 0, gaps: {}, renditionGaps: {} }),
    async finish(sessionId, { signal }) {
      finished.push(sessionId);
      const take = known.get(sessionId);
      if (take instanceof Error) throw take;
      if (!(take instanceof Promise)) return take;
      return Promise.race([take, aborted(signal)]);
    },
    async join(takes, { folder }) {
      joined.push({ folder, takes });
      const [{ video, head, index, ...rest }] = takes;
      const size = takes.reduce((sum, take) => sum + take.video.size, 0);
      return {
        ...rest,
        video: { ...video, key: `${folder}/joined.mp4`, size },
        head: { ...head, key: `${folder}/joined-head.mp4` },
        index: { ...index, key: `${folder}/joined.idx` },
        gaps: takes.reduce((sum, take) => sum + take.gaps, 0),
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
}): FinishedTake {
  const { folder, name = 'video', startedAt = 0, gaps = 0 } = options;
  const key = `${folder}/${name}`;
  return {
    video: { key: `${key}.mp4`, size: 1000, md5: 'a'.repeat(32), sha256: 'b'.repeat(64) },
    head: { key: `${key}-head.mp4`, size: 100, from: 32, to: 900 },
    index: { key: `${key}.idx`, size: 10 },
    spec: { format: 'mp4', duration: 4, bitrate: 2000, tracks: [] },
    startedAt,
    gaps,
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason));
  });
}
