import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { given, keyFrame, origin, shipped } from './given.ts';
import { cuesOf } from './shown.ts';

describe('where one of streams and assets is off', () => {
  const without = (...off: string[]) => shipped.filter(({ id }) => !off.includes(id));

  it('broadcasts have their thumbnail all the same', async () => {
    const { w, ask } = await given({ plugins: without('assets', 'transcode', 'exports', 'recordings') });
    await using _ = w;
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    w.media.keyFrames.set(stream.playbackId, keyFrame('7'));
    const { thumbnailUrl } = (await w.request('GET', `/api/stream/${stream.id}`)).body;
    expect(await ask(thumbnailUrl.slice(origin.length))).toMatchObject({ status: 200 });
  });

  it('films have their pictures all the same', async () => {
    const off = ['streams', 'health', 'renditions', 'multistream', 'recordings'];
    const { w, ask, asset } = await given({ plugins: without(...off) });
    await using _ = w;
    const film = await asset();
    await film.ready();
    const { thumbnailUrl, storyboardUrl } = await film.shown();
    expect(await ask(thumbnailUrl.slice(origin.length))).toMatchObject({ status: 200 });
    expect(await ask(storyboardUrl.slice(origin.length))).toMatchObject({ status: 200 });
  });
});

describe('the thumbnail of a broadcast', () => {
  it('is told while it is on the air, of the stream and its session, and shows its newest key frame', async () => {
    const { w, ask } = await given();
    await using _ = w;
    const stream = await w.given.stream();
    expect(stream).not.toHaveProperty('thumbnailUrl');
    const path = `/hls/${stream.playbackId}/thumbnail.jpg`;
    expect([(await ask(path)).status, (await ask(path)).code]).toEqual([404, 'playback.not_live']);
    const publish = await w.given.broadcast(stream);
    w.media.keyFrames.set(stream.playbackId, keyFrame('7'));
    const shown = (await w.request('GET', `/api/stream/${stream.id}`)).body;
    const [session] = (await w.request('GET', `/api/stream/${stream.id}/sessions`)).body;
    expect([shown.thumbnailUrl, session.thumbnailUrl]).toEqual([`${origin}${path}`, `${origin}${path}`]);

    const answer = await ask(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=5');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.text).toContain(' 7');
    expect(w.stills.orders[0]).toMatchObject({ kind: 'live', freshFor: 5000 });
    const again = await ask(path, { 'if-none-match': answer.headers.get('etag') as string });
    expect([again.status, again.text]).toEqual([304, '']);

    w.media.keyFrames.set(stream.playbackId, 'none');
    expect(await ask(path)).toMatchObject({ status: 404, code: 'still.none' });
    publish.end({ clean: true });
    w.media.keyFrames.delete(stream.playbackId);
    await w.settle();
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).not.toHaveProperty('thumbnailUrl');
    expect((await ask(path)).code).toBe('playback.not_live');
  });

  it('is told whether it can be made or not; why it is not is an answer that pages can read', async () => {
    const { w, ask } = await given();
    await using _ = w;
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    w.media.keyFrames.set(stream.playbackId, keyFrame('1'));
    for (const [code, status, retryAfter] of [
      ['still.unavailable', 503, 60],
      ['still.busy', 503, 1],
      ['still.failed', 503, 5],
    ] as const) {
      w.stills.fault = new Fault(code, { status, message: 'No.', retryAfter });
      const { headers, ...answer } = await ask(`/hls/${stream.playbackId}/thumbnail.jpg`);
      expect(answer).toMatchObject({ status, code });
      expect([headers.get('retry-after'), headers.get('access-control-allow-origin')]).toEqual([
        `${retryAfter}`,
        '*',
      ]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toHaveProperty('thumbnailUrl');
  });
});

describe('pictures of an asset', () => {
  it('are told when it is ready and has any', async () => {
    const { w, asset } = await given();
    await using _ = w;
    const one = await asset();
    expect(await one.shown()).not.toHaveProperty('thumbnailUrl');
    await one.ready();
    const links = {
      thumbnailUrl: `${origin}${one.base}/thumbnail.jpg`,
      storyboardUrl: `${origin}${one.base}/storyboard.vtt`,
    };
    expect(await one.shown()).toMatchObject(links);
    expect((await w.request('GET', '/api/asset')).body[0]).toMatchObject(links);
    // What was read can be sent back.
    const changed = await w.request('PATCH', `/api/asset/${one.id}`, { body: await one.shown() });
    expect([changed.status, changed.body.thumbnailUrl]).toEqual([200, links.thumbnailUrl]);
    const sound = await asset();
    await sound.ready([]);
    expect(await sound.shown()).not.toHaveProperty('thumbnailUrl');
  });

  it('are of the segment that is shown at their time; beyond the end it is the last', async () => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready, film } = await asset();
    await ready();
    const pathOf = async (time: string) => {
      const { status } = await ask(`${base}/thumbnail.jpg${time}`);
      const order = w.stills.orders.at(-1);
      const media = await order?.open(new AbortController().signal);
      const [{ sources = [] } = {}] = media?.pictures ?? [];
      const opened = await sources[0].open(new AbortController().signal);
      const bytes = Buffer.from(
        await opened.read({ from: 0, to: opened.size }, new AbortController().signal),
      );
      const number = [0, 1, 2, 3, 4].find((one) =>
        bytes.equals(film.bytes.subarray(40 + one * 100, 130 + one * 100)),
      );
      return [status, number, Math.round((sources[0].at ?? 0) * 1000), sources[0].lead];
    };
    expect(await pathOf('?time=0')).toEqual([200, 0, 0, 'decoded']);
    expect(await pathOf('?time=1.9999')).toEqual([200, 0, 1999, 'decoded']);
    expect(await pathOf('?time=2')).toEqual([200, 1, 0, undefined]);
    expect(await pathOf('?time=7.25')).toEqual([200, 3, 1250, undefined]);
    for (const late of ['10', '10.1', '999999999999999'])
      expect(await pathOf(`?time=${late}`)).toEqual([200, 4, 2000, undefined]);
    expect(new Set(w.stills.orders.slice(-3).map(({ key }) => key)).size).toBe(1);
    expect(await pathOf('')).toEqual([200, 0, 1000, 'decoded']);
    // All moments have their few places together, and the picture of none its own.
    const [poster, ...moments] = w.stills.orders.map(({ of }) => of).reverse();
    expect(new Set(moments).size).toBe(1);
    expect(moments).not.toContain(poster);
    await ask(`${base}/storyboard.jpg`);
    const sheet = w.stills.orders.at(-1);
    expect([sheet?.kind, [poster, ...moments].includes(sheet?.of ?? '')]).toEqual(['storyboard', false]);
    for (const time of ['1e308', 'NaN', '-1', '', ' 1', '0x1', '1,5'])
      expect(await ask(`${base}/thumbnail.jpg?time=${encodeURIComponent(time)}`)).toMatchObject({
        ...{ status: 422, code: 'query.invalid' },
      });
  });

  it('on a storyboard: at most one for each segment, 50 of a film, 100 of a long one', async () => {
    for (const [segments, duration, pictures] of [
      [5, 2, 5],
      [300, 2, 50],
      [449, 2, 50],
      [450, 2, 100],
      [36_000, 2, 100],
    ]) {
      const { w, ask, asset } = await given({ segments, duration });
      await using _ = w;
      const { base, ready } = await asset();
      await ready();
      const { text, headers } = await ask(`${base}/storyboard.vtt`);
      expect(headers.get('content-type')).toBe('text/vtt; charset=utf-8');
      const cues = cuesOf(text);
      expect([segments, cues.length]).toEqual([segments, pictures]);
      expect([cues[0].from, cues.at(-1)?.to]).toEqual([0, segments * duration]);
      for (const [row, cue] of cues.entries()) {
        // Relative to the file, whatever address it was read at.
        expect(cue.sheet).toBe('storyboard.jpg');
        expect(cue.place).toEqual({
          x: (row % 10) * 160,
          y: Math.floor(row / 10) * 90,
          width: 160,
          height: 90,
        });
        if (row > 0) expect(cue.from).toBe(cues[row - 1].to);
      }
      expect(w.stills.orders[0]).toMatchObject({ kind: 'storyboard' });
    }
  });

  it('count to the network that asks and to the account of the film', async () => {
    const { w, asset } = await given();
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const account = (await w.store.resources.find('account', 'role', 'admin'))?.id;
    for (const file of ['thumbnail.jpg', 'thumbnail.jpg?time=3', 'storyboard.jpg']) {
      // As the server notes it (runtime/http/connection.ts).
      const request = Object.assign(new Request(`${origin}${base}/${file}`), { peer: '2001:db8:1:2:3::4' });
      await (await w.app.fetch(request)).bytes();
      expect(w.stills.orders.at(-1)).toMatchObject({ account, client: '2001:db8:1:2' });
      expect(w.stills.orders.at(-1)?.isOneOfMany ?? false).toBe(file.includes('time'));
    }
  });

  it('of a recording are found below its own address too, and are gone with it', async () => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready, id } = await asset('recording');
    await ready();
    const sheet = w.stills.orders.length;
    expect((await ask(`${base}/storyboard.jpg`)).status).toBe(200);
    const { store } = w.stills.orders[sheet];
    await store?.save(Buffer.from('a sheet'));
    const folder = `assets/${id}/pictures/`;
    expect((await w.blobs.list(folder, { limit: 10 })).blobs.length).toBe(1);
    expect(Buffer.from((await store?.load(new AbortController().signal)) ?? []).toString()).toBe('a sheet');
    // The sweeps leave it: it is of a film that is there.
    await w.advance('3h');
    expect((await w.blobs.list(folder, { limit: 10 })).blobs.length).toBe(1);
    await w.request('DELETE', `/api/asset/${id}`);
    await w.advance('1m');
    expect((await w.blobs.list(folder, { limit: 10 })).blobs.length).toBe(0);
    for (const file of ['thumbnail.jpg', 'storyboard.jpg', 'storyboard.vtt'])
      expect([file, (await ask(`${base}/${file}`)).code]).toEqual([file, 'asset.no_file']);
    const stranger = `/recordings/${uuid()}/thumbnail.jpg`;
    expect((await ask(stranger)).code).toBe('recording.not_found');
  });
});

it('switched off there are neither fields nor files, and nobody knows of them', async () => {
  const { w, ask, asset } = await given({ plugins: shipped.filter(({ id }) => id !== 'stills') });
  await using _ = w;
  const { base, ready, shown, id } = await asset();
  await ready();
  expect(await shown()).not.toHaveProperty('thumbnailUrl');
  expect((await ask(`${base}/thumbnail.jpg`)).code).toBe('asset.no_file');
  const patch = await w.request('PATCH', `/api/asset/${id}`, { body: { thumbnailUrl: 'x' } });
  expect([patch.status, patch.body.errors[0]]).toEqual([422, expect.stringContaining('thumbnailUrl')]);
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  w.media.keyFrames.set(stream.playbackId, keyFrame('1'));
  expect((await ask(`/hls/${stream.playbackId}/thumbnail.jpg`)).code).toBe('playback.not_live');
  expect((await w.request('GET', `/api/stream/${stream.id}`)).body).not.toHaveProperty('thumbnailUrl');
  expect(JSON.stringify(w.document)).not.toContain('humbnail');
});
