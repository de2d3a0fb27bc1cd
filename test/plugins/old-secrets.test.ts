import { expect, it } from 'vitest';
import { hmac } from '../../core/base/standard-webhook.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import multistream from '../../plugins/multistream/index.ts';
import { type HookWorld, hookWorld, url } from '../webhooks/kit.ts';

const secret = 'a-secret-of-an-older-version';
const pushUrl = 'rtmp://live.example.com/app/key-of-an-older-version';

it('reads secrets that an older version stored in plain text, and seals them at the next start', async () => {
  await using w = await hookWorld({ durable: true, plugins: [multistream] as unknown as Plugin[] });
  const { id } = await w.webhook({ sharedSecret: 'another-secret' });
  const target = (await w.request('POST', '/api/multistream/target', { body: { url: 'rtmp://a.example/x' } }))
    .body;
  const rowOf = async (kind: string, of: string) => {
    const row = await w.store.resources.get(kind, of);
    if (!row) throw new Error(`no row ${kind}/${of}`);
    return row;
  };
  const rewrite = async (kind: string, of: string, plain: object) => {
    const row = await rowOf(kind, of);
    const body = JSON.stringify({ ...JSON.parse(row.body), ...plain });
    const indexes: Record<string, string> = kind === 'webhook' ? { 'on stream.started': '*' } : {};
    await w.store.write({ at: w.now(), rows: [{ ...row, kind, indexes, body }], events: [] });
  };
  await rewrite('webhook', id, { secrets: [{ value: secret, until: null }] });
  await rewrite('multistream-target', target.id, { url: pushUrl });
  for (const kind of ['webhook', 'multistream-target']) {
    const mark = await rowOf('sealed', kind);
    const rows = [{ ...mark, kind: 'sealed', body: null, indexes: {} }];
    await w.store.write({ at: w.now(), rows, events: [] });
  }
  await w.request('POST', `/api/webhook/${id}/test`, { body: { event: 'stream.started' } });
  expectSigned(w);

  await w.crash({ downFor: '1s' });
  await w.settle();
  for (const [kind, of, text] of [
    ['webhook', id, secret],
    ['multistream-target', target.id, pushUrl],
  ]) {
    const { body } = await rowOf(kind, of);
    expect([kind, body.includes(text), body.includes('millrace:sealed:1:')]).toEqual([kind, false, true]);
  }
  // It still signs with the same secret.
  await w.request('POST', `/api/webhook/${id}/test`, { body: { event: 'stream.started' } });
  expectSigned(w);
});

it('sends nothing unsigned when a secret cannot be opened', async () => {
  await using w = await hookWorld();
  const { id } = await w.webhook({ sharedSecret: 'a-secret-of-this-webhook' });
  const other = await w.webhook({ sharedSecret: 'a-secret-of-another' });
  // A sealed text that was moved from another webhook.
  const [row, from] = await Promise.all([id, other.id].map((one) => w.store.resources.get('webhook', one)));
  if (!row || !from) throw new Error('no rows');
  const body = JSON.stringify({ ...JSON.parse(row.body), secrets: JSON.parse(from.body).secrets });
  const rows = [{ ...row, kind: 'webhook', indexes: { 'on stream.started': '*' }, body }];
  await w.store.write({ at: w.now(), rows, events: [] });
  const { body: entry } = await w.request('POST', `/api/webhook/${id}/test`, {
    body: { event: 'stream.started' },
  });
  expect(entry).toMatchObject({ success: false, error: expect.stringContaining('cannot be decrypted') });
  expect(w.sent()).toEqual([]);
  w.outbound.answer(url, async () => ({ status: 200 }));
  const fresh = { name: 'W', url, events: ['stream.started'], sharedSecret: 'a-fresh-secret-of-it' };
  expect((await w.request('PUT', `/api/webhook/${id}`, { body: fresh })).status).toBe(200);
  const again = await w.request('POST', `/api/webhook/${id}/test`, { body: { event: 'stream.started' } });
  expect(again.body.success).toBe(true);
});

function expectSigned(w: HookWorld) {
  const sent = w.sent().at(-1);
  const text = `${sent?.id}.${sent?.headers['webhook-timestamp']}.${sent?.text}`;
  expect(sent?.headers['webhook-signature']).toBe(`v1,${hmac(text, { secret, encoding: 'base64' })}`);
}
