import { expect, it } from 'vitest';
import { bootstrapKey } from '../../kit/world.ts';
import { tokenOf, vault, view, withToken } from './kit.ts';

// Every URL of something private, with every token that does not open it, and with the one that does.

type Vault = Awaited<ReturnType<typeof vault>>;

/** URLs by what they are, and what a token for them names. */
function urlsOf({ stream, sessionId, asset }: Vault): [url: string, what: string, sub: string][] {
  const live = stream.playbackId;
  const film = asset.playbackId;
  return [
    [`/hls/${live}/index.m3u8`, 'playback', live],
    [`/hls/${live}/index.m3u8?dvr=1`, 'playback', live],
    [`/hls/${live}/source.m3u8?_HLS_msn=3&_HLS_part=1`, 'playback', live],
    [`/hls/${live}/abcdef012345_part7.1.mp4`, 'playback', live],
    [`/hls/${live}/abcdef012345_init0.mp4`, 'playback', live],
    [`/hls/${live}/abcdef012345_dvr7.mp4`, 'playback', live],
    [`/hls/${live}/abcdef012345_t1_seg7.vtt`, 'playback', live],
    [`/hls/${live}/thumbnail.jpg`, 'image', live],
    [`/api/playback/${live}`, 'info', live],
    [`/api/playback/${sessionId}`, 'info', live],
    [`/oembed?url=http://localhost:8080/watch/${live}`, 'info', live],
    [`/asset/${film}/index.m3u8`, 'playback', film],
    [`/asset/${film}/source.m3u8`, 'playback', film],
    [`/asset/${film}/seg0.mp4`, 'playback', film],
    [`/asset/${film}/init0.mp4`, 'playback', film],
    [`/asset/${film}/source.mp4`, 'download', film],
    [`/asset/${film}/video`, 'download', film],
    [`/asset/${film}/thumbnail.jpg`, 'image', film],
    [`/asset/${film}/storyboard.jpg`, 'image', film],
    [`/asset/${film}/storyboard.vtt`, 'image', film],
    [`/api/playback/${film}`, 'info', film],
    [`/recordings/${sessionId}/index.m3u8`, 'playback', live],
    [`/recordings/${sessionId}/source.m3u8`, 'playback', live],
    [`/recordings/${sessionId}/seg0.mp4`, 'playback', live],
    [`/recordings/${sessionId}/source.mp4`, 'download', live],
    [`/recordings/${sessionId}/thumbnail.jpg`, 'image', live],
  ];
}

const statusOf = async ({ w }: Vault, url: string, token?: string) =>
  (await view(w, withToken(url, token), { origin: 'https://site.example' })).status;

it('opens to the token that names it, and to no other', async () => {
  const v = await vault();
  await using w = v.w;
  const { key, now, asset, stream, account } = v;
  const other = (await w.request('POST', '/api/signing-key', { body: {} })).body;
  const foreign = { ...other, id: key.id };
  const deleted = (await w.request('POST', '/api/signing-key', { body: { algorithm: 'RS256' } })).body;
  const exp = now + 3600;
  const tokens = (sub: string, what: string): Record<string, string | undefined> => ({
    'no token': undefined,
    'a word': 'letmein',
    'the key of the account': bootstrapKey,
    expired: tokenOf(key, { sub, exp: now - 61 }),
    'not yet': tokenOf(key, { sub, exp, nbf: now + 120 }),
    'no end': tokenOf(key, { sub }),
    'wrong key': tokenOf(foreign, { sub, exp }),
    'deleted key': tokenOf(deleted, { sub, exp }),
    'other id': tokenOf(key, { sub: sub === stream.playbackId ? asset.playbackId : stream.playbackId, exp }),
    'id of the account': tokenOf(key, { sub: account, exp }),
    ...(what !== 'info' && {
      'other audience': tokenOf(key, { sub, exp, aud: [what === 'image' ? 'download' : 'image'] }),
    }),
    'wrong origin': tokenOf(key, { sub, exp, origins: ['https://other.example'] }),
    'wrong address': tokenOf(key, { sub, exp, cidrs: ['198.51.100.0/24'] }),
    'wrong country': tokenOf(key, { sub, exp, countries: ['NZ'] }),
  });
  const right = (sub: string, what: string) => [
    tokenOf(key, { sub, exp }),
    tokenOf(key, { sub, exp, aud: 'playback' }),
    tokenOf(key, { sub, exp: now - 30, nbf: now + 30, aud: [what === 'info' ? 'image' : what] }),
    tokenOf(key, {
      sub,
      exp,
      origins: ['https://*.example', 'https://site.example'],
      cidrs: ['203.0.113.0/24'],
    }),
  ];
  expect((await w.request('DELETE', `/api/signing-key/${deleted.id}`)).status).toBe(204);
  for (const [url, what, sub] of urlsOf(v)) {
    for (const [name, token] of Object.entries(tokens(sub, what)))
      expect([url, name, await statusOf(v, url, token)]).toEqual([url, name, 403]);
    // What is broadcast here has no picture.
    const status = url.startsWith('/hls/') && what === 'image' ? 404 : 200;
    for (const token of right(sub, what))
      expect([url, what, await statusOf(v, url, token)]).toEqual([url, what, status]);
  }
});

it('is told to nobody but the owner', async () => {
  const v = await vault();
  await using w = v.w;
  const { key, now, asset, stream } = v;
  const expired = tokenOf(key, { sub: asset.playbackId, exp: now - 61 });
  const answers = await Promise.all(
    [undefined, expired].map((token) => view(w, withToken(`/asset/${asset.playbackId}/index.m3u8`, token))),
  );
  expect(answers[0].text).toBe(answers[1].text);
  expect(JSON.parse(answers[0].text)).toEqual({
    errors: ['You may not play this.'],
    code: 'playback.refused',
  });
  for (let times = 0; times < 5; times += 1) await view(w, `/hls/${stream.playbackId}/index.m3u8`);
  const told = (await w.events()).filter(({ event }) => event === 'playback.refused');
  expect(told.map(({ payload }) => [payload.kind, payload.playbackId, payload.rule])).toEqual([
    ['asset', asset.playbackId, 'token.missing'],
    ['asset', asset.playbackId, 'token.expired'],
    ['live', stream.playbackId, 'token.missing'],
  ]);
  await w.advance('61s');
  await view(w, `/hls/${stream.playbackId}/index.m3u8`);
  expect((await w.events()).filter(({ event }) => event === 'playback.refused')).toHaveLength(4);
});
