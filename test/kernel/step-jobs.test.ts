import { describe, expect, it } from 'vitest';
import { type AnyMachineSnapshot, type AnyStateMachine, assign, fromPromise, setup } from 'xstate';
import type { ActorType } from '../../core/plugin/actor.ts';
import { begin, conclude, freeze, jobsOf, type Step, step, thaw, withJobs } from '../../core/plugin/step.ts';
import { job } from '../../machines/job.ts';

const machine = setup({
  types: {
    context: {} as { n: number; result?: unknown },
    events: {} as { type: 'go' | 'again' | 'both' | 'pass' | 'leave' | 'stay' | 'inline' },
  },
  actors: { work: job<{ n: number }, number>() },
  guards: { isFive: ({ event }) => 'output' in event && event.output === 5 },
}).createMachine({
  id: 'm',
  context: { n: 1 },
  initial: 'idle',
  on: { leave: '.idle', stay: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
  states: {
    idle: { on: { go: 'working', both: 'two', pass: 'passed', inline: 'inline' } },
    working: {
      invoke: {
        id: 'w',
        src: 'work',
        input: ({ context }) => ({ n: context.n }),
        onDone: { guard: 'isFive', target: 'idle', actions: assign({ result: ({ event }) => event.output }) },
        onError: { target: 'idle', actions: assign({ result: ({ event }) => event.error }) },
      },
      on: { again: { target: 'working', reenter: true } },
    },
    two: {
      type: 'parallel',
      states: {
        left: { invoke: { id: 'l', src: 'work', input: { n: 1 }, onError: '#m.idle' } },
        right: { invoke: { id: 'r', src: 'work', input: { n: 2 }, onDone: '#m.idle' } },
      },
    },
    passed: { invoke: { id: 'p', src: 'work', input: { n: 3 }, onError: 'idle' }, always: 'idle' },
    inline: { invoke: { id: 'i', src: fromPromise(async () => 1) as never, input: { n: 1 } } },
  },
});
const type = { type: 'm', machine: machine as AnyStateMachine, version: 1 } as unknown as ActorType;

/** As the host does it: names the jobs of a step `j1`, `j2`, …, and stores and restores the state. */
function life() {
  let jobs = 0;
  const kept = (one: Step): AnyMachineSnapshot => {
    const named = one.wanted.map(({ child }) => [child, `j${++jobs}`]);
    const snapshot = withJobs(one.snapshot, { ...jobsOf(one.snapshot), ...Object.fromEntries(named) });
    const restored = thaw(type, { state: freeze(type, snapshot), version: 1 });
    expect(jobsOf(restored)).toEqual(jobsOf(snapshot));
    expect(restored.value).toEqual(snapshot.value);
    return restored;
  };
  let snapshot = kept(begin(type, undefined, 0));
  return {
    get jobs() {
      return jobsOf(snapshot);
    },
    get value() {
      return snapshot.value;
    },
    get result() {
      return (snapshot.context as { result?: unknown }).result;
    },
    send(name: string) {
      const next = step(type, snapshot, { type: name, at: 1 });
      if (!next) throw new Error(`${name} is not possible`);
      snapshot = kept(next);
      return { wanted: next.wanted, cancels: next.cancels };
    },
    conclude(child: string, id: string, result: { output: unknown } | { error: never }) {
      const next = conclude(type, snapshot, { child, job: id, at: 1, result });
      if (next) snapshot = kept(next);
      return next && { wanted: next.wanted, cancels: next.cancels };
    },
  };
}

describe('a step with jobs', () => {
  it('wants what the state invokes, with its input, and nothing twice', () => {
    const one = life();
    expect(one.send('go')).toEqual({ wanted: [{ child: 'w', kind: 'work', input: { n: 1 } }], cancels: [] });
    expect(one.jobs).toEqual({ w: 'j1' });
    expect(one.send('stay')).toEqual({ wanted: [], cancels: [] });
    expect(one.jobs).toEqual({ w: 'j1' });
  });

  it('cancels what it leaves, also to come back at once', () => {
    const one = life();
    one.send('go');
    one.send('stay');
    expect(one.send('again')).toEqual({
      wanted: [{ child: 'w', kind: 'work', input: { n: 2 } }],
      cancels: ['j1'],
    });
    expect(one.send('leave')).toEqual({ wanted: [], cancels: ['j2'] });
    expect(one.jobs).toEqual({});
  });

  it('cancels all that is still at work when the machine ends, also what no state alone wanted', () => {
    const ending = setup({ actors: { work: job<{ n: number }, number>() } }).createMachine({
      id: 'e',
      initial: 'working',
      invoke: { id: 'whole', src: 'work', input: { n: 1 } },
      states: {
        working: { invoke: { id: 'w', src: 'work', input: { n: 2 } }, on: { end: 'over' } },
        over: { type: 'final' },
      },
    });
    const ended = { type: 'e', machine: ending as AnyStateMachine, version: 1 } as unknown as ActorType;
    const first = begin(ended, undefined, 0);
    const last = step(ended, withJobs(first.snapshot, { whole: 'j1', w: 'j2' }), { type: 'end', at: 1 });
    expect(last?.isDone).toBe(true);
    expect(last?.cancels.toSorted()).toEqual(['j1', 'j2']);
  });

  it('wants nothing of a state that it only passes', () => {
    expect(life().send('pass')).toEqual({ wanted: [], cancels: [] });
  });

  it('does not cancel what has just ended', () => {
    const one = life();
    one.send('go');
    expect(one.conclude('w', 'j1', { output: 5 })).toEqual({ wanted: [], cancels: [] });
    expect([one.value, one.result, one.jobs]).toEqual(['idle', 5, {}]);
  });

  it('takes the result of the job that it waits for, and of no other', () => {
    const one = life();
    one.send('go');
    one.send('again');
    expect(one.conclude('w', 'j1', { output: 5 })).toBeUndefined();
    expect(one.conclude('x', 'j2', { output: 5 })).toBeUndefined();
    expect(one.conclude('w', 'j2', { error: { code: 'x' } as never })).toEqual({ wanted: [], cancels: [] });
    expect(one.result).toEqual({ code: 'x' });
    expect(one.conclude('w', 'j2', { output: 5 })).toBeUndefined();
  });

  it('ends the waiting with a result that the state has no use for', () => {
    const one = life();
    one.send('go');
    expect(one.conclude('w', 'j1', { output: 4 })).toEqual({ wanted: [], cancels: [] });
    expect([one.value, one.jobs]).toEqual(['working', {}]);
    expect(one.send('leave')).toEqual({ wanted: [], cancels: [] });
  });

  it('keeps apart what runs side by side', () => {
    const one = life();
    expect(one.send('both').wanted.map(({ child }) => child)).toEqual(['l', 'r']);
    one.conclude('l', 'j1', { output: 1 });
    expect(one.jobs).toEqual({ r: 'j2' });
    const other = life();
    other.send('both');
    expect(other.conclude('r', 'j2', { output: 1 })).toEqual({ wanted: [], cancels: ['j1'] });
  });

  it('refuses logic that is given in place', () => {
    const one = life();
    expect(() => one.send('inline')).toThrow(/i must be invoked by name/);
  });
});
