import { describe, expect, it } from 'vitest';
import { type AnyMachineSnapshot, type AnyStateMachine, setup, transition } from 'xstate';
import type { ActorType } from '../../core/plugin/actor.ts';
import { begin, freeze, step, withJobs } from '../../core/plugin/step.ts';
import { job } from '../../machines/job.ts';
import { bareBroadcast, broadcastScript, settings } from '../kit/broadcast-actor.ts';

const broadcast = bareBroadcast as unknown as ActorType;

/** What XState itself makes of an event: the next state, and the actions that it would carry out. */
function byXstate(snapshot: AnyMachineSnapshot, event: { type: string; at: number }) {
  const [next, actions] = transition(broadcast.machine, snapshot as never, event as never);
  const all = actions as readonly { type: string; params?: unknown }[];
  const emitted = all.flatMap(({ type, params }) =>
    type === 'xstate.emit' ? (params as { event: object }).event : [],
  );
  const state = freeze(broadcast, withJobs(next as AnyMachineSnapshot, {}));
  return { state, emitted, isDone: (next as AnyMachineSnapshot).status === 'done' };
}

describe('a step', () => {
  it('is what XState makes of the event, for every state of a broadcast and every command', () => {
    const began = 1_000_000;
    const script = broadcastScript(began).map((command, n) => ({ ...command, at: began + 1000 * n }));
    let snapshot = begin(broadcast, settings, began).snapshot;
    const states = [snapshot];
    for (const event of script) {
      snapshot = step(broadcast, snapshot, event)?.snapshot ?? snapshot;
      states.push(snapshot);
    }
    const events = [...script, ...['terminate', 'delete', 'nonsense'].map((type) => ({ type, at: began }))];
    let taken = 0;
    for (const state of states) {
      for (const event of events) {
        const own = step(broadcast, state, event);
        const expected = byXstate(state, event);
        if (!own) {
          expect(expected).toMatchObject({ state: freeze(broadcast, state), emitted: [] });
          continue;
        }
        taken += 1;
        const { emitted, isDone } = own;
        expect({ state: freeze(broadcast, own.snapshot), emitted, isDone }).toEqual(expected);
      }
    }
    expect(taken).toBeGreaterThan(states.length);
  });

  it('leaves nothing behind for the next one of the machine', () => {
    const work = setup({ actors: { work: job<{ n: number }, number>() } }).createMachine({
      initial: 'idle',
      states: {
        idle: { on: { go: 'working' } },
        working: { invoke: { id: 'w', src: 'work', input: { n: 1 }, onError: 'idle' }, on: { stop: 'idle' } },
      },
    });
    const type = { type: 'w', machine: work as AnyStateMachine, version: 1 } as unknown as ActorType;
    const idle = begin(type, undefined, 0).snapshot;
    const told = () => {
      const { snapshot, ...one } = step(type, idle, { type: 'go', at: 1 }) ?? expect.fail('not taken');
      return JSON.stringify({ ...one, state: freeze(type, snapshot) });
    };
    const first = told();
    for (let n = 0; n < 100; n += 1) expect(told()).toBe(first);
  });

  it('has no names that all actors of a system would share', () => {
    const named = setup({ actors: { work: job<null, number>() } }).createMachine({
      initial: 'idle',
      states: {
        idle: { on: { go: 'working' } },
        working: { invoke: { id: 'w', systemId: 'one', src: 'work', input: null, onError: 'idle' } },
      },
    });
    const type = { type: 'w', machine: named as AnyStateMachine, version: 1 } as unknown as ActorType;
    const idle = begin(type, undefined, 0).snapshot;
    expect(() => step(type, idle, { type: 'go', at: 1 })).toThrow('w: w must have no systemId');
  });
});
