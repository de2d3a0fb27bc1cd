import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost, timersAtOnce } from '../../runtime/actors/host.ts';
import { type SqliteStore, sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { bareBroadcast, figures, publish, settings } from '../kit/broadcast-actor.ts';

const began = 1_000_000;
const hold = 30_000;
const { id } = settings;

/** A clock whose time and alarms the test moves apart from each other. */
function handClock(): Clock & { time: number; ring(): void } {
  const alarms = new Set<{ due: number; action: () => void }>();
  return {
    time: began,
    now() {
      return this.time;
    },
    at(due, action) {
      const alarm = { due, action };
      alarms.add(alarm);
      return () => alarms.delete(alarm);
    },
    ring() {
      for (const alarm of [...alarms]) {
        if (alarm.due <= this.time && alarms.delete(alarm)) alarm.action();
      }
    },
  };
}

describe('time and commands', () => {
  let store: SqliteStore;
  let clock: ReturnType<typeof handClock>;
  let events: { type: string; at: number }[];
  let host: Actors & Pick<ActorHost, 'stop'>;

  const start = async () => {
    const started = new ActorHost({
      store,
      clock,
      leases: await store.acquire(16),
      log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
      types: new ActorTypes([{ type: bareBroadcast as never, tools: undefined }]),
      hotActors: 10,
      onEvent: ({ type, at }) => events.push({ type, at }),
      onOrders: () => {},
      onFenced: () => {},
    });
    await started.start();
    return started;
  };
  const onAir = async (token: string, lastMediaAt: number) => {
    await host.ask(bareBroadcast, id, publish(token));
    await host.ask(bareBroadcast, id, { type: 'playable', token, figures: figures(lastMediaAt) });
  };
  const lost = (token: string, lastMediaAt: number) =>
    host.ask(bareBroadcast, id, { type: 'closed', token, isClean: false, figures: figures(lastMediaAt) });
  const settled = async () => {
    clock.ring();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await store.idle();
  };

  beforeEach(async () => {
    store = sqliteStore({ file: ':memory:' });
    clock = handClock();
    events = [];
    host = await start();
    await host.spawn(bareBroadcast, id, settings);
    await onAir('p1', began);
    await lost('p1', began);
    events.length = 0;
  });
  afterEach(async () => {
    await host.stop();
    await store.close();
  });

  it('go in order when the server was down at a deadline and a command is faster than its timer', async () => {
    await host.stop();
    clock.time = began + 100 * hold;
    host = await start();
    const { value, context } = await host.ask(bareBroadcast, id, publish('p2'));
    expect(value).toBe('starting');
    expect(context.session?.id).toBe('session-p2');
    expect(events).toEqual([
      ...['stream.idle', 'session.idle'].map((type) => ({ type, at: began + hold })),
      { type: 'session.over', at: began + 360_000 },
    ]);
  });

  it('go in order when a timer rings behind commands that set it anew', async () => {
    clock.time = began + hold - 1;
    const commands = [host.ask(bareBroadcast, id, publish('p2')), lost('p2', clock.time)];
    clock.time = began + hold;
    await settled();
    await Promise.all(commands);
    await settled();
    expect((await host.read(bareBroadcast, id))?.value).toEqual({ onAir: 'held' });
    expect(events).toEqual([]);
  });

  it('keep a deadline that is set to the same time again', async () => {
    clock.time = began + hold;
    await settled();
    await onAir('p2', began);
    await lost('p2', began);
    await settled();
    const streams = events.filter(({ type }) => type.startsWith('stream.'));
    expect(streams.map(({ type }) => type)).toEqual(['stream.idle', 'stream.started', 'stream.idle']);
  });

  it('timers of very many at one moment are run so many at a time, and all of them', async () => {
    const many = Array.from({ length: timersAtOnce + 100 }, (_, n) => `stream-of-many-${n}`);
    for (const own of many) {
      const stream = { ...settings, id: own, streamKey: own, playbackId: own };
      await host.spawn(bareBroadcast, own, stream);
      await host.ask(bareBroadcast, own, { ...publish(own), streamKey: own });
      await host.ask(bareBroadcast, own, { type: 'playable', token: own, figures: figures(began) });
      await host.ask(bareBroadcast, own, {
        ...{ type: 'closed', token: own, isClean: false, figures: figures(began) },
      });
    }
    events.length = 0;
    let running = 0;
    let most = 0;
    const { commit } = store;
    store.commit = (...given) => {
      running += 1;
      most = Math.max(most, running);
      return commit.apply(store, given).finally(() => {
        running -= 1;
      });
    };
    clock.time = began + hold;
    clock.ring();
    const idle = () => events.filter(({ type }) => type === 'stream.idle');
    while (idle().length < many.length + 1) await new Promise((resolve) => setImmediate(resolve));
    expect(events.every(({ at }) => at === began + hold)).toBe(true);
    expect(most).toBeLessThanOrEqual(timersAtOnce);
    expect(most).toBeGreaterThan(1);
  }, 30_000);

  it('a command of an owner that was replaced is refused, not acknowledged', async () => {
    await store.acquire(16);
    const change = host.ask(bareBroadcast, id, { type: 'change', changes: { name: 'x' } });
    await expect(change).rejects.toMatchObject({ status: 503 });
    await expect(host.spawn(bareBroadcast, 'other', settings)).rejects.toMatchObject({ status: 503 });
  });
});
