import type { Actors } from '../../../core/plugin/actor.ts';
import { definePlugin } from '../../../core/plugin/plugin.ts';
import { courierActor, courierPlugin, type Parcel } from '../../kit/courier.ts';
import { scriptedEffect } from '../../kit/scripted-effect.ts';
import { world } from '../../kit/world.ts';

type Receipt = { status: number };

/** A world with couriers, and what a test needs to reach them. */
export async function couriers(
  options: { concurrency?: number; durable?: boolean; isStubborn?: boolean } = {},
) {
  let actors: Actors | undefined;
  const reach = definePlugin({
    id: 'reach',
    summary: 'hands the actors to the test',
    start: (kit) => {
      actors = kit.actors;
      return undefined;
    },
  });
  const script = scriptedEffect<Parcel, Receipt>({ isStubborn: options.isStubborn ?? false });
  const w = await world({
    plugins: [courierPlugin, reach],
    config: { courier: { concurrency: options.concurrency ?? 2 } },
    effects: { 'courier.deliver': script.run },
    durable: options.durable ?? false,
  });
  const reached = () => actors as Actors;
  return {
    w,
    script,
    async carry(id: string, parcel: Parcel) {
      const command = { type: 'carry', parcel } as const;
      const known = await reached().read(courierActor, id);
      if (!known) await reached().spawn(courierActor, id, {});
      await reached().ask(courierActor, id, command);
      await w.settle();
    },
    ask: (id: string, type: 'recall' | 'rename' | 'close') => reached().ask(courierActor, id, { type }),
    receipts: async (id: string) => (await reached().read(courierActor, id))?.context.receipts,
    value: async (id: string) => (await reached().read(courierActor, id))?.value,
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
    },
    metrics: async () => (await w.app.handle(new Request('http://localhost/metrics'))).text(),
  };
}
