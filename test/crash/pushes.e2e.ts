import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../core/base/fault.ts';
import { jsonLog } from '../../core/base/log.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { pushMachine } from '../../machines/push.ts';
import { push } from '../../plugins/multistream/push.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost } from '../../runtime/actors/host.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { world } from '../kit/world.ts';
import { givenTarget, inShort, pushPlugins as plugins, targets } from '../plugins/pushes/kit.ts';

const points = ['before commit', 'after commit', 'before effects'] as const;
type Stop = { readonly step: number; readonly point: (typeof points)[number] };

const began = 1_000_000;
const holder = (p: string, publish: number) => ({
  ...{ token: p, node: `node-${p}`, incarnation: p, publish, number: 1 },
});
const trouble = (reason: string) => ({ reason, message: `It met ${reason}.` });
const settings = {
  push: {
    ...{ id: 'push-1', pair: 'pair', account: 'a', streamId: 'stream', sessionId: 'session' },
    ...{ targetId: 'target', profile: 'source', name: 'T', createdAt: began },
  },
  holder: holder('p', 0),
  stream: { id: 'stream' },
};
const script: CommandOf<typeof pushMachine>[] = [
  { type: 'failed', token: 'p', trouble: trouble('connect') },
  { type: 'connected', token: 'p' },
  { type: 'slow', token: 'p', trouble: trouble('slow') },
  { type: 'lost', token: 'p', trouble: trouble('closed') },
  { type: 'connected', token: 'p' },
  { type: 'node.lost', incarnation: 'p' },
  { type: 'begun', holder: holder('q', 1) },
  { type: 'connected', token: 'q' },
  { type: 'ended', token: 'q' },
  { type: 'begun', holder: holder('r', 2) },
  { type: 'connected', token: 'r' },
  { type: 'over' },
];

/** A node tells an actor whose host dies once, and tells it again what it has no answer to, as it does. */
async function told(stopAt?: Stop) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-pushes-'));
  let steps = 0;
  let hasStopped = false;
  const start = async () => {
    const store = sqliteStore({ file: join(folder, 'store.db') });
    let isDead = false;
    const host = new ActorHost({
      ...{ store, clock: virtualClock({ start: began }), leases: await store.acquire(16), hotActors: 10 },
      log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
      types: new ActorTypes([{ type: push as never, tools: undefined }]),
      ...{ onEvent: () => {}, onOrders: () => {}, onFenced: () => {} },
      probe(point) {
        if (isDead) throw new Error('dead');
        if (point === 'before commit') steps += 1;
        if (hasStopped || steps !== stopAt?.step || point !== stopAt.point) return;
        hasStopped = true;
        isDead = true;
        throw new Error('stopped here');
      },
    });
    return { store, host };
  };
  let { store, host } = await start();
  const surely = async (ask: () => Promise<unknown>) => {
    const answered = () =>
      ask().catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
      });
    await answered().catch(async () => {
      await store.close();
      ({ store, host } = await start());
      await answered();
    });
  };
  await surely(() => host.spawn(push, settings.push.id, settings, { cause: 'spawn' }));
  for (const [index, command] of script.entries()) {
    await surely(() => host.ask(push, settings.push.id, command, { cause: `fact-${index}` }));
  }
  const logged = await store.events.after(0, { limit: 100 });
  const result = {
    events: logged.map(({ id, type, body }) => ({ id, type, body })),
    ...{ rows: await store.resources.list('multistream-push', { limit: 9 }), timers: await store.timers() },
    actor: await store.load(`push/${settings.push.id}`),
  };
  await store.close();
  await rm(folder, { recursive: true });
  return { steps, hasStopped, result };
}

