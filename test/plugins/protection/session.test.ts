import { describe, expect, it } from 'vitest';
import { revoke } from '../../../plugins/protection/revocations.ts';
import { tokenOf, vault, view, withToken } from './kit.ts';

/** The URIs of a playlist, from its own URL. */
function urisIn(text: string, from: string): string[] {
  const named = [...text.matchAll(/URI="([^"]+)"|^([^#\n].*)$/gm)].map(([, quoted, line]) => quoted ?? line);
  return named.map((uri) => {
    const { pathname, search } = new URL(uri, `http://localhost:8080${from}`);
    return pathname + search;
  });
}

type Vault = Awaited<ReturnType<typeof vault>>;

/** Follows the playlists of something as a player without headers does, and returns all URLs below the first. */
async function follow({ w }: Vault, url: string): Promise<string[]> {
  const first = await view(w, url);
  expect([url, first.status]).toEqual([url, 200]);
  const lists = urisIn(first.text, url);
  const files: string[] = [];
  for (const list of lists) {
    const { status, text, headers } = await view(w, list);
    expect([list, status]).toEqual([list, 200]);
    expect(headers.get('cache-control')).toMatch(/^private/);
    files.push(...urisIn(text, list));
  }
  expect(files.length).toBeGreaterThan(1);
  return [...lists, ...files];
}

const statusesOf = async ({ w }: Vault, urls: readonly string[]) =>
  Promise.all(urls.map(async (url) => (await view(w, url)).status));

const addressesOf = ({ stream, asset, sessionId }: Vault) => [
  [`/hls/${stream.playbackId}/index.m3u8`, stream.playbackId],
  [`/asset/${asset.playbackId}/index.m3u8`, asset.playbackId],
  [`/recordings/${sessionId}/index.m3u8`, stream.playbackId],
];

describe('a player that was let in', () => {
  it('gets everything by the URIs of its playlists alone, longer than its token lives, and not for ever', async () => {
    const v = await vault({ config: { protection: { session: '10m' } } });
    await using w = v.w;
    const let_in: string[] = [];
    for (const [url, sub] of addressesOf(v))
      let_in.push(...(await follow(v, withToken(url, tokenOf(v.key, { sub, exp: v.now + 60 })))));
    for (const minutes of [4, 5]) {
      await w.advance(`${minutes}m`);
      expect(new Set(await statusesOf(v, let_in))).toEqual(new Set([200]));
    }
    await w.advance('61s');
    expect(new Set(await statusesOf(v, let_in))).toEqual(new Set([403]));
  });

  it('has a pass that opens nothing else', async () => {
    const v = await vault();
    await using w = v.w;
    const [[live, sub]] = addressesOf(v);
    const [one] = await follow(
      v,
      withToken(live, tokenOf(v.key, { sub, exp: v.now + 60, aud: ['playback'] })),
    );
    const pass = new URL(one, 'http://x').searchParams.get('token') as string;
    expect(pass.length).toBeLessThan(100);
    const another = (
      await w.request('POST', '/api/stream', { body: { name: 'b', playbackPolicy: { type: 'signed' } } })
    ).body;
    const wrong = [
      ...addressesOf(v)
        .slice(1)
        .map(([url]) => url),
      `/hls/${another.playbackId}/index.m3u8`,
      `/hls/${sub}/thumbnail.jpg`,
    ];
    for (const url of wrong) expect([url, (await view(w, withToken(url, pass))).status]).toEqual([url, 403]);
    // Every bit of it counts.
    const bytes = Buffer.from(pass, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] ^= 1;
      expect([at, (await view(w, withToken(live, changed.toString('base64url')))).status]).toEqual([at, 403]);
    }
    expect((await view(w, withToken(live, `${pass}=`))).status).toBe(403);
  });

  it.each([
    ['its key is deleted', async ({ w, key }: Vault) => w.request('DELETE', `/api/signing-key/${key.id}`)],
    [
      'the policy is changed',
      async ({ w, stream, asset }: Vault) => {
        const body = { playbackPolicy: { type: 'signed', cidrs: ['203.0.113.0/24', '198.51.100.0/24'] } };
        await w.request('PATCH', `/api/asset/${asset.id}`, { body });
        return w.request('PATCH', `/api/stream/${stream.id}`, { body });
      },
    ],
    [
      'everybody is revoked',
      async ({ w, stream, asset }: Vault) => {
        await w.request('POST', `/api/playback/${asset.playbackId}/revoke`, { body: {} });
        return w.request('POST', `/api/playback/${stream.playbackId}/revoke`, { body: {} });
      },
    ],
  ])('is out within 5 s when %s', async (_name, end) => {
    const v = await vault();
    await using w = v.w;
    const let_in: string[] = [];
    for (const [url, sub] of addressesOf(v))
      let_in.push(...(await follow(v, withToken(url, tokenOf(v.key, { sub, exp: v.now + 60 })))));
    expect((await end(v)).status).toBe(204);
    // Watching goes on: what is remembered is asked for all the time.
    for (let second = 0; second < 5; second += 1) {
      await w.advance('1s');
      await statusesOf(v, let_in);
    }
    expect(new Set(await statusesOf(v, let_in))).toEqual(new Set([403]));
  });

  it('is out alone when it alone is revoked, and its token lets it in no more', async () => {
    const v = await vault();
    await using w = v.w;
    const [[url, sub]] = addressesOf(v);
    const tokens = ['ann', 'bob'].map((viewer) =>
      tokenOf(v.key, { sub, exp: v.now + 3600, iat: v.now, viewer }),
    );
    const [ann, bob] = [
      await follow(v, withToken(url, tokens[0])),
      await follow(v, withToken(url, tokens[1])),
    ];
    await w.advance('2s');
    const revoked = await w.request('POST', `/api/playback/${sub}/revoke`, { body: { viewer: 'ann' } });
    expect(revoked.status).toBe(204);
    await w.advance('5s');
    expect(new Set(await statusesOf(v, [...ann, withToken(url, tokens[0])]))).toEqual(new Set([403]));
    expect(new Set(await statusesOf(v, [...bob, withToken(url, tokens[1])]))).toEqual(new Set([200]));
    const later = Math.floor(w.now() / 1000);
    const anew = tokenOf(v.key, { sub, exp: later + 60, iat: later, viewer: 'ann' });
    expect((await view(w, withToken(url, anew))).status).toBe(200);
  });

  it('sees no variant above maxHeight, whatever it asks for', async () => {
    const v = await vault();
    await using w = v.w;
    const [[url, sub]] = addressesOf(v);
    const token = tokenOf(v.key, { sub, exp: v.now + 60, maxHeight: 720 });
    const { text } = await view(w, withToken(url, token));
    expect(text).not.toContain('source.m3u8');
    expect(text).toContain('r1.m3u8?token=');
    const pass = new URL(urisIn(text, url)[0], 'http://x').searchParams.get('token') as string;
    const base = `/hls/${sub}`;
    for (const [file, status] of [
      ['source.m3u8', 403],
      ['abcdef012345_seg7.mp4', 403],
      ['abcdef012345_dvr7.mp4', 403],
      ['abcdef012345_r1_seg7.mp4', 200],
      ['abcdef012345_init0.mp4', 200],
      ['r1.m3u8', 200],
    ] as const)
      expect([file, (await view(w, withToken(`${base}/${file}`, pass))).status]).toEqual([file, status]);
    expect((await view(w, withToken(`${base}/source.m3u8`, token))).status).toBe(403);
  });
});

