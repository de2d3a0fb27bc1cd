import { expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { put } from '../uploads/kit.ts';

const plugins = await allPlugins();
const profile = { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 };

/** A second account with these limits, and how it asks. */
async function limited(limits: object, options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins, ...options });
  const { id, key } = await anotherAccount(w);
  await w.request('PATCH', `/api/account/${id}`, { body: { limits } });
  const ask = (method: string, path: string, body?: object) => w.request(method, path, { key, body });
  const use = async (name: string) => (await ask('GET', '/api/account/usage')).body[name];
  return { w, ask, use };
}

it('what is encoded is counted by calendar months, also over a crash', async () => {
  const start = Date.UTC(2026, 0, 31, 23, 50);
  const { w, ask, use } = await limited({ encodingSeconds: 20 }, { start, durable: true });
  await using _ = w;
  const { url, asset } = (await ask('POST', '/api/asset/request-upload', { name: 'Friday' })).body;
  // A film of 8 s.
  expect((await put(w, url)).status).toBe(200);
  const transcode = () => ask('POST', `/api/asset/${asset.id}/transcode`, { profile });
  expect((await transcode()).status).toBe(201);
  expect((await transcode()).status).toBe(201);
  await w.crash({ downFor: '1s' });
  expect(await use('encodingSeconds')).toEqual({ used: 16, limit: 20 });
  const refused = await transcode();
  expect(refused).toMatchObject({ status: 409, body: { code: 'account.limit' } });
  expect(refused.body.errors[0]).toMatch(/^encodingSeconds: .*\b16\b.*\b20\b/);
  await w.advance('10m');
  expect(await use('encodingSeconds')).toEqual({ used: 0, limit: 20 });
  expect((await transcode()).status).toBe(201);
});

it('live renditions count one by one while they are made, and are not made when all is used up', async () => {
  const { w, ask, use } = await limited({ encodingSeconds: 50 });
  await using _ = w;
  const profiles = [profile, { ...profile, name: '360p', width: 640, height: 360 }];
  const { body: stream } = await ask('POST', '/api/stream', { name: 'One', profiles });
  const publish = await w.given.broadcast(stream);
  expect(publish.grant.profiles).toHaveLength(2);
  const renditions = profiles.map(({ name }) => ({ name, isListed: true }));
  w.transcoder.shows(stream.playbackId, { state: 'running', renditions, lag: 0 });
  await w.advance('20s');
  const { used } = await use('encodingSeconds');
  expect(used).toBeGreaterThan(34);
  expect(used).toBeLessThan(44);
  await w.advance('20s');
  publish.end({ clean: false });
  const again = await w.media.publish(stream.streamKey);
  expect([again.answer.granted, again.grant.profiles]).toEqual([true, undefined]);
  again.end({ clean: true });
  await w.advance('1m');
});

it('attempts at a host beyond the limit wait for the next minute, and others go on', async () => {
  const { w, ask, use } = await limited({ webhookAttempts: 2 });
  await using _ = w;
  const hook = (host: string) =>
    ask('POST', '/api/webhook', { name: 'W', url: `https://${host}/in`, events: ['asset.created'] });
  w.outbound.answer('https://', () => ({ status: 200 }));
  await hook('one.example.com');
  await hook('two.example.com');
  const sent = (host: string) => w.outbound.sent.filter(({ url }) => new URL(url).host === host).length;
  await ask('POST', '/api/asset/request-upload', { name: 'a' });
  await w.advance('1s');
  expect([sent('one.example.com'), sent('two.example.com')]).toEqual([1, 1]);
  for (const name of ['b', 'c', 'd']) await ask('POST', '/api/asset/request-upload', { name });
  await w.advance('5s');
  expect([sent('one.example.com'), sent('two.example.com')]).toEqual([2, 2]);
  expect(await use('webhookAttempts')).toEqual({ used: 2, limit: 2 });
  await w.advance('3m');
  expect([sent('one.example.com'), sent('two.example.com')]).toEqual([4, 4]);
  // The operator's own have no limit.
  expect((await w.request('GET', '/api/account/usage')).body.webhookAttempts.limit).toBe(null);
});
