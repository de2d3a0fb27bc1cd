import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Events } from './harness/events.ts';
import { type HookReceiver, startHookReceiver } from './harness/hook-receiver.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A server that may call the receivers on 127.0.0.2 and nobody on 127.0.0.1. */
let server: Server;
let receiver: HookReceiver;
let events: Events;
const secret = `whsec_${Buffer.from('a secret that both sides know').toString('base64')}`;
const emitter = join(root, 'test/kit/emitter-plugin.ts');
const streams = ['stream-a', 'stream-b', 'stream-c'];
const each = 4;

beforeAll(async () => {
  receiver = await startHookReceiver();
  server = await startServer({
    env: {
      MILLRACE_OUTBOUND__ALLOW: '["127.0.0.2/32"]',
      MILLRACE_PLUGINS: JSON.stringify({ [emitter]: {}, webhooks: { timeout: '4s', firstRetry: '1s' } }),
    },
  });
  events = await server.openEvents();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

interface Entry {
  event: string;
  success: boolean;
  attempt: number;
  nextAttemptAt?: number;
  deliveryId: string;
  duration: number;
  response?: { status: number; body: string };
  error?: string;
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await server.api.request(method, path, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text ? JSON.parse(text) : undefined) as T;
}

test('each bad endpoint ends as decided, and none disturbs another', async () => {
  const ids: Record<string, string> = {};
  for (const [name, url] of Object.entries(receiver.urls)) {
    const body = { name, url, events: ['stream.started'], ...(name === 'ok' && { sharedSecret: secret }) };
    ids[name] = (await call<{ id: string }>('POST', '/api/webhook', body)).id;
  }
  const emitted = await call<string[]>('POST', '/emit', { type: 'stream.started', streams, each });

  const count = streams.length * each;
  await until('every event at the good endpoint', () => receiver.received('ok').length >= count, {
    within: 20_000,
  });
  // Those that hang have not even ended their first attempts.
  const logOf = (name: string) => call<Entry[]>('GET', `/api/webhook/${ids[name]}/log?limit=1000`);
  const firsts = async (name: string) => {
    const entries = await until(
      `three first attempts at ${name}`,
      async () => {
        const all = (await logOf(name)).filter(({ attempt }) => attempt === 1);
        return all.length >= 3 && all;
      },
      { within: 40_000 },
    );
    return entries.at(-1) as Entry;
  };
  for (const stream of streams) {
    const got = receiver.received('ok').map(({ headers }) => headers['webhook-id']);
    const own = emitted.filter((id) => id.includes(stream));
    expect(got.filter((id) => id?.includes(stream))).toEqual(own);
  }
  for (const { headers, body } of receiver.received('ok')) {
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({
      id: headers['webhook-id'],
      webhookId: ids.ok,
    });
  }

  expect(await firsts('slow')).toMatchObject({ success: true, response: { status: 200, body: 'at last' } });
  for (const status of [500, 404]) {
    const entry = await firsts(String(status));
    expect(entry).toMatchObject({ success: false, response: { status }, nextAttemptAt: expect.any(Number) });
  }
  const over = await firsts('410');
  expect([over.success, over.response?.status, over.nextAttemptAt]).toEqual([false, 410, undefined]);
  expect(await firsts('redirect')).toMatchObject({ success: false, response: { status: 302 } });
  expect(receiver.received('landed')).toEqual([]);
  const never = await firsts('never');
  expect([never.success, never.response]).toEqual([false, undefined]);
  expect(never.error).toMatch(/4000 ms|took longer|silent/);
  const endless = await firsts('endless');
  expect([endless.success, endless.response?.body.length]).toEqual([true, 1024]);
  expect((await firsts('certificate')).error).toMatch(/certificate/i);
  expect((await firsts('down')).error).toMatch(/127\.0\.0\.2/);

  await until('all events at the slow endpoint', () => receiver.received('slow').length >= count, {
    within: 30_000,
  });
  await until('retries at the one that is broken', () => receiver.received('500').length > each, {
    within: 30_000,
  });
  expect(receiver.received('ok')).toHaveLength(count);
  const seen = events.seen.filter(({ event }) => event === 'stream.started').map(({ id }) => id);
  expect(seen.toSorted()).toEqual(emitted.toSorted());
  expect(
    receiver
      .received('ok')
      .map(({ body }) => JSON.parse(body).id)
      .toSorted(),
  ).toEqual(seen.toSorted());
});

test('an address that is not allowed cannot even be named', async () => {
  const body = { name: 'inside', url: 'http://127.0.0.1:1/', events: ['stream.started'] };
  const made = await server.api.request('POST', '/api/webhook', body);
  expect([made.status, ((await made.json()) as { errors: string[] }).errors.join()]).toEqual([
    422,
    expect.stringContaining('url: '),
  ]);
  const { id } = await call<{ id: string }>('POST', '/api/webhook', { ...body, url: receiver.urls.ok });
  for (const url of [
    'http://2130706433/',
    'http://[::ffff:7f00:1]/',
    'http://169.254.169.254/',
    'http://localhost/',
  ]) {
    const changed = await server.api.request('PUT', `/api/webhook/${id}`, { ...body, url });
    expect([url, changed.status]).toEqual([url, 422]);
  }
});