it('nobody gets a pass that outlives a revocation which this node has not heard of yet', async () => {
  const v = await vault();
  await using w = v.w;
  const [, [url, sub]] = addressesOf(v);
  const token = tokenOf(v.key, { sub, exp: v.now + 3600, iat: v.now, viewer: 'ann' });
  expect((await view(w, withToken(url, token))).status).toBe(200);
  // As another node does it, whose clock is behind.
  const clock = { now: () => w.now() - 5000 };
  const write = async (commit: object) =>
    (await w.store.write({ ...commit, at: clock.now() } as never)).outcome === 'ok' ? 'ok' : 'conflict';
  const resources = { get: w.store.resources.get.bind(w.store.resources), write };
  await revoke({ name: sub, account: v.account, viewer: 'ann' }, { resources, clock } as never);
  const late = await follow(v, withToken(url, token));
  for (let second = 0; second < 5; second += 1) {
    await w.advance('1s');
    await statusesOf(v, late);
  }
  expect(new Set(await statusesOf(v, late))).toEqual(new Set([403]));
});

it('a token that does not say when it was made lets in again, but not one that was used before', async () => {
  const v = await vault();
  await using w = v.w;
  const [, [url, sub]] = addressesOf(v);
  const [used, unused] = [60, 61].map((seconds) => tokenOf(v.key, { sub, exp: v.now + seconds }));
  expect((await view(w, withToken(url, used))).status).toBe(200);
  await w.advance('1s');
  await w.request('POST', `/api/playback/${sub}/revoke`, { body: {} });
  await w.advance('3s');
  expect((await view(w, withToken(url, used))).status).toBe(403);
  expect((await view(w, withToken(url, unused))).status).toBe(200);
});

it('what was recorded stays private when its stream is deleted, and its asset asks the stream', async () => {
  const v = await vault();
  await using w = v.w;
  await w.request('PATCH', `/api/asset/${v.recording.id}`, { body: { playbackPolicy: null } });
  await w.advance('3s');
  const urls = [`/recordings/${v.sessionId}/index.m3u8`, `/asset/${v.recording.playbackId}/video`];
  expect(await statusesOf(v, urls)).toEqual([403, 403]);
  expect((await w.request('DELETE', `/api/stream/${v.stream.id}`)).status).toBe(204);
  await w.advance('10s');
  expect(await statusesOf(v, urls)).toEqual([403, 403]);
});

