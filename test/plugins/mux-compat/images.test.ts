import { describe, expect, it } from 'vitest';
import { given, origin } from '../../stills/given.ts';
import { clientOf, plugins } from './kit.ts';

const base = '/mux';

async function filmed() {
  const { w, ask, asset } = await given({ plugins });
  const film = await asset();
  await film.ready();
  return { w, ask, ...film };
}
const tokenWith = (claims: object) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`;
};

describe('thumbnails and animations', () => {
  it('are redirected to those of the asset, in its terms', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const to = async (path: string) => {
      const { status, headers } = await ask(`${base}/${playbackId}/${path}`);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      return [status, headers.get('location')?.replace(`${origin}/asset/${playbackId}/`, '')];
    };
    // By default that in the middle of the film, which lasts 10 s.
    expect(await to('thumbnail.webp')).toEqual([302, 'thumbnail.webp?time=5']);
    expect(await to('thumbnail.jpg?time=2.5&width=320&height=180&fit_mode=preserve')).toEqual([
      ...[302, 'thumbnail.jpg?time=2.5&width=320&height=180'],
    ]);
    expect(await to('thumbnail.png?width=9999&height=1')).toEqual([
      ...[302, 'thumbnail.png?time=5&width=1920&height=16'],
    ]);
    expect(await to('animated.gif')).toEqual([302, 'animated.gif?start=0&end=5&fps=15']);
    expect(await to('animated.webp?start=2&end=30&fps=60&width=1000')).toEqual([
      ...[302, 'animated.webp?start=2&end=12&fps=30&width=640'],
    ]);
    for (const ending of ['jpg', 'png', 'webp'])
      expect(await to(`storyboard.${ending}`)).toEqual([302, 'storyboard.jpg']);
    // What it leads to is there.
    const { headers } = await ask(`${base}/${playbackId}/thumbnail.webp?time=3&width=320`);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    const picture = await ask(headers.get('location')?.slice(origin.length) ?? '');
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/webp']);
  });

  it('of a broadcast are its newest picture', async () => {
    const { w, ask } = await filmed();
    await using _ = w;
    const stream = await w.given.stream();
    const { status, headers } = await ask(`${base}/${stream.playbackId}/thumbnail.webp?time=3&latest=true`);
    expect([status, headers.get('location')]).toEqual([
      ...[302, `${origin}/hls/${stream.playbackId}/thumbnail.webp`],
    ]);
    for (const file of ['animated.gif', 'storyboard.vtt', 'storyboard.jpg'])
      expect(await ask(`${base}/${stream.playbackId}/${file}`)).toMatchObject({ status: 404 });
  });

  it('are found by every playback id of the asset, until it is deleted', async () => {
    const { w, ask, playbackId, id } = await filmed();
    await using _ = w;
    const mux = await clientOf(w);
    const ids = `/video/v1/assets/${id}/playback-ids`;
    const { data } = (await mux('POST', ids, { policy: 'public' })).body;
    const { headers } = await ask(`${base}/${data.id}/thumbnail.jpg?time=1`);
    expect(headers.get('location')).toBe(`${origin}/asset/${playbackId}/thumbnail.jpg?time=1`);
    const signed = (await mux('POST', ids, { policy: 'signed' })).body.data.id;
    const token = tokenWith({ sub: signed, aud: 't', time: 1 });
    const of = async (path: string) => (await ask(`${base}/${path}`)).status;
    expect([await of(`${signed}/thumbnail.jpg`), await of(`${signed}/storyboard.vtt`)]).toEqual([403, 403]);
    expect(await of(`${signed}/thumbnail.jpg?token=${token}`)).toBe(302);
    expect((await mux('DELETE', `${ids}/${data.id}`)).status).toBe(204);
    expect((await mux('DELETE', `${ids}/${playbackId}`)).status).toBe(204);
    await w.advance('11s');
    expect([await of(`${data.id}/thumbnail.jpg`), await of(`${playbackId}/thumbnail.jpg`)]).toEqual([
      404, 404,
    ]);
  });

  it('that are none are 404, and parameters that are none 422', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const names = [
      'thumbnail.gif',
      'animated.jpg',
      'storyboard.txt',
      'poster.jpg',
      'thumbnail',
      '__proto__.jpg',
    ];
    for (const path of [...names.map((name) => `${playbackId}/${name}`), 'nobody/thumbnail.jpg'])
      expect([path, (await ask(`${base}/${path}`)).status]).toEqual([path, 404]);
    for (const query of ['time=x', 'width=-1', 'height=1e9', 'time='])
      expect((await ask(`${base}/${playbackId}/thumbnail.jpg?${query}`)).status).toBe(422);
  });
});

it('errors have the form of Mux, and are readable by every page', async () => {
  const { w, ask } = await filmed();
  await using _ = w;
  const { status, headers, text } = await ask(`${base}/nobody/thumbnail.jpg`);
  expect([status, JSON.parse(text).error.type]).toEqual([404, 'not_found']);
  expect([headers.get('access-control-allow-origin'), headers.get('cache-control')]).toEqual([
    ...['*', 'no-store'],
  ]);
});

describe('storyboards', () => {
  it('as WebVTT name the sheet by its whole address', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const { status, headers, text } = await ask(`${base}/${playbackId}/storyboard.vtt?format=webp`);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/vtt; charset=utf-8']);
    const sheet = `${origin}${base}/${playbackId}/storyboard.jpg`;
    const own = await ask(`/asset/${playbackId}/storyboard.vtt`);
    expect(text).toBe(own.text.replaceAll('storyboard.jpg', sheet));
    expect(text.split(sheet)).toHaveLength(6);
    expect((await ask(sheet.slice(origin.length))).status).toBe(302);
    const again = { 'if-none-match': headers.get('etag') ?? '' };
    expect((await ask(`${base}/${playbackId}/storyboard.vtt`, again)).status).toBe(304);
  });

  it('as JSON say where each picture is', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const { text } = await ask(`${base}/${playbackId}/storyboard.json`);
    expect(JSON.parse(text)).toEqual({
      url: `${origin}${base}/${playbackId}/storyboard.jpg`,
      ...{ tile_width: 160, tile_height: 90, duration: 10 },
      tiles: [0, 1, 2, 3, 4].map((row) => ({ start: row * 2, x: row * 160, y: 0 })),
    });
  });
});

describe('signed pictures', () => {
  it('have their parameters in the token, which goes along', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const token = tokenWith({ sub: playbackId, aud: 't', time: 3, width: '320' });
    const { headers } = await ask(`${base}/${playbackId}/thumbnail.webp?time=9&height=5&token=${token}`);
    expect(headers.get('location')).toBe(
      `${origin}/asset/${playbackId}/thumbnail.webp?time=3&width=320&token=${token}`,
    );
    expect(headers.get('cache-control')).toBe('private, no-store');
    const board = tokenWith({ sub: playbackId, aud: 's' });
    const { text } = await ask(`${base}/${playbackId}/storyboard.vtt?token=${board}`);
    expect(text).toContain(`${base}/${playbackId}/storyboard.jpg?token=${board}#xywh=`);
  });

  it('need a token of their own kind', async () => {
    const { w, ask, playbackId } = await filmed();
    await using _ = w;
    const kinds = { 'thumbnail.jpg': 't', 'animated.gif': 'g', 'storyboard.vtt': 's', 'storyboard.jpg': 's' };
    for (const [file, right] of Object.entries(kinds))
      for (const aud of ['v', 't', 'g', 's', 'd']) {
        const { status } = await ask(`${base}/${playbackId}/${file}?token=${tokenWith({ aud })}`);
        const isRight = status === 200 || status === 302;
        expect([file, aud, isRight ? 'ok' : status]).toEqual([file, aud, aud === right ? 'ok' : 403]);
      }
  });

  it('are refused without a token, and shown with a token of a signing key', async () => {
    const { w, ask, playbackId, id } = await filmed();
    await using _ = w;
    await w.request('PATCH', `/api/asset/${id}`, { body: { playbackPolicy: { type: 'signed' } } });
    const vtt = `${base}/${playbackId}/storyboard.vtt`;
    expect((await ask(vtt)).status).toBe(403);
    expect((await ask(`${vtt}?token=${tokenWith({ sub: playbackId, aud: 's' })}`)).status).toBe(403);
    const { token } = (await w.request('GET', `/api/playback/${playbackId}/token`)).body;
    const shown = await ask(`${vtt}?token=${token}`);
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    expect(shown.text).toContain(`storyboard.jpg?${new URLSearchParams({ token })}#xywh=`);
    for (const file of ['thumbnail.webp', 'animated.gif', 'storyboard.jpg']) {
      const follow = async (query: string) => {
        const { status, headers } = await ask(`${base}/${playbackId}/${file}${query}`);
        return status === 302
          ? (await ask(headers.get('location')?.slice(origin.length) ?? '')).status
          : status;
      };
      expect([file, await follow(''), await follow(`?token=${token}`)]).toEqual([file, 403, 200]);
    }
  });
});
