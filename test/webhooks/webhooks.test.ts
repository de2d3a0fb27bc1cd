import { describe, expect, it } from 'vitest';
import { anotherAccount } from '../kit/all-plugins.ts';
import { base, type HookWorld, hookWorld, url } from './kit.ts';

const secret = `whsec_${Buffer.from('a secret of some length').toString('base64')}`;
const body = { name: 'W', url, events: ['stream.started'] };
const contract = [
  ...['stream.started', 'stream.idle', 'recording.ready', 'recording.started', 'recording.waiting'],
  ...['multistream.connected', 'multistream.error', 'multistream.disconnected'],
];

describe('a webhook', () => {
  it('is created, read, listed, replaced and deleted', async () => {
    await using w = await hookWorld();
    const stream = await w.given.stream();
    const made = await w.webhook({ streamId: stream.id, sharedSecret: secret });
    expect(made).toEqual({
      ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), kind: 'webhook', ...body, streamId: stream.id },
      ...{ userId: w.account, createdAt: w.now(), status: {} },
    });
    const path = `${base}/${made.id}`;
    expect((await w.request('GET', path)).body).toEqual(made);
    expect((await w.request('GET', base)).body).toEqual([made]);
    const { streamId: _, ...wide } = made;
    const put = await w.request('PUT', path, { body: { ...wide, name: 'N', events: contract } });
    expect([put.status, put.body]).toEqual([200, { ...wide, name: 'N', events: contract }]);
    expect((await w.request('GET', path)).body).toEqual(put.body);
    expect((await w.request('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const gone = await w.request(method, path, method === 'PUT' ? { body } : {});
      expect([gone.status, gone.body.code]).toEqual([404, 'webhook.not_found']);
    }
    expect((await w.request('GET', base)).body).toEqual([]);
  });

  it('is listed like everything else', async () => {
    await using w = await hookWorld();
    for (const name of ['b', 'a', 'c']) {
      await w.webhook({ name });
      await w.advance('1s');
    }
    const names = async (query: string) =>
      (await w.request('GET', `${base}?${query}`)).body.map(({ name }: { name: string }) => name);
    expect(await names('')).toEqual(['c', 'a', 'b']);
    expect(await names('name=asc')).toEqual(['a', 'b', 'c']);
    expect(await names('limit=1')).toEqual(['c']);
    const filters = encodeURIComponent(JSON.stringify([{ id: 'url', value: 'hooks.example' }]));
    expect(await names(`filters=${filters}`)).toHaveLength(3);
    expect((await w.request('GET', `${base}?limit=0`)).status).toBe(422);
  });

  it.each([
    [{ url: 'ftp://a.example' }, 'url: '],
    [{ url: 'javascript:alert(1)' }, 'url: '],
    [{ url: 'not a url' }, 'url: '],
    [{ url: 'https://' }, 'url: '],
    [{ url: 'https://exa\r\nmple.com/' }, 'url: '],
    [{ url: `https://a.example/${'x'.repeat(2000)}` }, 'url: '],
    [{ url: undefined }, 'url: '],
    [{ name: '' }, 'name: '],
    [{ name: undefined }, 'name: '],
    [{ events: [] }, 'events: '],
    [{ events: 'stream.started' }, 'events: '],
    [{ events: undefined }, 'events: '],
    [{ events: Array.from({ length: 101 }, () => 'stream.idle') }, 'events: '],
    [{ events: ['stream.begun'] }, 'events: there is no event "stream.begun"'],
    [{ events: ['__proto__', 'constructor'] }, 'events: there is no event "__proto__", "constructor"'],
    [{ events: ['stream.started\n'] }, 'events: there is no event "stream.started\\n"'],
    [{ streamId: '' }, 'streamId: '],
    [{ sharedSecret: 'whsec_!!!' }, 'sharedSecret: '],
    [{ sharedSecret: 'whsec_' }, 'sharedSecret: '],
    [{ sharedSecret: 'short' }, 'sharedSecret: '],
    // Seven bytes.
    [{ sharedSecret: 'whsec_AQIDBAUGBw==' }, 'sharedSecret: expected whsec_ and base64 of at least 8 bytes'],
    [{ unknown: 1 }, 'unknown: '],
  ])('is refused with the field named: %j', async (wrong, problem) => {
    await using w = await hookWorld();
    const made = await w.webhook();
    for (const [method, path] of [
      ['POST', base],
      ['PUT', `${base}/${made.id}`],
    ] as const) {
      const answer = await w.request(method, path, { body: { ...body, ...wrong } });
      expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
      expect(answer.body.errors.join()).toContain(problem);
      expect(answer.body.errors.join()).not.toMatch(/whsec_!|short/);
      expect(JSON.stringify(answer.body).length).toBeLessThan(2000);
    }
    expect((await w.request('GET', base)).body).toHaveLength(1);
  });

  it('says which events there are', async () => {
    await using w = await hookWorld();
    const answer = await w.request('POST', base, { body: { ...body, events: ['x'] } });
    for (const name of [...contract, 'asset.ready', 'task.failed', 'stream.health']) {
      expect(answer.body.errors.join()).toContain(name);
    }
  });

  it('names a stream of its own account, or none', async () => {
    await using w = await hookWorld();
    const { grant } = await w.given.broadcast(await w.given.stream());
    const other = await anotherAccount(w);
    const theirs = (await w.request('POST', '/api/stream', { key: other.key, body: { name: 'S' } })).body.id;
    for (const streamId of ['unknown', theirs, grant.sessionId]) {
      const answer = await w.request('POST', base, { body: { ...body, streamId } });
      expect([answer.status, answer.body.code]).toEqual([400, 'webhook.stream_unknown']);
    }
  });

  it('can be changed after its stream was deleted', async () => {
    await using w = await hookWorld();
    const stream = await w.given.stream();
    const made = await w.webhook({ streamId: stream.id });
    await w.request('DELETE', `/api/stream/${stream.id}`);
    const put = await w.request('PUT', `${base}/${made.id}`, { body: { ...made, name: 'N' } });
    expect([put.status, put.body.name]).toEqual([200, 'N']);
  });

  it('is one of as many as the account may have, however many are made at once', async () => {
    await using w = await hookWorld({ config: { maxPerAccount: 3 } });
    const answers = await Promise.all(Array.from({ length: 9 }, () => w.request('POST', base, { body })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    const refused = answers.find(({ status }) => status !== 201);
    expect([refused?.status, refused?.body.code]).toEqual([409, 'webhook.too_many']);
    const other = await anotherAccount(w);
    expect((await w.request('POST', base, { body, key: other.key })).status).toBe(201);
  });

  it('is not lost when two change it at one time', async () => {
    await using w = await hookWorld();
    const { id } = await w.webhook();
    const puts = await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        w.request('PUT', `${base}/${id}`, { body: { ...body, name: `N${n}` } }),
      ),
    );
    expect(puts.every(({ status }) => status === 200 || status === 409)).toBe(true);
  });

  it('never shows a secret, wherever one looks', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 500 }));
    const { id } = await w.webhook({ sharedSecret: secret });
    await w.emit('stream.started');
    await w.request('PUT', `${base}/${id}`, { body: { ...body, sharedSecret: 'plain-secret-text' } });
    await w.request('POST', `${base}/${id}/test`, { body: { event: 'stream.idle' } });
    const metrics = await (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
    const seen = [
      JSON.stringify((await w.request('GET', base)).body),
      JSON.stringify(await w.log(id)),
      ...[metrics, w.lines.join('\n')],
    ].join('\n');
    expect(seen).toContain('millrace_webhook_attempts_total{outcome="5xx"}');
    expect(seen).not.toMatch(/whsec_|plain-secret|webhook-signature|v1,/);
    expect(metrics).not.toMatch(new RegExp(`${id}|hooks\\.example`));
    expect(w.lines.join('\n')).not.toContain('hooks.example');
  });
});

describe('status', () => {
  it('is that of the newest attempts', async () => {
    await using w = await hookWorld();
    w.outbound.answer(url, () => ({ status: 500, body: new TextEncoder().encode('no') }));
    const { id } = await w.webhook();
    const status = async (of: HookWorld) => (await of.request('GET', `${base}/${id}`)).body.status;
    expect(await status(w)).toEqual({});
    const failedAt = w.now();
    await w.emit('stream.started');
    const lastFailure = { timestamp: failedAt, event: 'stream.started', statusCode: 500, response: 'no' };
    expect(await status(w)).toEqual({ lastTriggeredAt: failedAt, lastFailure });
    w.outbound.answer(url, () => ({}));
    await w.advance('1s');
    const at = w.now();
    await w.emit('stream.started', 'another');
    expect(await status(w)).toEqual({ lastTriggeredAt: at, lastFailure });
  });
});
