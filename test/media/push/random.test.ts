import { expect, it } from 'vitest';
import type { PushOrder } from '../../../core/ports/pusher.ts';
import { type Broadcast, order, Stage, settled, violations } from './stage.ts';

/** Repeats itself for a seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What is known without looking: which pushes there must be, and what may be told of each next. */
class Model {
  wanted = new Map<string, PushOrder>();
  /** Ends that are due, by id. */
  readonly ends = new Map<string, number>();

  want(orders: readonly PushOrder[]): void {
    const next = new Map(orders.map((one) => [one.id, one]));
    for (const [id, former] of this.wanted) {
      const same = next.get(id);
      if (same?.url !== former.url || same.videoOnly !== former.videoOnly)
        this.ends.set(id, (this.ends.get(id) ?? 0) + 1);
    }
    this.wanted = next;
  }
}

function check(stage: Stage, model: Model): void {
  const state = new Map<string, 'connected' | 'not'>();
  const ends = new Map<string, number>();
  let at = 0;
  for (const fact of stage.facts) {
    expect(fact.at).toBeGreaterThanOrEqual(at);
    at = fact.at;
    const former = state.get(fact.id) ?? 'not';
    const isFor = { connected: 'not', failed: 'not', lost: 'connected', slow: 'connected', ended: former };
    expect(former, `${fact.type} of ${fact.id}`).toBe(isFor[fact.type]);
    state.set(fact.id, fact.type === 'connected' || fact.type === 'slow' ? 'connected' : 'not');
    if (fact.type === 'ended') ends.set(fact.id, (ends.get(fact.id) ?? 0) + 1);
  }
  expect(ends).toEqual(model.ends);
  const readings = stage.pusher.readings();
  expect(readings.map(({ id }) => id)).toEqual([...model.wanted.keys()]);
  for (const { id, state: shown } of readings)
    expect(shown === 'connected', id).toBe(state.get(id) === 'connected');
  const totals = stage.pusher.totals();
  expect(totals.connected + totals.connecting).toBe(model.wanted.size);
  // No connection is forgotten, and none has two.
  const open = stage.servers.attempts.filter(({ isOver }) => !isOver).map(({ url }) => url);
  expect(new Set(open).size).toBe(open.length);
  const urls = new Set([...model.wanted.values()].map(({ url }) => url));
  expect(open.filter((url) => !urls.has(url))).toEqual([]);
  // All bytes are accounted for.
  expect(totals.sentBytes).toBe(stage.servers.attempts.reduce((sum, { received }) => sum + received, 0));
  const queued = readings.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);
  expect(queued).toBeLessThanOrEqual(MEMORY);
}

const MEMORY = 2 * 1_048_576;

async function live(seed: number): Promise<Stage> {
  const roll = dice(seed);
  const some = <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)] as T;
  const stage = new Stage({ memory: MEMORY, queue: 600_000, stall: 15_000, targets: 4 });
  const model = new Model();
  let broadcast: Broadcast = stage.broadcast();
  let publishes = 0;
  let isLive = false;
  stage.servers.answer = (attempt) => {
    const luck = roll();
    if (luck < 0.6) attempt.accept();
    else if (luck < 0.7) attempt.accept({ isAccepted: false });
    else if (luck < 0.9) attempt.refuse(some(['rejected', 'connect', 'dns'] as const));
  };
  const begin = () => {
    publishes += 1;
    isLive = true;
    broadcast.begin({ at: Math.floor(roll() * 2 ** 32), audio: roll() < 0.9 && undefined });
  };
  const operations: (() => void | Promise<void>)[] = [
    () => {
      const orders = ['a', 'b', 'c', 'd', 'e', 'f']
        .filter(() => roll() < 0.6)
        .map((id) => order(id, { url: `rtmp://x/${id}${some(['', '2'])}`, videoOnly: roll() < 0.2 }));
      broadcast.want(...orders);
      model.want(orders);
    },
    begin,
    () => {
      if (!isLive) return;
      isLive = false;
      broadcast.detach();
    },
    () => {
      const open = stage.servers.attempts.filter((one) => one.isOpen && !one.isOver);
      if (open.length > 0) some(open).refuse('closed');
    },
    () => {
      for (const one of stage.servers.attempts)
        if (!one.isOver && one.isOpen && roll() < 0.4) one.stall(Math.floor(roll() * 50_000));
    },
    () => {
      for (const one of stage.servers.attempts)
        if (!one.isOver && roll() < 0.6) one.drain(roll() < 0.5 ? Math.floor(roll() * 400_000) : undefined);
    },
    () => {
      for (const one of stage.servers.attempts) if (!one.isOver && one.isOpen && roll() < 0.5) one.sayYes();
    },
    () => {
      if (roll() > 0.2) return;
      isLive = false;
      void broadcast.output.end();
      model.want([]);
      broadcast = stage.broadcast();
    },
    () => stage.pass(Math.floor(roll() * 20_000)),
  ];
  begin();
  for (let step = 0; step < 60; step += 1) {
    await some(operations)();
    if (isLive)
      await broadcast.play({
        ms: Math.floor(roll() * 5000),
        size: some([500, 8000, 20_000]),
        gop: some([10, 25, 60]),
        video: roll() < 0.9,
        audio: roll() < 0.9,
      });
    await settled();
    check(stage, model);
  }
  void broadcast.output.end();
  model.want([]);
  await settled();
  check(stage, model);
  expect(publishes).toBeGreaterThan(0);
  for (const attempt of stage.servers.attempts)
    expect(violations(attempt.messages({ isCut: true }), { mayLackVideo: true }), attempt.url).toEqual([]);
  expect(stage.clock.timers).toBe(0);
  expect(broadcast.fatal).toEqual([]);
  return stage;
}

const seen = new Set<string>();

it.each(Array.from({ length: 16 }, (_, seed) => seed))('holds whatever happens, seed %i', async (seed) => {
  for (const fact of (await live(seed)).facts)
    seen.add('trouble' in fact ? `${fact.type} ${fact.trouble.reason}` : fact.type);
});

it('has told all there is in these', () => {
  const all = [
    ...['connected', 'ended', 'slow slow', 'lost closed', 'lost stalled'],
    ...['failed rejected', 'failed full', 'failed closed'],
  ];
  expect(all.filter((fact) => !seen.has(fact))).toEqual([]);
});
