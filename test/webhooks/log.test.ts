import { describe, expect, it } from 'vitest';
import { anotherAccount } from '../kit/all-plugins.ts';
import { base, heldEndpoint, hookWorld, url } from './kit.ts';

const answering =
  (text: string, status = 200) =>
  () => ({ status, body: new TextEncoder().encode(text) });

describe('the delivery log', () => {
  it('shows what was sent and what was answered', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, answering('thanks'));
    const { id } = await w.webhook({ sharedSecret: 'a secret of some length' });
    const eventId = await w.emit('stream.started');
    const [entry] = await w.log(id);
    expect(entry).toEqual({
      ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), webhookId: id, event: 'stream.started' },
      ...{ deliveryId: eventId, createdAt: w.now(), duration: 0, attempt: 1, success: true },
      request: {
        url,
        headers: {
          ...{ 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1' },
          ...{ 'webhook-id': eventId, 'webhook-timestamp': String(w.now() / 1000) },
        },
        body: w.sent()[0]?.text,
      },
      response: { status: 200, body: 'thanks' },
    });
    expect((await w.request('GET', `${base}/${id}/log/${entry.id}`)).body).toEqual(entry);
    expect(w.outbound.sent[0]?.request.maxBytes).toBe(1024);
  });

  it('says why there was no answer', async () => {
    await using w = await hookWorld();
    const { id } = await w.webhook();
    await w.emit('stream.started');
    const [entry] = await w.log(id);
    expect([entry.success, entry.response]).toEqual([false, undefined]);
    expect(entry.error).toContain('nobody answers');
    expect(entry.nextAttemptAt).toBeGreaterThan(w.now());
  });

  it("is the account's own, and the webhook's own", async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({}));
    const one = await w.webhook();
    const two = await w.webhook({ events: ['stream.idle'] });
    await w.emit('stream.started');
    const [entry] = await w.log(one.id);
    const { key } = await anotherAccount(w);
    const asked = async (method: string, path: string, options = {}) => {
      const { status, body } = await w.request(method, `${base}/${path}`, options);
      return [status, body.code];
    };
    for (const path of [`${one.id}/log`, `${one.id}/log/${entry.id}`]) {
      expect(await asked('GET', path, { key })).toEqual([404, 'webhook.not_found']);
    }
    expect(await asked('GET', `${two.id}/log/${entry.id}`)).toEqual([404, 'webhook_log.not_found']);
    expect(await asked('POST', `${two.id}/log/${entry.id}/resend`)).toEqual([404, 'webhook_log.not_found']);
    expect(await asked('POST', `${one.id}/log/${entry.id}/resend`, { key })).toEqual([
      404,
      'webhook.not_found',
    ]);
  });

  it('keeps 64 KiB of a body; the whole is sent, and sent again', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({}));
    const { id } = await w.webhook();
    const name = 'é'.repeat(100_000);
    const at = w.now();
    const body = JSON.stringify({
      id: 'big',
      createdAt: at,
      timestamp: at,
      event: 'stream.started',
      payload: name,
    });
    const event = { id: 'big', type: 'stream.started', account: w.account, stream: 's', body };
    await w.store.write({ rows: [], at, events: [event] });
    await w.emit('stream.idle');
    const [entry] = await w.log(id);
    expect(entry.request.isCut).toBe(true);
    expect(Buffer.byteLength(entry.request.body)).toBeLessThanOrEqual(64 * 1024 + 3);
    expect(w.sent()[0]?.body.payload).toBe(name);
    await w.request('POST', `${base}/${id}/log/${entry.id}/resend`);
    expect(w.sent()[1]?.text).toBe(w.sent()[0]?.text);
    await w.store.sweep(w.now() + 1);
    const gone = await w.request('POST', `${base}/${id}/log/${entry.id}/resend`);
    expect([gone.status, gone.body.code]).toEqual([409, 'webhook.body_gone']);
  });

  it('forgets what is older than its retention', async () => {
    await using w = await hookWorld({ config: { logRetention: '1h' } });
    w.outbound.answer(url, () => ({}));
    const { id } = await w.webhook();
    await w.emit('stream.started');
    await w.advance('30m');
    await w.emit('stream.started');
    await w.advance('41m');
    expect(await w.log(id)).toHaveLength(1);
    await w.advance('30m');
    expect(await w.log(id)).toHaveLength(0);
  });

  it('forgets the oldest of a webhook that has too many', async () => {
    await using w = await hookWorld({ config: { logEntries: 5 } });
    w.outbound.answer(url, () => ({}));
    const { id } = await w.webhook();
    const order: string[] = [];
    for (let n = 0; n < 12; n += 1) {
      order.unshift(await w.emit('stream.started'));
      await w.advance('10ms');
    }
    await w.advance('11m');
    const log = await w.log(id);
    expect(log.map(({ deliveryId }) => deliveryId)).toEqual(order.slice(0, 5));
  });
});