it('the owner watches no longer than its key lives', async () => {
  const v = await vault();
  await using w = v.w;
  const key = (await w.request('POST', '/api/api-token', { body: { name: 'short' } })).body;
  const sub = v.asset.playbackId;
  const { token } = (await w.request('GET', `/api/playback/${sub}/token`, { key: key.key })).body;
  const url = withToken(`/asset/${sub}/video`, token);
  expect((await view(w, url)).status).toBe(200);
  await w.request('DELETE', `/api/api-token/${key.id}`);
  await w.advance('3s');
  await view(w, url);
  await w.advance('1s');
  expect((await view(w, url)).status).toBe(403);
});

it('says of a wrong policy which field is wrong', async () => {
  const v = await vault();
  await using w = v.w;
  const set = async (playbackPolicy: unknown) =>
    (await w.request('PATCH', `/api/asset/${v.asset.id}`, { body: { playbackPolicy } })).body.errors;
  expect(await set({ type: 'signed', cidrs: 'all' })).toEqual([
    expect.stringMatching(/^playbackPolicy\.cidrs: expected/),
  ]);
  expect(await set({ type: 'secret' })).toEqual([expect.stringMatching(/^playbackPolicy\.type: expected/)]);
  expect(await set({ type: 'signed', origin: 'a' })).toEqual([
    expect.stringMatching(/^playbackPolicy\.origin: unknown field/),
  ]);
  expect(await set({ type: 'webhook' })).toEqual([expect.stringMatching(/^playbackPolicy\.webhookUrl: /)]);
  expect(await set(5)).toEqual([expect.stringMatching(/^playbackPolicy: expected/)]);
});

it('the owner watches with a token of its own, and says who may and why not', async () => {
  const v = await vault();
  await using w = v.w;
  const { stream, asset, key, now } = v;
  const { token } = (await w.request('GET', `/api/playback/${asset.playbackId}/token`)).body;
  expect(await follow(v, withToken(`/asset/${asset.playbackId}/index.m3u8`, token))).not.toEqual([]);
  const check = async (body: Record<string, unknown>, id = stream.playbackId) =>
    (await w.request('POST', `/api/playback/${id}/check`, { body })).body;
  expect(await check({})).toMatchObject({ allowed: false, rule: 'token.missing' });
  const sub = stream.playbackId;
  expect(await check({ token: tokenOf(key, { sub, exp: now + 60 }) })).toEqual({ allowed: true });
  expect(await check({ token: tokenOf(key, { sub, exp: now - 90 }) })).toMatchObject({
    rule: 'token.expired',
  });
  expect(
    await check({ token: tokenOf(key, { sub, exp: now + 60, cidrs: ['192.0.2.0/24'] }), ip: '198.51.100.1' }),
  ).toMatchObject({ allowed: false, rule: 'cidr' });
  expect((await w.request('POST', `/api/playback/${sub}/check`, { body: { ip: 'here' } })).status).toBe(422);
});

it('a cache may keep segments where the operator says so, and nothing else', async () => {
  const v = await vault({ config: { protection: { sharedMedia: true } } });
  await using w = v.w;
  const sub = v.asset.playbackId;
  const token = tokenOf(v.key, { sub, exp: v.now + 60 });
  const kept = async (file: string, given?: string) => {
    const { status, headers } = await view(w, withToken(`/asset/${sub}/${file}`, given));
    return [status, headers.get('cache-control')?.split(',')[0]];
  };
  expect(await kept('seg0.mp4', token)).toEqual([200, 'public']);
  expect(await kept('seg0.mp4')).toEqual([403, 'no-store']);
  for (const file of ['index.m3u8', 'source.m3u8', 'source.mp4', 'video', 'thumbnail.jpg'])
    expect([file, ...(await kept(file, token))]).toEqual([file, 200, 'private']);
});

it('changes of who may watch, and who made them, are in the audit log', async () => {
  const v = await vault();
  await using w = v.w;
  const { stream, asset, sessionId } = v;
  await w.request('PATCH', `/api/stream/${stream.id}`, { body: { name: 'New' } });
  await w.request('PATCH', `/api/stream/${stream.id}`, { body: { playbackPolicy: null } });
  await w.request('POST', `/api/playback/${stream.playbackId}/revoke`, { body: {} });
  const refused = await w.request('PATCH', `/api/stream/${sessionId}`, { body: { playbackPolicy: null } });
  expect(refused.status).toBe(400);
  const { body } = await w.request('GET', '/api/audit');
  const noted = (body as { action: string; target: string }[]).map(({ action, target }) => [action, target]);
  expect(noted.toSorted()).toEqual(
    [
      ['PATCH /api/asset/{id}', asset.id],
      ['PATCH /api/stream/{id}', stream.id],
      ['POST /api/playback/{id}/revoke', stream.playbackId],
      ['POST /api/signing-key', v.key.id],
    ].toSorted(),
  );
});
