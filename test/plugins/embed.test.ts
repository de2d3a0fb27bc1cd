import { expect, it } from 'vitest';
// @ts-expect-error: the player's own script, which has no types.
import { placeOf } from '../../plugins/watch/page/dvr.js';
// @ts-expect-error: the same.
import { offerQualities } from '../../plugins/watch/page/embed/qualities.js';
import { definePlugin, offer, type Plugin, playbackAliases } from '../../sdk/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';
import { put } from './uploads/kit.ts';

const plugins = await allPlugins();
const base = 'http://localhost:8080';
const hostile = `"><script>alert('1')</script>&amp;`;

const get = async (w: World, path: string, headers: Record<string, string> = {}) => {
  const answer = await w.app.handle(new Request(`${base}${path}`, { headers }));
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};
const ask = (w: World, url: string, more = '') =>
  w.request('GET', `/oembed?url=${encodeURIComponent(url)}${more}`, { key: null });
/** Values of the tags that other sites read, by name. */
const tagsIn = (page: string) =>
  Object.fromEntries(
    [...page.matchAll(/<meta (?:name|property)="((?:og|twitter):[^"]+)" content="([^"]*)" \/>/g)].map(
      ([, name, value]) => [name, value],
    ),
  );

async function asset(w: World) {
  const { body } = await w.request('POST', '/api/asset/request-upload', { body: { name: hostile } });
  return (await put(w, body.url)).body;
}

it('serves the player with all that it needs, to frames of every origin', async () => {
  await using w = await world({ plugins });
  const { status, headers, text } = await get(
    w,
    `/embed/6pukxh2m0ydr9h3q?color=${encodeURIComponent(hostile)}`,
  );
  expect([status, headers.get('x-frame-options')]).toEqual([200, null]);
  expect(text).not.toContain('alert');
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(policy).toContain('frame-ancestors *');
  // Each script that a page names or imports is there.
  const seen = new Set<string>();
  const follow = async (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const file = await get(w, path);
    expect([path, file.status, file.headers.get('access-control-allow-origin')]).toEqual([path, 200, '*']);
    if (!path.endsWith('.js') || /hls|media-chrome/.test(path)) return;
    for (const [, name = ''] of file.text.matchAll(/from '([^']+)'/g))
      await follow(new URL(name, `${base}${path}`).pathname);
  };
  for (const page of [text, (await get(w, '/watch/6pukxh2m0ydr9h3q')).text])
    for (const [, path = ''] of page.matchAll(/(?:src|href)="(\/[^"]+)"/g)) await follow(path);
  await follow('/embed/player.js');
  expect(seen.size).toBeGreaterThan(14);
});

it('shows pictures where they are made', async () => {
  await using w = await world({ plugins });
  expect((await get(w, '/embed/x')).text).toContain('<html data-stills');
  await using other = await world({ plugins: plugins.filter(({ id }) => id !== 'stills') });
  expect((await get(other, '/embed/x')).text).not.toContain('data-stills');
});

it('tells other sites of a video in the watch page, and of nothing else', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream({ name: hostile });
  const page = `${base}/watch/${stream.playbackId}`;
  const upcoming = await get(w, `/watch/${stream.playbackId}`);
  expect(upcoming.text).toContain(
    `<link rel="alternate" type="application/json+oembed" href="${base}/oembed?url=${encodeURIComponent(page)}&#38;format=json"`,
  );
  expect(tagsIn(upcoming.text)).toMatchObject({
    ...{ 'og:title': 'Live broadcast', 'og:url': page, 'twitter:card': 'player' },
    'og:video': `${base}/embed/${stream.playbackId}`,
  });
  expect(tagsIn(upcoming.text)).not.toHaveProperty('og:image');
  await w.given.broadcast(stream);
  const live = tagsIn((await get(w, `/watch/${stream.playbackId}`)).text);
  expect(live['og:image']).toBe(`${base}/hls/${stream.playbackId}/thumbnail.jpg`);
  const { playbackId } = await asset(w);
  const shown = await get(w, `/watch/${playbackId}`);
  expect(tagsIn(shown.text)).toMatchObject({
    ...{ 'og:title': 'Video', 'og:image': `${base}/asset/${playbackId}/thumbnail.jpg` },
  });
  // Names are for the owner.
  expect(upcoming.text + shown.text).not.toContain('alert');
  const unknown = await get(w, '/watch/0123456789abcdef');
  expect([unknown.status, tagsIn(unknown.text)]).toEqual([200, {}]);
});

it('escapes what a plugin or a client made up', async () => {
  let known: string | undefined;
  const aliases = definePlugin({
    id: 'acme-names',
    contract: 3,
    summary: 'has names with everything in them',
    offers: [
      offer(playbackAliases, () => ({ find: async (name) => (name === hostile ? known : undefined) })),
    ],
  }) as unknown as Plugin;
  await using w = await world({ plugins: [...plugins, aliases] });
  known = (await w.given.stream()).playbackId;
  const path = encodeURIComponent(hostile);
  for (const host of ['localhost:8080', hostile, 'a"b']) {
    const { text } = await get(w, `/watch/${path}`, { host });
    expect(tagsIn(text)['og:title']).toBe('Live broadcast');
    expect(text).not.toContain('<script>');
    expect(text).not.toContain("alert('");
  }
  const { status, body } = await ask(w, `${base}/watch/${path}`);
  expect([status, body.html.match(/[<>]/g)?.length]).toEqual([200, 4]);
  expect(body.html).toContain(
    `src="${base}/embed/%22%3E%3Cscript%3Ealert(&#39;1&#39;)%3C%2Fscript%3E%26amp%3B"`,
  );
});

