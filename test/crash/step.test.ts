import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/log.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost, type HostOptions } from '../../runtime/actors/host.ts';
import { virtualClock } from '../../runtime/drivers/clock/virtual.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { bareBroadcast, figures, publish, settings } from '../kit/broadcast-actor.ts';

type Point = Parameters<NonNullable<HostOptions['probe']>>[0];
const points: Point[] = ['before commit', 'after commit', 'before effects'];
const began = 1_000_000;

/** A broadcast with a reconnect and a loss, as commands that a caller repeats with the same cause. */
const script = [
  publish('p1'),
  { type: 'playable', token: 'p1', figures: figures(began) },
  { type: 'closed', token: 'p1', isClean: false, figures: figures(began) },
  publish('p2'),
  { type: 'playable', token: 'p2', figures: figures(began) },
  { type: 'closed', token: 'p2', isClean: true, figures: figures(began) },
  publish('p3'),
  { type: 'playable', token: 'p3', figures: figures(began) },
  { type: 'delete' },
];

/** Runs the script; the process stops once, at `point` of the step with this number, and starts again. */
async function run(stopAt?: { step: number; point: Point }) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
  const file = join(folder, 'store.db');
  let steps = 0;
  let hasStopped = false;
  const start = async () => {
    const store = sqliteStore({ file });
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
  await rm(folder, { recursive: true });
  return { result, hasStopped };
}

function unless(code: string) {
  return (error: { code?: string }) => {
    if (error.code !== code) throw error;
  };
}

describe('a process that stops in a step', async () => {
  const whole = await run();

  it('has a script with something to lose', () => {
    expect(whole.result.events.map(({ type }) => type)).toEqual([
      'stream.started',
      'stream.idle',
      'stream.started',
      'stream.idle',
    ]);
    expect(whole.result.orders.length).toBeGreaterThan(2);
    expect(whole.result.sessions).toHaveLength(1);
  });

  for (let step = 1; step <= script.length + 1; step += 1) {
    it.each(points)(`ends the same when it is stopped %s in step ${step}`, async (point) => {
      const { result, hasStopped } = await run({ step, point });
      expect(hasStopped).toBe(true);
      expect(result).toEqual(whole.result);
    });
  }
});
