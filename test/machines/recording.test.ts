import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { begin, conclude, freeze, jobsOf, type Step, step, thaw, withJobs } from '../../core/plugin/step.ts';
import {
  type Finished,
  finishPauses,
  type RecordingContext,
  recordingMachine,
} from '../../machines/recording.ts';
import { recording } from '../../plugins/recordings/recording.ts';

const type = recording as never as Parameters<typeof begin>[0];
const began = 1_000_000;
const giveUp = 24 * 3_600_000;
const input = {
  recording: {
    ...{ account: 'a', streamId: 'stream', sessionId: 'session', assetId: 'asset' },
    ...{ name: 'Show', createdByTokenName: 'key', createdAt: began, giveUp },
  },
  stream: { id: 'stream', isActive: true },
};
const stream = { id: 'stream', isActive: false };
const ready: Finished = { outcome: 'ready', missing: [], gaps: 0, stream, payload: { assetId: 'asset' } };

describe('the recording machine', () => {
  it('reaches every state', () => {
    const done = (child: string, output: unknown) => ({ type: `xstate.done.actor.${child}`, output });
    const error = (child: string) => ({ type: `xstate.error.actor.${child}`, error: { message: 'no' } });
    const events = [
      { type: 'started', stream },
      { type: 'idle', stream },
      { type: 'over', stream },
      { type: 'assetDeleted' },
      done('finish', ready),
      done('finish', { outcome: 'failed', message: 'nothing' }),
      done('finish', { outcome: 'gone' }),
      error('finish'),
      done('clear', null),
      error('clear'),
      done('abandon', null),
      error('abandon'),
      { type: 'xstate.after.pause.recording.retrying' },
      { type: 'xstate.after.longestPause.recording.failed.untold' },
    ].map((event) => ({ ...event, at: began }));
    const paths = getShortestPaths(recordingMachine, {
      input,
      events: events as never,
      // How often something was tried is no state of its own.
      serializeState: ({ value, context }) => JSON.stringify([value, context.isDeleted, context.isLast]),
      limit: 1000,
    });
    const reached = new Set(paths.map(({ state }) => JSON.stringify(state.value)));
    expect([...reached].sort()).toEqual(
      [
        ...['"recording"', '"waiting"', '"finishing"', '"retrying"', '"gone"'],
        ...['{"ready":"clearing"}', '{"ready":"cleared"}'],
        ...['{"failed":"telling"}', '{"failed":"untold"}', '{"failed":"told"}'],
      ].sort(),
    );
    for (const { state } of paths) {
      const stored = freeze(type, withJobs(state as never, {}));
      const thawed = thaw(type, { state: stored, version: recording.version });
      expect(thawed.value).toEqual(state.value);
      expect(thawed.context).toEqual(JSON.parse(JSON.stringify(state.context)));
    }
  });

  it('tells started once, waiting each time, and ready once', () => {
    const r = run();
    expect(r.emitted).toEqual(['recording.started']);
    r.says({ type: 'idle', stream });
    r.says({ type: 'started', stream: input.stream });
    r.says({ type: 'idle', stream });
    r.says({ type: 'over', stream });
    expect(r.context.overAt).toBe(r.at());
    r.finish({ output: ready });
    expect(r.emitted).toEqual([
      'recording.started',
      'recording.waiting',
      'recording.waiting',
      'recording.ready',
    ]);
    expect(r.value).toEqual({ ready: 'clearing' });
    expect(r.wanted).toEqual(['recording.finish', 'recording.clear']);
  });

  it('tells waiting also when nobody said that it was idle', () => {
    const r = run();
    r.says({ type: 'over', stream });
    expect(r.value).toBe('finishing');
    expect(r.emitted).toEqual(['recording.started', 'recording.waiting']);
  });

  it('tries again with growing pauses, the last time when it gives up, and then has failed', () => {
    const r = run();
    r.says({ type: 'idle', stream });
    r.says({ type: 'over', stream });
    const over = r.at();
    const pauses: number[] = [];
    for (let tries = 0; r.value !== 'failed' && tries < 1000; tries += 1) {
      expect(r.context.isLast).toBe(r.at() - over >= giveUp);
      r.finish({ error: { code: 'x', message: 'no disk', attempts: 3 } });
      if (r.value !== 'retrying') break;
      pauses.push(r.pause());
    }
    expect(pauses.slice(0, 3)).toEqual([finishPauses.first, 2 * finishPauses.first, 4 * finishPauses.first]);
    expect(Math.max(...pauses)).toBe(finishPauses.longest);
    expect(r.at() - over).toBe(giveUp);
    expect(r.value).toEqual({ failed: 'telling' });
    expect(r.context.problem).toBe('no disk');
    expect(r.emitted).not.toContain('recording.ready');
    // What it keeps of the stream was for events.
    expect(r.context.stream).toEqual({});
  });

  it.each<[string, { output: Finished } | { error: { code: string; message: string; attempts: number } }]>([
    ['ready', { output: ready }],
    ['failed', { output: { outcome: 'failed', message: 'nothing' } }],
    ['gone', { output: { outcome: 'gone' } }],
  ])('is gone when the asset was deleted while it was finished, with %s', (_, result) => {
    const r = run();
    r.says({ type: 'over', stream });
    r.says({ type: 'assetDeleted' });
    expect(r.value).toBe('finishing');
    r.finish(result);
    expect(r.value).toBe('gone');
    expect(r.emitted).not.toContain('recording.ready');
  });

  it.each([
    ['ready', { output: ready }],
    ['failed', { output: { outcome: 'failed', message: 'nothing' } as const }],
  ])('goes with its asset when it is %s', (_, result) => {
    const r = run();
    r.says({ type: 'over', stream });
    r.finish(result);
    r.says({ type: 'assetDeleted' });
    expect(r.value).toBe('gone');
  });
});

/** One recording, step by step, an hour after the last unless a pause says otherwise. */
function run() {
  let at = began;
  const emitted: string[] = [];
  const wanted: string[] = [];
  let snapshot: AnyMachineSnapshot;
  let due: number | undefined;
  const take = (next: Step) => {
    const jobs = Object.fromEntries(next.wanted.map(({ child }) => [child, `job-${wanted.length}`]));
    snapshot = withJobs(next.snapshot, { ...jobsOf(next.snapshot), ...jobs });
    emitted.push(...next.emitted.map((one) => one.type));
    wanted.push(...next.wanted.map(({ kind }) => kind));
    due = next.timers.find(({ due }) => due !== null)?.due ?? undefined;
  };
  take(begin(type, input, at));
  return {
    emitted,
    wanted,
    at: () => at,
    get value() {
      return snapshot.value as unknown;
    },
    get context() {
      return snapshot.context as RecordingContext;
    },
    says(command: { type: string; stream?: unknown }) {
      at += 1000;
      const next = step(type, snapshot, { ...command, at });
      if (next) take(next);
      return next !== undefined;
    },
    finish(result: Parameters<typeof conclude>[2]['result']) {
      const job = jobsOf(snapshot).finish;
      const next = conclude(type, snapshot, { child: 'finish', job, at, result });
      if (!next) throw new Error('it does not wait for a finish');
      take(next);
    },
    /** Until its timer; returns how long that was. */
    pause() {
      if (due === undefined) throw new Error('it waits for no time');
      const length = due - at;
      at = due;
      const next = step(type, snapshot, { type: 'xstate.after.pause.recording.retrying', at });
      if (!next) throw new Error('it does not take its timer');
      take(next);
      return length;
    },
  };
}
