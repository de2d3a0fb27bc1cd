import { describe, expect, it } from 'vitest';
import { definePlugin, offer, type Plugin, webhookFormats } from '../../sdk/plugin.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { ask, basic, hosts, plugins, secret, tinyWorld, url } from '../kit/dialect.ts';
import type { World } from '../kit/world.ts';

describe('webhooks of a dialect', () => {
  const hookOf = async (w: World, more: { account?: { key: string; id: string } } = {}) => {
    const { header: authorization } = await basic(w, more.account ? { accountId: more.account.id } : {});
    const answer = await ask(w, '/tiny/hooks', {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ url, secret }),
    });
    return { ...answer.body, authorization } as { id: string; authorization: string };
  };
  const broadcast = async (w: World) => {
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    return stream;
  };

  it('of a format are listed by the API with its name, and keep it when they are replaced', async () => {
    await using w = await tinyWorld();
    const { id, authorization } = await hookOf(w);
    const plain = { name: 'W', url, events: ['stream.started'] };
    const { body: other } = await w.request('POST', '/api/webhook', { body: plain });
    expect(other).not.toHaveProperty('format');
    const { body: shown } = await w.request('GET', `/api/webhook/${id}`);
    expect(shown).toMatchObject({ id, format: 'tiny' });
    const replaced = await w.request('PUT', `/api/webhook/${id}`, { body: { ...shown, name: 'New' } });
    expect(replaced.body).toMatchObject({ name: 'New', format: 'tiny' });
    // Nobody can choose one there.
    const chosen = await w.request('POST', '/api/webhook', { body: { ...plain, format: 'tiny' } });
    expect(chosen.body).not.toHaveProperty('format');
    const list = async () => (await ask(w, '/tiny/hooks', { headers: { authorization } })).body;
    expect((await list()).map((one: { id: string }) => one.id)).toEqual([id]);
    const remove = (of: string) =>
      ask(w, `/tiny/hooks/${of}`, { method: 'DELETE', headers: { authorization } });
    expect((await remove(id)).status).toBe(204);
    expect((await remove(id)).body.error.type).toBe('webhook.not_found');
    expect(await list()).toEqual([]);
  });

  it('are of one account, and as many as it may have', async () => {
    await using w = await tinyWorld({ config: { tiny: { hosts }, webhooks: { maxPerAccount: 1 } } });
    const { id } = await hookOf(w);
    const account = await anotherAccount(w);
    const { authorization } = await hookOf(w, { account });
    const foreign = await ask(w, `/tiny/hooks/${id}`, { method: 'DELETE', headers: { authorization } });
    expect(foreign.status).toBe(404);
    const more = await ask(w, '/tiny/hooks', {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ url, secret }),
    });
    expect([more.status, more.body.error.type]).toEqual([409, 'webhook.too_many']);
  });

  it('are retried, logged and sent again by the same machinery, signed anew', async () => {
    await using w = await tinyWorld();
    let status = 500;
    w.outbound.answer(url, () => ({ status }));
    const { id } = await hookOf(w);
    await broadcast(w);
    status = 200;
    await w.advance('10s');
    expect(w.outbound.sent).toHaveLength(2);
    const [first, second] = w.outbound.sent.map(({ request }) => request);
    expect(second?.body).toBe(first?.body);
    const signatures = [first, second].map((one) => one?.headers?.['tiny-signature']);
    expect(new Set(signatures).size).toBe(2);
    const { body: log } = await w.request('GET', `/api/webhook/${id}/log`);
    expect(log.map((one: { success: boolean }) => one.success)).toEqual([true, false]);
    expect(log[0].request).toMatchObject({
      headers: { 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1' },
      body: first?.body,
    });
    expect(JSON.stringify(log)).not.toContain('signature');
    const again = await w.request('POST', `/api/webhook/${id}/log/${log[1].id}/resend`);
    expect(again.body.success).toBe(true);
    expect(w.outbound.sent.at(-1)?.request.body).toBe(first?.body);
    expect(JSON.stringify([...w.lines, log, again])).not.toContain(secret);
  });

  it('send nothing for an event that the format has no words for', async () => {
    await using w = await tinyWorld();
    w.outbound.answer(url, () => ({}));
    const { id } = await hookOf(w);
    const test = (event: string) => w.request('POST', `/api/webhook/${id}/test`, { body: { event } });
    const unsaid = await test('recording.ready');
    expect([unsaid.status, unsaid.body.errors]).toEqual([
      422,
      ['event: the format tiny of this webhook says nothing about recording.ready'],
    ]);
    expect((await test('stream.idle')).body).toMatchObject({ success: true, event: 'stream.idle' });
    expect(JSON.parse(String(w.outbound.sent[0]?.request.body)).type).toBe('live.idle');
    const body = { name: 'R', record: true };
    const { body: stream } = await w.request('POST', '/api/stream', { body });
    await w.given.broadcast(stream);
    await w.advance('1m');
    const types = w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)).type);
    expect(types).toEqual(['live.idle', 'live.active']);
  });

  it('of a plugin that is off are kept, and delivered when it is on again', async () => {
    await using w = await tinyWorld({ durable: true });
    const { id } = await hookOf(w);
    const without = await allPlugins();
    await w.crash({ downFor: '1s', plugins: without });
    w.outbound.answer(url, () => ({}));
    await broadcast(w);
    await w.advance('1s');
    const { body: shown } = await w.request('GET', `/api/webhook/${id}`);
    expect(shown.status.lastFailure.error).toBe('The plugin with the webhook format "tiny" is off.');
    expect(w.outbound.sent).toEqual([]);
    await w.crash({ downFor: '1s', plugins });
    w.outbound.answer(url, () => ({}));
    await w.advance('10m');
    // The crash has ended the broadcast.
    expect(w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)).type)).toEqual([
      ...['live.active', 'live.idle'],
    ]);
  });

  it('of a format that fails are failures in the log, without what was thrown', async () => {
    let how: 'throws' | 'promise' | 'object' | 'headers' | 'late headers' | 'fine' = 'throws';
    const format = definePlugin({
      id: 'broken',
      contract: 3,
      summary: 'a format that fails',
      offers: [
        offer(webhookFormats, () => ({
          name: 'broken',
          body() {
            if (how === 'throws') throw new Error('with a secret-thing');
            if (how === 'promise') return Promise.resolve('text') as never;
            return how === 'object' ? ({ text: 'text' } as never) : 'text';
          },
          headers() {
            if (how === 'late headers') return Promise.resolve({ 'x-y': 'z' }) as never;
            return { 'content-type': 'text/plain', [how === 'headers' ? 'x y' : 'x-y']: 'z' };
          },
        })),
      ],
      needs: [],
    }) as unknown as Plugin;
    await using w = await tinyWorld({ plugins: [...plugins, format] });
    w.outbound.answer(url, () => ({}));
    const { id } = await hookOf(w);
    const row = await w.store.resources.get('webhook', id);
    const body = JSON.stringify({ ...JSON.parse(row?.body ?? '{}'), format: 'broken' });
    const indexes = { 'on stream.started': '*' };
    await w.store.write({
      at: w.now(),
      rows: [{ ...row!, kind: 'webhook', body, indexes, revision: row!.revision }],
      events: [],
    });
    await broadcast(w);
    const newest = async () => (await w.request('GET', `/api/webhook/${id}/log`)).body[0];
    const error = 'The webhook format "broken" failed. The log of the server has the details.';
    expect(await newest()).toMatchObject({ success: false, error });
    expect(JSON.stringify(await newest())).not.toContain('secret-thing');
    let attempt = 1;
    for (how of ['promise', 'object', 'headers', 'late headers'] as const) {
      attempt += 1;
      while ((await newest()).attempt < attempt) await w.advance('10s');
      expect(await newest()).toMatchObject({ attempt, success: false, error });
    }
    expect(w.outbound.sent).toEqual([]);
    how = 'fine';
    await w.advance('1h');
    expect(await newest()).toMatchObject({ success: true });
    expect(w.outbound.sent[0]?.request).toMatchObject({
      body: 'text',
      headers: { 'content-type': 'text/plain', 'x-y': 'z' },
    });
  });
});
