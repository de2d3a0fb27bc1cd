import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { World } from '../../kit/world.ts';
import { api, studioWorld } from './kit.ts';

const url = 'https://hooks.example.com/in';
const hook = { name: 'W', url, events: ['stream.started', 'asset.created', 'task.spawned'] };
const sign = (text: string, secret: string) => createHmac('sha256', secret).update(text).digest('hex');
const sent = (w: World) =>
  w.outbound.sent.map(({ request }) => ({
    signature: request.headers?.['livepeer-signature'],
    text: String(request.body),
    body: JSON.parse(String(request.body)),
  }));

describe('webhooks in the form of Livepeer Studio', () => {
  it('sign the body alone, with each secret that counts, again in each attempt', async () => {
    await using w = await studioWorld();
    const given = { ...hook, sharedSecret: 'the first secret' };
    const { body: webhook } = await w.request('POST', `${api}/webhook`, { body: given });
    expect(webhook).not.toHaveProperty('sharedSecret');
    expect(webhook).not.toHaveProperty('format');
    w.outbound.answer(url, () => Promise.resolve({ status: 503 }));
    await w.given.broadcast(await w.given.stream());
    await w.advance('1m');
    const change = { body: { ...given, sharedSecret: 'the second secret', projectId: 'p' } };
    expect((await w.request('PUT', `${api}/webhook/${webhook.id}`, change)).status).toBe(200);
    w.outbound.answer(url, () => Promise.resolve({ status: 200 }));
    await w.advance('2h');
    const all = sent(w);
    const [first, last] = [all[0], all.at(-1)];
    expect(first?.signature).toBe(
      `t=${first?.body.timestamp - (first?.body.timestamp % 1000)},v1=${sign(first?.text ?? '', 'the first secret')}`,
    );
    expect(last?.text).toBe(first?.text);
    const [, ...both] = last?.signature?.split(',') ?? [];
    expect(both).toEqual([
      `v1=${sign(last?.text ?? '', 'the second secret')}`,
      `v1=${sign(last?.text ?? '', 'the first secret')}`,
    ]);
    const { body: log } = await w.request('GET', `${api}/webhook/${webhook.id}/log`);
    expect(log).toHaveLength(all.length);
    expect(JSON.stringify(log)).not.toContain('v1=');
  });

  it('have no signature without a secret, and objects as Studio has them', async () => {
    await using w = await studioWorld();
    await w.request('POST', `${api}/webhook`, { body: hook });
    const { body } = await w.request('POST', `${api}/asset/request-upload`, {
      body: { name: 'A', creatorId: 'user-7' },
    });
    await w.advance('1s');
    const events = sent(w);
    expect(events.map(({ signature }) => signature)).toEqual([undefined, undefined]);
    const of = (event: string) => events.find((one) => one.body.event === event)?.body.payload;
    expect(of('asset.created')).toMatchObject({
      id: body.asset.id,
      asset: {
        ...{ status: { phase: 'waiting' }, creatorId: { type: 'unverified', value: 'user-7' } },
      },
    });
    expect(of('task.spawned')).toMatchObject({ id: body.task.id, task: { type: 'upload' } });
  });

  it('are shown without events that Studio has not, and take none', async () => {
    await using w = await studioWorld();
    const events = ['stream.health', 'stream.idle'];
    await w.request('POST', '/api/webhook', { body: { ...hook, events } });
    const { body } = await w.request('GET', `${api}/webhook`);
    expect(body).toMatchObject([{ events: ['stream.idle'] }]);
    const refused = await w.request('POST', `${api}/webhook`, {
      body: { ...hook, events: ['playback.accessControl'] },
    });
    expect([refused.status, refused.body.errors[0]]).toEqual([422, expect.stringContaining('events')]);
    const gone = await w.request('DELETE', `${api}/webhook/${body[0].id}`);
    expect([gone.status, gone.body.id]).toEqual([200, body[0].id]);
  });
});
