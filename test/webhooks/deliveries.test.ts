import { describe, expect, it } from 'vitest';
import { heldEndpoint, hookWorld, url } from './kit.ts';

const second = 'https://other.example.com/in';

describe('an event', () => {
  it('is sent to each webhook that names it, as the event stream has it', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 204 }));
    w.outbound.answer(second, () => ({ status: 200 }));
    const a = await w.webhook({ events: ['stream.started', 'stream.idle'] });
    const b = await w.webhook({ url: second, events: ['stream.started'] });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: true });
    await w.settle();
    const [started, idle] = await w.events();
    expect(w.sent(url).map(({ body }) => body)).toEqual([
      { ...started, webhookId: a.id },
      { ...idle, webhookId: a.id },
    ]);
    expect(w.sent(second).map(({ body }) => body)).toEqual([{ ...started, webhookId: b.id }]);
    expect(started.stream.streamKey).toBeUndefined();
    expect(Object.keys(w.sent(url)[0]?.body ?? {}).slice(0, 5)).toEqual([
      ...['id', 'webhookId', 'createdAt', 'timestamp', 'event'],
    ]);
    expect(w.sent(url)[0]?.id).toBe(started.id);
    expect(w.sent(url)[0]?.text).not.toContain(stream.streamKey);
    expect(w.outbound.sent.map(({ request }) => request.owner)).toEqual(Array(3).fill(w.account));
  });

  it('is not sent for another account, stream or event', async () => {
    await using w = await hookWorld();
    const stream = await w.given.stream();
    await w.webhook({ streamId: stream.id });
    await w.webhook({ events: ['stream.idle'] });
    await w.emit('stream.started', 'another');
    expect(w.sent()).toEqual([]);
    await w.emit('stream.started', stream.id);
    expect(w.sent()).toHaveLength(1);
  });

  it('costs one commit before its first attempt, and one after it', async () => {
    await using w = await hookWorld();
    const held = heldEndpoint(w, url);
    await w.webhook();
    const steps = async () => {
      const { text } = await metrics(w);
      return Number(/millrace_actor_steps_total\{type="webhook-lane",outcome="ok"\} (\d+)/.exec(text)?.[1]);
    };
    await w.emit('stream.started');
    expect([held.waiting, await steps()]).toEqual([1, 1]);
    await held.answer();
    expect(await steps()).toBe(2);
  });

  it('that is heard of twice is sent once, also after its lane has ended', async () => {
    await using w = await hookWorld({ durable: true });
    w.outbound.answer(url, () => ({}));
    await w.webhook();
    await w.emit('stream.started');
    await w.store.events.advance('reactions/webhooks', -1);
    await w.crash({ downFor: '1s' });
    w.outbound.answer(url, () => ({}));
    expect(w.sent()).toEqual([]);
    await w.advance('2m');
    await w.store.events.advance('reactions/webhooks', -1);
    await w.crash({ downFor: '1s' });
    await w.advance('10m');
    expect(w.sent()).toEqual([]);
    expect(await w.store.resources.count('webhook-lane', {})).toBe(0);
  });
});

describe('a lane', () => {
  it('makes first attempts one at a time and in order, each stream for itself', async () => {
    await using w = await hookWorld();
    const held = heldEndpoint(w, url);
    await w.webhook({ events: ['stream.started', 'stream.idle'] });
    const order: string[] = [];
    for (const type of ['stream.started', 'stream.idle', 'stream.started']) order.push(await w.emit(type));
    await w.emit('stream.started', 'stream-2');
    expect(w.sent().map(({ id }) => id)).toEqual([order[0], 'emitted/4/stream.started']);
    for (let n = 0; n < 4; n += 1) await held.answer();
    const ids = w.sent().map(({ id }) => id);
    expect(ids.filter((id) => order.includes(id ?? ''))).toEqual(order);
  });

  it('goes on when a first attempt fails; the retry keeps id and body', async () => {
    await using w = await hookWorld();
    let isDown = true;
    w.outbound.answer(url, () => ({ status: isDown ? 500 : 200 }));
    const { id } = await w.webhook({ events: ['stream.started', 'stream.idle'] });
    const first = await w.emit('stream.started');
    isDown = false;
    await w.advance('1s');
    const next = await w.emit('stream.idle');
    expect(w.sent().map((one) => one.id)).toEqual([first, next]);
    await w.advance('7s');
    const sent = w.sent();
    expect(sent.map((one) => one.id)).toEqual([first, next, first]);
    expect(sent[2]?.text).toBe(sent[0]?.text);
    expect(Number(sent[2]?.headers['webhook-timestamp'])).toBeGreaterThan(
      Number(sent[0]?.headers['webhook-timestamp']),
    );
    const log = await w.log(id);
    expect(log.map(({ attempt, success }) => [attempt, success])).toEqual([
      [2, true],
      [1, true],
      [1, false],
    ]);
    expect(log[0].request.body).toBe(sent[0]?.text);
    await w.advance('2h');
    expect(w.sent()).toHaveLength(3);
    expect(await left(w)).toEqual([0, 0]);
  });

  it('ends when it has been idle for a minute, and another takes its place', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({}));
    await w.webhook();
    await w.emit('stream.started');
    expect(await left(w)).toEqual([1, 0]);
    await w.advance('61s');
    expect(await left(w)).toEqual([0, 0]);
    await w.emit('stream.started');
    expect(w.sent()).toHaveLength(2);
  });

  it('goes on after a crash where it was', async () => {
    await using w = await hookWorld({ durable: true });
    const before = heldEndpoint(w, url);
    await w.webhook({ events: ['stream.started', 'stream.idle'] });
    const order = [await w.emit('stream.started'), await w.emit('stream.idle')];
    expect(before.waiting).toBe(1);
    await w.crash({ downFor: '5s' });
    w.outbound.answer(url, () => ({}));
    await w.advance('30s');
    expect([...new Set(w.sent().map(({ id }) => id))]).toEqual(order);
    expect(await left(w)).toEqual([1, 0]);
  });
});

