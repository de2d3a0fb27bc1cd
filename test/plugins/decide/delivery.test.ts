import type { Decision, DeliveryQuestion } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { hookWorld } from '../../webhooks/kit.ts';
import { counts, deciding, fail, hang, undecided, view } from './kit.ts';

const secretUrl = 'https://hooks.example.com:8443/in/a-secret-path?key=hidden';

async function given(
  decide: (question: DeliveryQuestion) => Decision | Promise<Decision>,
  config: Record<string, unknown> = {},
) {
  const { plugin, asked } = deciding('gate', { delivery: decide });
  const w = await hookWorld({ plugins: [plugin], config });
  w.outbound.answer('https://', () => ({ status: 200 }));
  return { w, asked: asked.delivery };
}

it('a plugin that refuses deliveries ends them without a request; the log says why', async () => {
  const { w, asked } = await given(({ event }) =>
    event === 'stream.started' ? { refuse: 'Not to there.' } : undefined,
  );
  await using _ = w;
  const events = ['stream.started', 'stream.idle'];
  const { id } = await w.webhook({ url: secretUrl, events, sharedSecret: 'a-shared-secret' });
  const started = await w.emit('stream.started');
  await w.advance('1s');
  await w.emit('stream.idle');
  expect(w.sent().map(({ body }) => body.event)).toEqual(['stream.idle']);
  const [idle, refused] = await w.log(id);
  expect(idle).toMatchObject({ event: 'stream.idle', success: true });
  expect(refused).toMatchObject({
    ...{ event: 'stream.started', deliveryId: started, attempt: 1, success: false, error: 'Not to there.' },
    ...{ duration: 0, request: { headers: {} } },
  });
  expect(refused).not.toHaveProperty('nextAttemptAt');
  expect(refused).not.toHaveProperty('response');
  await w.advance('24h');
  expect(w.sent()).toHaveLength(1);
  expect(asked).toHaveLength(2);
  expect(asked[0]).toEqual({
    ...{ account: w.account, webhookId: id, host: 'hooks.example.com:8443', event: 'stream.started' },
    ...{ streamId: 'stream-1', attempt: 1 },
  });
  for (const secret of ['a-secret-path', 'hidden', 'a-shared-secret'])
    expect(JSON.stringify(asked)).not.toContain(secret);
  const { text } = await view(w, '/metrics');
  expect(text).toContain('millrace_webhook_deliveries_total{outcome="refused"} 1');
  expect(text).toContain('millrace_webhook_attempts_total{outcome="2xx"} 1');
});

it('refused deliveries say nothing about their endpoint: no breaker opens', async () => {
  let isOpen = false;
  const { w } = await given(() => (isOpen ? undefined : { refuse: 'Not now.' }), { breakerFailures: 2 });
  await using _ = w;
  await w.webhook();
  for (let times = 0; times < 5; times += 1) await w.emit('stream.started', `stream-${times}`);
  isOpen = true;
  await w.emit('stream.started', 'another');
  expect(w.sent()).toHaveLength(1);
});

it('what a plugin fails to decide is tried again later, and is delivered in the end', async () => {
  let isBroken = true;
  const { w } = await given(() => (isBroken ? fail() : undefined), { breakerFailures: 1 });
  await using _ = w;
  const { id } = await w.webhook();
  await w.emit('stream.started');
  expect(w.sent()).toEqual([]);
  const [first] = await w.log(id);
  expect(first).toMatchObject({ attempt: 1, success: false, error: undecided });
  expect(first.nextAttemptAt).toBeGreaterThan(w.now());
  // Later events of the stream do not wait for it.
  isBroken = false;
  await w.emit('stream.started');
  expect(w.sent()).toHaveLength(1);
  await w.advance('10s');
  expect(w.sent()).toHaveLength(2);
  expect((await w.log(id))[0]).toMatchObject({
    attempt: 2,
    success: true,
    request: { body: first.request.body },
  });
});

it('a test and a resend are decided about, too', async () => {
  let isOpen = true;
  const { w, asked } = await given(() => (isOpen ? undefined : { refuse: 'Closed.' }));
  await using _ = w;
  const { id } = await w.webhook();
  await w.emit('stream.started');
  const [delivered] = await w.log(id);
  isOpen = false;
  const path = `/api/webhook/${id}`;
  const tested = await w.request('POST', `${path}/test`, { body: { event: 'stream.idle' } });
  expect(tested).toMatchObject({ status: 200, body: { attempt: 0, success: false, error: 'Closed.' } });
  const resent = await w.request('POST', `${path}/log/${delivered.id}/resend`);
  expect(resent).toMatchObject({ status: 200, body: { attempt: 0, success: false, error: 'Closed.' } });
  expect(asked.slice(1)).toMatchObject([
    { event: 'stream.idle', streamId: null, attempt: 0 },
    { event: 'stream.started', streamId: 'stream-1', attempt: 0 },
  ]);
  expect(w.sent()).toHaveLength(1);
  isOpen = true;
  expect((await w.request('POST', `${path}/log/${resent.body.id}/resend`)).body.success).toBe(true);
});

it('a plugin that hangs about one webhook holds up that one', async () => {
  const slow = { id: '' };
  const { w } = await given(({ webhookId }) => (webhookId === slow.id ? hang() : undefined));
  await using _ = w;
  slow.id = (await w.webhook({ url: 'https://slow.example.com/' })).id;
  await w.webhook({ url: 'https://quick.example.com/' });
  await w.emit('stream.started');
  expect(w.sent().map(({ headers }) => headers['webhook-id'])).toHaveLength(1);
  await w.advance('3s');
  expect((await w.log(slow.id))[0]).toMatchObject({ error: undecided, duration: 3000 });
  expect(await counts(w)).toEqual({ 'gate delivery allowed': 1, 'gate delivery failed': 1 });
});
