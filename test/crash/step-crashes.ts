import { beforeAll, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import type { Store } from '../../core/ports/store.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost, type HostOptions } from '../../runtime/actors/host.ts';
import { bareBroadcast, broadcastScript, settings } from '../kit/broadcast-actor.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

/** What is stored by one deployment, over all its processes. */
export interface StoredData {
  /** As the next process opens it. */
  open(): Promise<Store>;
  remove(): Promise<void>;
}

type Point = Parameters<NonNullable<HostOptions['probe']>>[0];
const began = 1_000_000;

const script = broadcastScript(began);

/** Runs the script; the process stops once, at `point` of the step with this number, and starts again. */
async function run(data: StoredData, stopAt?: { step: number; point: Point }) {
  let steps = 0;
  let hasStopped = false;
  const start = async () => {
    const store = await data.open();
    let isDead = false;
    const host = new ActorHost({
      store,
      clock: virtualClock({ start: began }),
      leases: await store.acquire(16),
      log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
      types: new ActorTypes([{ type: bareBroadcast as never, tools: undefined }]),
      hotActors: 10,
      onEvent: () => {},
      onOrders: () => {},
      onFenced: () => {},
      probe(point) {
        if (isDead) throw new Error('dead');
        if (point === 'before commit') steps += 1;
        if (!hasStopped && stopAt && steps === stopAt.step && point === stopAt.point) {
          hasStopped = true;
          isDead = true;
          throw new Error('stopped here');
        }
      },
    });
    return { store, host };
  };

  let { store, host } = await start();
  const restart = async () => {
    await store.close();
    ({ store, host } = await start());
  };
  const work = [
    () => host.spawn(bareBroadcast, settings.id, settings).catch(unless('actor.exists')),
    ...script.map(
      (command, index) => () =>
        host
          .ask(bareBroadcast, settings.id, command, { cause: `request-${index}` })
          .catch(unless('actor.not_found')),
    ),
  ];
  for (const ask of work) {
    try {
      await ask();
    } catch {
      await restart();
      await ask();
    }
  }
  const result = {
    events: (await store.events.after(0, { limit: 1000 })).map(({ id, type, body }) => ({ id, type, body })),
    orders: (await store.orders()).map(({ id, type }) => ({ id, type })),
    stream: await store.resources.get('stream', settings.id),
    sessions: await store.resources.list('stream', { where: { parentId: settings.id }, limit: 10 }),
    timers: await store.timers(),
    actor: await store.load(`broadcast/${settings.id}`),
  };
  await store.close();
  await data.remove();
  return { result, hasStopped };
}

function unless(code: string) {
  return (error: { code?: string }) => {
    if (error.code !== code) throw error;
  };
}

/** Every point of every step. */
export function stepCrashes(name: string, make: () => Promise<StoredData>): void {
  describe(`a process that stops in a step, on ${name}`, () => {
    let whole: Awaited<ReturnType<typeof run>>['result'];
    const points: Point[] = ['before commit', 'after commit', 'before effects'];
    beforeAll(async () => {
      whole = (await run(await make())).result;
    });

    it('has a script with something to lose', () => {
      expect(whole.events.map(({ type }) => type)).toEqual([
        ...['stream.started', 'session.started', 'stream.idle', 'session.idle'],
        ...['stream.started', 'session.started', 'stream.idle', 'session.idle', 'session.over'],
      ]);
      expect(whole.orders.length).toBeGreaterThan(2);
      expect(whole.sessions).toHaveLength(1);
    });

    for (let step = 1; step <= script.length + 1; step += 1) {
      it(`ends the same wherever it is stopped in step ${step}`, async () => {
        for (const point of points) {
          const { result, hasStopped } = await run(await make(), { step, point });
          expect({ point, hasStopped, ...result }).toEqual({ point, hasStopped: true, ...whole });
        }
      });
    }
  });
}