describe('an actor of a push whose host dies in a step', async () => {
  const whole = await told();

  it('has a script with something to lose', () => {
    const types = whole.result.events.map(({ type }) => type.replace('multistream.', ''));
    expect(types).toEqual([
      ...['error', 'connected', 'error', 'error', 'disconnected', 'connected', 'error', 'disconnected'],
      ...['connected', 'disconnected', 'connected', 'disconnected'],
    ]);
    expect(whole.result).toMatchObject({ rows: [], timers: [], actor: undefined });
    expect(whole.steps).toBe(script.length + 1);
  });

  for (const point of points) {
    it.each(Array.from({ length: whole.steps }, (_, index) => index + 1))(
      `tells everything once when it dies ${point} of step %i`,
      async (step) => {
        const { hasStopped, result } = await told({ step, point });
        expect(hasStopped).toBe(true);
        expect(result).toEqual(whole.result);
      },
    );
  }
}, 60_000);

/** A broadcast to one target that comes and goes; the whole process dies once, and the encoder comes back. */
async function pushed(stopAt?: Stop) {
  let steps = 0;
  let isDead = false;
  let hasDied = false;
  let isCounting = false;
  await using w = await world({
    ...{ plugins, durable: true },
    probe(point) {
      if (isDead) throw new Error('dead');
      if (!isCounting) return;
      if (point === 'before commit') steps += 1;
      if (hasDied || steps !== stopAt?.step || point !== stopAt.point) return;
      hasDied = true;
      isDead = true;
      throw new Error('stopped here');
    },
  });
  const stream = await w.given.stream({ multistream: targets(await givenTarget(w)) });
  const id = stream.playbackId;
  const comeBack = async () => {
    isDead = false;
    await w.crash({ downFor: '2s' });
    await w.given.broadcast(stream);
    await w.advance('2s');
  };
  await w.given.broadcast(stream);
  await w.advance('2s');
  isCounting = true;
  const acts = [
    () => w.pusher.fails(id, 'connect', { message: 'It refused.' }),
    () => w.pusher.connects(id),
    () => w.pusher.loses(id, 'closed', { message: 'It left.' }),
    () => w.pusher.connects(id),
    () => w.request('DELETE', `/api/stream/${stream.id}/terminate`),
  ];
  for (const [index, act] of acts.entries()) {
    // After a death nothing is connected: what cannot be lost has to connect first.
    const [reading] = w.pusher.readings();
    if (index === 2 && reading?.state !== 'connected') w.pusher.connects(id);
    await Promise.resolve(act()).catch(() => {});
    await w.advance('2s');
    if (!isDead) continue;
    await comeBack();
    if (index === acts.length - 1) await act();
    await w.advance('2s');
  }
  await w.advance('7m');
  return {
    steps,
    hasDied,
    told: inShort(await w.events()),
    left: await w.store.resources.list('multistream-push', { limit: 9 }),
  };
}

describe('a process that dies while it pushes', async () => {
  const whole = await pushed();

  it('has a script with something to lose', () => {
    expect(whole.told).toEqual([
      ...['error T: It refused.', 'connected T', 'error T: It left.', 'disconnected T'],
      ...['connected T', 'disconnected T'],
    ]);
    expect(whole.steps).toBeGreaterThan(5);
  });

  for (const point of points) {
    it.each(Array.from({ length: whole.steps }, (_, index) => index + 1))(
      `leaves a whole story when it dies ${point} of step %i`,
      async (step) => {
        const { hasDied, told: all, left } = await pushed({ step, point });
        expect(hasDied).toBe(true);
        expect(left).toEqual([]);
        const words = all.map((one) => one.split(' ')[0]).filter((word) => word !== 'error');
        expect(words.length).toBeGreaterThan(1);
        expect(words.length % 2).toBe(0);
        expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? 'connected' : 'disconnected')));
        // The death itself is told once, if it was connected, and so is each trouble of the target.
        expect(all.filter((one) => one.includes('ended unexpectedly')).length).toBeLessThan(2);
        expect(all.filter((one) => one.includes('refused')).length).toBeLessThan(2);
      },
    );
  }
}, 120_000);