describe('a delivery', () => {
  it('is retried after 5 s, doubling up to the longest wait, until the time is up', async () => {
    await using w = await hookWorld({
      config: { breakerFailures: 1_000_000, longestRetry: '10m', retryFor: '2h' },
    });
    const times: number[] = [];
    w.outbound.answer(url, () => {
      times.push(w.now());
      return { status: 404 };
    });
    const { id } = await w.webhook();
    await w.emit('stream.started');
    const [began] = times as [number];
    await w.advance('3h');
    const waits = times.slice(1).map((time, index) => (time - (times[index] as number)) / 1000);
    for (const [index, wait] of waits.entries()) {
      const whole = Math.min(600, 5 * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(whole * 0.8 - 0.01);
      expect(wait).toBeLessThanOrEqual(whole * 1.2 + 0.01);
    }
    expect((times.at(-1) as number) - began).toBeGreaterThan(105 * 60_000);
    expect((times.at(-1) as number) - began).toBeLessThanOrEqual(120 * 60_000);
    expect(await left(w)).toEqual([0, 0]);
    const log = await w.log(id);
    expect(log).toHaveLength(times.length);
    expect(log[0].nextAttemptAt).toBeUndefined();
    expect(log[1].nextAttemptAt).toBe(times.at(-1));
    expect(log.every(({ request }) => request.body === w.sent()[0]?.text)).toBe(true);
  });

  it('ends with a 410', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 410 }));
    const { id } = await w.webhook();
    await w.emit('stream.started');
    await w.advance('2h');
    expect(w.sent()).toHaveLength(1);
    expect((await w.log(id))[0]).toMatchObject({ success: false, response: { status: 410 } });
    expect(await left(w)).toEqual([0, 0]);
  });

  it('fails with a redirect, which is not followed', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 302, headers: { location: 'http://127.0.0.1/' } }));
    const { id } = await w.webhook();
    await w.emit('stream.started');
    expect(w.outbound.sent[0]?.request.redirects).toBe(0);
    expect((await w.log(id))[0]).toMatchObject({ success: false, response: { status: 302 } });
    expect(await left(w)).toEqual([1, 1]);
  });

  it('ends when its webhook is deleted, as do the events that wait in lanes', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 500 }));
    const { id } = await w.webhook();
    for (const stream of ['a', 'b', 'c']) await w.emit('stream.started', stream);
    expect(await left(w)).toEqual([3, 3]);
    expect((await w.request('DELETE', `/api/webhook/${id}`)).status).toBe(204);
    await w.settle();
    expect(await left(w)).toEqual([0, 0]);
    expect(await w.store.resources.count('webhook-log', {})).toBe(0);
    await w.advance('2h');
    expect(w.sent()).toHaveLength(3);
  });

  it('survives a crash, with its time', async () => {
    await using w = await hookWorld({ durable: true });
    w.outbound.answer(url, () => ({ status: 500 }));
    await w.webhook();
    const id = await w.emit('stream.started');
    await w.crash({ downFor: '1h' });
    w.outbound.answer(url, () => ({}));
    await w.advance('15s');
    expect(w.sent().map((one) => one.id)).toEqual([id, id]);
    expect((await left(w))[1]).toBe(0);
  });
});

