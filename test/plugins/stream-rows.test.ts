import { expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const id = '6f1c1d52-5ad5-4c6e-9ad0-0b4f0d3ad1b8';
const none = '{"bytes":0,"segments":0,"duration":0}';
const past = '{"bytes":130,"segments":6,"duration":12.5}';
const fields = '"recordings":{"record":false},"multistream":{"multistream":{"targets":[]}}';
const settings = `"streamKey":"aaaa-bbbb-cccc-dddd","suspended":false,"playbackId":"0123456789abcdef"`;

/** The body of one stream as releases before this one wrote it. */
const former = {
  'with the keys in the order of what is shown at rest': (account: string) =>
    `{"id":"${id}","createdAt":1767225600500,"parentId":null,"isActive":false,"isHeld":false,"token":null,` +
    `"incarnation":null,"lastMediaAt":1767225700000,"past":${past},"current":${none},"sessionId":null,` +
    `"feeder":null,"nodes":["n"],"account":"${account}","name":"A","createdByTokenName":"bootstrap",${settings},` +
    `"fields":{${fields}},"userTags":{"a":1}}`,
  'before sessions named their nodes': (account: string) =>
    `{"id":"${id}","account":"${account}","name":"A","streamKey":"aaaa-bbbb-cccc-dddd",` +
    '"playbackId":"0123456789abcdef","createdAt":1767225600500,"createdByTokenName":"bootstrap",' +
    `"suspended":false,"holdSeconds":null,"userTags":{"a":1},"fields":{${fields}},"parentId":null,` +
    '"isActive":false,"isHeld":false,"token":null,"incarnation":null,"lastMediaAt":1767225700000,' +
    `"past":${past},"current":${none}}`,
};

const server = 'rtmp://localhost:1935/live';
const links = {
  ingestUrl: `${server}/aaaa-bbbb-cccc-dddd`,
  ingest: { url: server, key: 'aaaa-bbbb-cccc-dddd' },
  playbackUrl: 'http://localhost:8080/hls/0123456789abcdef/index.m3u8',
  watchUrl: 'http://localhost:8080/watch/0123456789abcdef',
};

it.each(Object.entries(former))('a row of a former release is shown: %s', async (_, body) => {
  await using w = await world({ plugins: await allPlugins() });
  const { userId: account } = (await w.request('POST', '/api/stream', { body: { name: 'B' } })).body;
  const key = { kind: 'stream', id, account, createdAt: 1767225600500, name: 'A', revision: 0 };
  const row = { ...key, body: body(account), indexes: { role: 'parent', playbackId: '0123456789abcdef' } };
  expect((await w.store.write({ at: w.now(), rows: [row], events: [] })).outcome).toBe('ok');
  const shown = {
    ...{ id, kind: 'stream', name: 'A', userId: account, createdAt: 1767225600 },
    createdAtMs: 1767225600500,
    ...links,
    ...{ createdByTokenName: 'bootstrap', streamKey: 'aaaa-bbbb-cccc-dddd', suspended: false },
    ...{ playbackId: '0123456789abcdef', userTags: { a: 1 }, isActive: false, issues: [] },
    ...{ lastSeen: 1767225700000, sourceBytes: 130, sourceSegments: 6, sourceSegmentsDuration: 12.5 },
    ...{ record: false, multistream: { targets: [] }, profiles: [] },
  };
  expect((await w.request('GET', `/api/stream/${id}`)).body).toEqual(shown);
  const listed = await w.request('GET', '/api/stream');
  expect(listed.body.find((one: { id: string }) => one.id === id)).toEqual(shown);
});

it('a stream shows its fields by the plugins of this start, whatever the last one had', async () => {
  const plugins = await allPlugins();
  await using w = await world({ plugins, durable: true });
  const profiles = [{ name: 'low', width: 320, height: 180, bitrate: 400_000, fps: 0 }];
  const target = (await w.request('POST', '/api/multistream/target', { body: { url: 'rtmp://a.example/b' } }))
    .body;
  const multistream = { targets: [{ id: target.id, profile: 'low' }] };
  const { id: own } = await w.given.stream({ profiles, multistream });
  const shown = async () => (await w.request('GET', `/api/stream/${own}`)).body;
  const before = await shown();
  expect(before).toMatchObject({ profiles, multistream, record: false, issues: [] });

  const but = (...without: string[]) => plugins.filter((plugin) => !without.includes(plugin.id));
  await w.crash({ downFor: '1s', plugins: but('renditions') });
  const { profiles: _, ...rest } = before;
  const unknown = `Multistream target ${target.id} wants the profile "low", which this stream no longer has. Choose another profile.`;
  expect(await shown()).toEqual({ ...rest, issues: [unknown] });
  await w.crash({ downFor: '1s', plugins: but('multistream') });
  expect(await shown()).not.toHaveProperty('multistream');
  await w.crash({ downFor: '1s' });
  expect(await shown()).toEqual(before);
});
