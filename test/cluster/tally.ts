import { assign, emit, setup } from 'xstate';
import type { ActorType } from '../../core/plugin/actor.ts';
import { job } from '../../machines/job.ts';

/** Adds numbers up: an actor whose state shows every step that it took, and with a timer, a job and an end. */
const tallyMachine = setup({
  types: {
    context: {} as { entries: string[]; rung: number },
    events: {} as
      | { type: 'add'; entry: string; at: number }
      | { type: 'wind'; at: number }
      | { type: 'unwind'; at: number }
      | { type: 'chime'; at: number }
      | { type: 'curse'; at: number }
      | { type: 'work'; at: number }
      | { type: 'break'; at: number }
      | { type: 'end'; at: number },
    emitted: {} as { type: 'tally.added'; entry: string; at: number } | { type: 'tally.rang'; at: number },
  },
  actors: { 'tally.work': job<{ entries: number }, string>() },
  delays: { soon: 10_000 },
  actions: {
    write: assign(({ context, event }) =>
      event.type === 'add' ? { entries: [...context.entries, event.entry] } : {},
    ),
    tell: emit(({ event }) => ({
      type: 'tally.added' as const,
      entry: event.type === 'add' ? event.entry : '',
      at: event.at,
    })),
    ring: emit(({ event }) => ({ type: 'tally.rang' as const, at: (event as { at?: number }).at ?? 0 })),
  },
}).createMachine({
  id: 'tally',
  context: { entries: [], rung: 0 },
  initial: 'calm',
  on: { add: { actions: ['write', 'tell'] }, end: '.over' },
  states: {
    calm: {
      on: {
        wind: 'wound',
        chime: 'chiming',
        curse: 'cursed',
        work: 'working',
        break: {
          actions: assign(() => {
            throw new Error('a bug');
          }),
        },
      },
    },
    wound: {
      on: { unwind: 'calm' },
      after: {
        soon: {
          target: 'calm',
          actions: [assign(({ context }) => ({ rung: context.rung + 1 })), 'ring'],
        },
      },
    },
    chiming: { after: { soon: { target: 'echoing', actions: 'ring' } } },
    cursed: {
      on: { unwind: 'calm' },
      after: {
        soon: {
          actions: assign(() => {
            throw new Error('a bug');
          }),
        },
      },
    },
    echoing: { after: { soon: { target: 'calm', actions: 'ring' } } },
    working: {
      invoke: {
        id: 'work',
        src: 'tally.work',
        input: ({ context }) => ({ entries: context.entries.length }),
        onDone: {
          target: 'calm',
          actions: assign(({ context, event }) => ({ entries: [...context.entries, event.output] })),
        },
        onError: 'calm',
      },
      on: { unwind: 'calm' },
    },
    over: { type: 'final' },
  },
});

export const tally: ActorType<typeof tallyMachine> = {
  type: 'tally',
  machine: tallyMachine,
  version: 1,
  kinds: { tally: 'any' },
  rows: ({ entries, rung }, state) => [
    {
      ...{ kind: 'tally', id: 'row', account: 'a', createdAt: 0, name: '', indexes: {} },
      body: JSON.stringify({ entries, rung, state }),
    },
  ],
  describe: (emitted) => ({ account: 'a', stream: '', body: { emitted } }),
};