it('answers oEmbed for its own pages, as large as is asked for', async () => {
  await using w = await world({ plugins });
  const { playbackId } = await asset(w);
  const player = `${base}/embed/${playbackId}`;
  for (const page of [
    `${base}/watch/${playbackId}`,
    player,
    `${player}/`,
    player.replace('http:', 'https:'),
  ]) {
    const { status, body, headers } = await ask(w, page);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(body).toEqual({
      ...{ version: '1.0', type: 'video', title: 'Video', provider_name: 'Millrace', provider_url: base },
      ...{ width: 640, height: 360 },
      html: `<iframe src="${player}" width="640" height="360" title="Video" frameborder="0" allow="autoplay; fullscreen; picture-in-picture" allowfullscreen></iframe>`,
    });
  }
  const sizes: readonly (readonly [string, number, number])[] = [
    ['&maxwidth=320', 320, 180],
    ['&maxheight=90&maxwidth=9999', 160, 90],
    ['&maxwidth=1', 1, 1],
    ['&format=json&maxheight=2000', 640, 360],
  ];
  for (const [query, width, height] of sizes)
    expect((await ask(w, player, query)).body, query).toMatchObject({ width, height });
  const wished = await ask(w, `${player}?start=12.5&color=f80&muted=1&autoplay=yes&token=secret&x=1`);
  expect(wished.body.html).toContain(`src="${player}?muted=1&#38;start=12.5&#38;color=f80"`);
  const made = await ask(w, `${player}?color=${encodeURIComponent(hostile)}&start=1e9`);
  expect(made.body.html).toContain(`src="${player}"`);
});

it('has no oEmbed of what is not here, or is asked for wrongly', async () => {
  await using w = await world({ plugins });
  const { playbackId } = await asset(w);
  const page = `${base}/watch/${playbackId}`;
  for (const url of [
    ...['https://video.example.com/watch/a', `${base}/`, `${base}/hls/${playbackId}`, `${base}/watch/`],
    ...[
      `${page}/x`,
      `${base}/watch/0123456789abcdef`,
      `${base}/watch/%ff`,
      'javascript:alert(1)',
      'watch',
      '',
    ],
    ...[`${base}/watch/${'a'.repeat(3000)}`, `http://localhost:8080@example.com/watch/${playbackId}`],
  ]) {
    const { status, body, headers } = await ask(w, url);
    expect([url, status, body.code]).toEqual([url, 404, 'oembed.not_found']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
  }
  const { body: waiting } = await w.request('POST', '/api/asset/request-upload', { body: { name: 'A' } });
  const unready = await ask(w, `${base}/watch/${waiting.asset.playbackId}`);
  expect([unready.status, unready.body.code]).toEqual([404, 'oembed.not_found']);
  expect(await ask(w, page, '&format=xml')).toMatchObject({
    ...{ status: 501, body: { code: 'oembed.format_unsupported' } },
  });
  for (const query of ['&maxwidth=0', '&maxheight=-1', '&maxwidth=1e3', '&maxwidth=100000'])
    expect(await ask(w, page, query), query).toMatchObject({ status: 422, body: { code: 'query.invalid' } });
  expect((await w.request('GET', '/oembed', { key: null })).status).toBe(422);
});

it('tells nobody of what a plugin refuses', async () => {
  const gate = definePlugin({
    id: 'gate',
    contract: 3,
    summary: 'lets nobody watch',
    decides: { play: () => ({ refuse: 'Not today.' }) },
  }) as unknown as Plugin;
  await using w = await world({ plugins: [...plugins, gate] });
  const { playbackId } = await w.given.stream();
  expect(tagsIn((await get(w, `/watch/${playbackId}`)).text)).toEqual({});
  expect(await ask(w, `${base}/watch/${playbackId}`)).toMatchObject({
    ...{ status: 403, body: { code: 'playback.refused' } },
  });
});

it('finds a moment of a broadcast by the segments, over a break', () => {
  const fragments = [
    { start: 0, duration: 2, programDateTime: 1000 },
    { start: 2, duration: 2, programDateTime: 3000 },
    { start: 4, duration: 2, programDateTime: 63_000 },
  ];
  expect(placeOf(500, fragments)).toBe(0);
  expect(placeOf(3500, fragments)).toBe(2.5);
  // Nothing was sent then: the end of what was.
  expect(placeOf(40_000, fragments)).toBeCloseTo(3.9);
  expect(placeOf(64_000, fragments)).toBe(5);
  expect(placeOf(1, [])).toBeUndefined();
});

type Renditions = EventTarget & Iterable<unknown> & { selectedIndex: number };

it('offers the levels of hls.js as a list of qualities', () => {
  const video = new EventTarget() as EventTarget & { videoRenditions: Renditions };
  const hls = {
    levels: [
      { width: 640, height: 360, bitrate: 5e5 },
      { width: 1280, height: 720, bitrate: 2e6 },
    ],
    nextLevel: -1,
    get autoLevelEnabled() {
      return this.nextLevel === -1;
    },
  };
  offerQualities({ video, playback: { hls }, Hls: class {} });
  const list = video.videoRenditions;
  let changes = 0;
  list.addEventListener('addrendition', () => (changes += 1));
  for (const _ of [1, 2]) video.dispatchEvent(new Event('playing'));
  expect(changes).toBe(1);
  expect([...list]).toEqual([
    { id: '0', width: 640, height: 360, bitrate: 5e5 },
    { id: '1', width: 1280, height: 720, bitrate: 2e6 },
  ]);
  expect(list.selectedIndex).toBe(-1);
  list.selectedIndex = 1;
  expect([hls.nextLevel, list.selectedIndex]).toEqual([1, 1]);
});
