import { Type } from '@sinclair/typebox';
import { assign, emit, setup } from 'xstate';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { EffectError } from '../../core/plugin/effect.ts';
import { definePlugin, effect, type Plugin } from '../../core/plugin/plugin.ts';
import { job } from '../../machines/job.ts';

export interface Parcel {
  readonly parcel: string;
  readonly notBefore?: number;
}
type Receipt = { readonly status: number };

/** Carries parcels one after another; the least machine with a job in it. */
const courierMachine = setup({
  types: {
    context: {} as { parcels: Parcel[]; receipts: (Receipt | EffectError)[] },
    events: {} as
      | { type: 'carry'; parcel: Parcel; at: number }
      | { type: 'recall'; at: number }
      | { type: 'rename'; at: number }
      | { type: 'close'; at: number },
    emitted: {} as { type: 'courier.done'; parcel: string; status: number },
    input: {} as { readonly patience?: number },
  },
  actors: { 'courier.deliver': job<Parcel, Receipt>() },
  guards: { hasMore: ({ context }) => context.parcels.length > 0 },
  actions: {
    take: assign(({ context, event }) =>
      event.type === 'carry' ? { parcels: [...context.parcels, event.parcel] } : {},
    ),
    drop: assign(({ context }) => ({ parcels: context.parcels.slice(1) })),
  },
  delays: { patience: 60_000 },
}).createMachine({
  id: 'courier',
  context: { parcels: [], receipts: [] },
  initial: 'idle',
  on: { close: '.closed', rename: { actions: assign({}) } },
  states: {
    idle: {
      always: { guard: 'hasMore', target: 'carrying' },
      on: { carry: { actions: 'take' } },
    },
    carrying: {
      invoke: {
        id: 'delivery',
        src: 'courier.deliver',
        input: ({ context }) => context.parcels[0] as Parcel,
        onDone: {
          target: 'idle',
          actions: [
            emit(({ context, event }) => ({
              type: 'courier.done' as const,
              parcel: context.parcels[0]?.parcel ?? '',
              status: event.output.status,
            })),
            assign(({ context, event }) => ({
              parcels: context.parcels.slice(1),
              receipts: [...context.receipts, event.output],
            })),
          ],
        },
        onError: {
          target: 'idle',
          actions: assign(({ context, event }) => ({
            parcels: context.parcels.slice(1),
            receipts: [...context.receipts, event.error as EffectError],
          })),
        },
      },
      after: { patience: { target: 'idle', actions: 'drop' } },
      on: { carry: { actions: 'take' }, recall: { target: 'idle', actions: 'drop' } },
    },
    closed: { type: 'final' },
  },
});

export const courierActor: ActorType<typeof courierMachine> = {
  type: 'courier',
  machine: courierMachine,
  version: 1,
  rows: () => [],
  describe: (emitted) => ({ account: 'account-1', stream: '', body: { emitted } }),
};

export const courierConfig = Type.Object({ concurrency: Type.Integer({ default: 2 }) });

/** A plugin with one effect, as a plugin's author would write it. */
export const courierPlugin = definePlugin<typeof courierConfig>({
  id: 'courier',
  summary: 'carries parcels',
  config: courierConfig,
  emits: { 'courier.done': 'A parcel was delivered.' },
  actors: [courierActor],
  effects: {
    'courier.deliver': effect<Parcel, Receipt, typeof courierConfig>({
      concurrency: (config) => config.concurrency,
      timeout: 10_000,
      lease: 6000,
      attempts: 3,
      backoff: { first: 1000, most: 4000 },
      queue: 10,
      notBefore: ({ notBefore }) => notBefore,
      run: async () => ({ status: 200 }),
    }),
  },
}) as unknown as Plugin;