describe('resend', () => {
  it('sends the same with the same id to the address of now, and ends the retries when it is taken', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 500 }));
    const webhook = await w.webhook();
    const eventId = await w.emit('stream.started');
    const [failed] = await w.log(webhook.id);
    const now = 'https://new.example.com/in';
    w.outbound.answer(now, answering('ok'));
    await w.request('PUT', `${base}/${webhook.id}`, { body: { ...webhook, url: now } });
    await w.advance('1s');
    const { status, body } = await w.request('POST', `${base}/${webhook.id}/log/${failed.id}/resend`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ deliveryId: eventId, success: true, attempt: 0, request: { url: now } });
    expect(body.id).not.toBe(failed.id);
    expect(w.sent(now).map(({ id, text }) => [id, text])).toEqual([[eventId, w.sent(url)[0]?.text]]);
    expect((await w.log(webhook.id))[0]).toEqual(body);
    await w.advance('1h');
    expect(w.sent()).toHaveLength(2);
  });

  it('that fails answers with the failure, and the retries go on', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 500 }));
    const { id } = await w.webhook();
    await w.emit('stream.started');
    const [failed] = await w.log(id);
    const again = await w.request('POST', `${base}/${id}/log/${failed.id}/resend`);
    expect([again.status, again.body.success]).toEqual([200, false]);
    await w.advance('10s');
    expect(w.sent()).toHaveLength(3);
  });
});

describe('test', () => {
  it('sends an example of every event, whether or not the webhook names it', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, answering('ok'));
    const { id } = await w.webhook();
    const names = [
      'stream.started',
      'recording.ready',
      'multistream.error',
      'asset.ready',
      'task.failed',
      'stream.health',
    ];
    for (const event of names) {
      const { status, body } = await w.request('POST', `${base}/${id}/test`, { body: { event } });
      expect([status, body.success, body.event]).toEqual([200, true, event]);
      expect(w.sent().at(-1)?.body).toMatchObject({ id: body.deliveryId, webhookId: id, event });
    }
    expect(await w.log(id)).toHaveLength(names.length);
    // As docs/api.md, "Live figures and health".
    expect(Object.keys(w.sent().at(-1)?.body.payload.health)).toEqual(['sessionId', 'isHealthy', 'issues']);
  });

  it('refuses what is no event', async () => {
    await using w = await hookWorld();
    const { id } = await w.webhook();
    for (const body of [{}, { event: 'x' }, { event: 7 }, { event: 'stream.idle', url }]) {
      expect((await w.request('POST', `${base}/${id}/test`, { body })).status).toBe(422);
    }
    expect(w.sent()).toEqual([]);
  });

  it('is no way to flood others', async () => {
    await using w = await hookWorld({ config: { manualPerMinute: 5 } });
    w.outbound.answer(url, () => ({}));
    const { id } = await w.webhook();
    const test = (key?: string) =>
      w.request('POST', `${base}/${id}/test`, { body: { event: 'stream.idle' }, ...(key && { key }) });
    const held = heldEndpoint(w, 'https://held.example');
    const stuck = await w.webhook({ url: 'https://held.example' });
    const first = w.request('POST', `${base}/${stuck.id}/test`, { body: { event: 'stream.idle' } });
    await w.settle();
    const beside = await w.request('POST', `${base}/${stuck.id}/test`, { body: { event: 'stream.idle' } });
    expect([beside.status, beside.body.code]).toEqual([429, 'webhook.too_many_attempts']);
    await held.answer();
    expect((await first).status).toBe(200);
    const statuses = [];
    for (let n = 0; n < 6; n += 1) statuses.push((await test()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    const refused = await test();
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await w.advance('1m');
    expect((await test()).status).toBe(200);
  });

  it('that is taken lets deliveries through that waited', async () => {
    await using w = await hookWorld();
    let isDown = true;
    w.outbound.answer(url, () => ({ status: isDown ? 500 : 200 }));
    const { id } = await w.webhook();
    for (let n = 0; n < 30; n += 1) await w.emit('stream.started');
    expect(w.sent()).toHaveLength(5);
    isDown = false;
    await w.request('POST', `${base}/${id}/test`, { body: { event: 'stream.idle' } });
    await w.settle();
    expect(w.sent().length).toBeGreaterThanOrEqual(31);
  });
});

describe('the event stream', () => {
  it('has the same events with the same ids as deliveries', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({}));
    await w.webhook({ events: ['stream.started', 'stream.idle'] });
    const abort = new AbortController();
    const answer = await w.app.handle(
      new Request('http://localhost:8080/api/events', {
        headers: { authorization: 'Bearer test-bootstrap-key' },
        signal: abort.signal,
      }),
    );
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const publish = await w.given.broadcast(await w.given.stream());
    publish.end({ clean: true });
    await w.settle();
    let text = '';
    while ((text.match(/^data: /gm) ?? []).length < 2)
      text += new TextDecoder().decode((await reader.read()).value);
    abort.abort();
    await w.settle();
    const seen = [...text.matchAll(/^id: (.*)\nevent: .*\ndata: (.*)$/gm)].map(([, id, data]) => ({
      id,
      data: JSON.parse(data ?? ''),
    }));
    expect(seen.map(({ id }) => id)).toEqual(w.sent().map(({ id }) => id));
    expect(seen.map(({ data }) => data)).toEqual(w.sent().map(({ body: { webhookId: _, ...rest } }) => rest));
  });
});
