import type { FinishedTake, Recorder, TakeState } from '../../core/ports/recorder.ts';

/** A recorder without files: tests say what it has. */
export interface ScriptedRecorder extends Recorder {
  /** What `finish` answers for a session from now on; an Error is thrown, `null` takes it away. */
  has(sessionId: string, take: FinishedTake | Error | null): void;
  /** What `takes` answers from now on. */
  shows(takes: readonly TakeState[]): void;
  /** Sessions that were finished and dropped, in order, repeats too. */
  readonly finished: readonly string[];
  readonly dropped: readonly string[];
}

export function scriptedRecorder(): ScriptedRecorder {
  const known = new Map<string, FinishedTake | Error>();
  const finished: string[] = [];
  const dropped: string[] = [];
  let states: readonly TakeState[] = [];
  return {
    finished,
    dropped,
    has(sessionId, take) {
      if (take === null) known.delete(sessionId);
      else known.set(sessionId, take);
    },
    shows(takes) {
      states = takes;
    },
    open: async () => {},
    takes: async () => states,
    async finish(sessionId) {
      finished.push(sessionId);
      const take = known.get(sessionId);
      if (take instanceof Error) throw take;
      return take;
    },
    async join([first]) {
      return first;
    },
    async drop(sessionId) {
      dropped.push(sessionId);
      known.delete(sessionId);
    },
    close: async () => {},
  };
}