describe('a webhook that fails', () => {
  it('is left alone after five failures in a row, and its events wait in order until it answers', async () => {
    await using w = await hookWorld();
    let isDown = true;
    w.outbound.answer(url, () => ({ status: isDown ? 503 : 200 }));
    w.outbound.answer(second, () => ({}));
    await w.webhook();
    await w.webhook({ url: second });
    const order: string[] = [];
    for (let n = 0; n < 20; n += 1) order.push(await w.emit('stream.started'));
    expect(w.sent(url)).toHaveLength(5);
    expect(w.sent(second).map(({ id }) => id)).toEqual(order);
    expect(await left(w)).toEqual([2, 5]);
    isDown = false;
    await w.advance('15s');
    const firsts = [...new Set(w.sent(url).map(({ id }) => id))];
    expect(firsts).toEqual(order);
    await w.advance('2m');
    expect(await left(w)).toEqual([0, 0]);
  });

  it('is tried less and less, and one attempt at a time', async () => {
    await using w = await hookWorld();
    const times: number[] = [];
    w.outbound.answer(url, () => {
      times.push(w.now());
      return { status: 503 };
    });
    await w.webhook();
    for (let n = 0; n < 60; n += 1) await w.emit('stream.started', `stream-${n % 10}`);
    const began = times[0] as number;
    await w.advance('1h');
    const late = times.filter((time) => time > began + 600_000);
    const gaps = late.slice(1).map((time, index) => time - (late[index] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(290_000);
    expect(times.length).toBeLessThan(60);
  });

  it('never delays another, though its places are all taken', async () => {
    await using w = await hookWorld();
    const stuck = heldEndpoint(w, url);
    w.outbound.answer(second, () => ({}));
    await w.webhook();
    await w.webhook({ url: second });
    for (let n = 0; n < 40; n += 1) await w.emit('stream.started', `stream-${n}`);
    expect(stuck.waiting).toBe(8);
    expect(w.sent(second)).toHaveLength(40);
    for (let n = 0; n < 40; n += 1) await stuck.answer();
    expect(w.sent(url)).toHaveLength(40);
  });

  it('lets no busy stream keep the others of the same webhook from their turn', async () => {
    await using w = await hookWorld({ config: { perWebhook: 1 } });
    const held = heldEndpoint(w, url);
    await w.webhook();
    for (let n = 0; n < 100; n += 1) await w.emit('stream.started', 'busy');
    const rare = await w.emit('stream.started', 'rare');
    for (let n = 0; n < 40; n += 1) await held.answer();
    expect(w.sent().map(({ id }) => id)).toContain(rare);
    for (let n = 0; n < 61; n += 1) await held.answer();
    expect(new Set(w.sent().map(({ id }) => id)).size).toBe(101);
  });

  it('has no more than its share of retries; what is beyond waits in the event log', async () => {
    await using w = await hookWorld({
      config: { maxRetrying: 3, breakerFailures: 1_000_000, firstRetry: '1h' },
    });
    let isDown = true;
    w.outbound.answer(url, () => ({ status: isDown ? 500 : 200 }));
    await w.webhook();
    const order: string[] = [];
    for (let n = 0; n < 100; n += 1) order.push(await w.emit('stream.started'));
    expect(await left(w)).toEqual([1, 3]);
    isDown = false;
    await w.advance('3h');
    expect([...new Set(w.sent().map(({ id }) => id))]).toEqual(order);
    expect((await left(w))[1]).toBe(0);
  });

  it('gives up events that it could never try, and says so in its log', async () => {
    await using w = await hookWorld({ config: { retryFor: '10m' } });
    w.outbound.answer(url, () => ({ status: 500 }));
    const { id } = await w.webhook();
    for (let n = 0; n < 40; n += 1) await w.emit('stream.started');
    await w.advance('20m');
    expect(await left(w)).toEqual([0, 0]);
    const log = await w.log(id);
    const untried = log.filter(({ error }) => error === 'The event is too old: no further attempt is made.');
    expect(untried.length).toBeGreaterThan(20);
    expect(new Set(log.map(({ deliveryId }) => deliveryId)).size).toBe(40);
  });
});

async function left(w: Awaited<ReturnType<typeof hookWorld>>): Promise<number[]> {
  const { resources } = w.store;
  return [await resources.count('webhook-lane', {}), await resources.count('webhook-delivery', {})];
}

async function metrics(w: Awaited<ReturnType<typeof hookWorld>>): Promise<{ text: string }> {
  const answer = await w.app.handle(new Request('http://localhost:8080/metrics'));
  return { text: await answer.text() };
}
