import { expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { Film, feedSegments, grantOf, noSignal, type Place, place, segmentsIn, until } from './fixtures.ts';

const mebibyte = 1_048_576;
const uploadPart = 5 * mebibyte;
const settings = { uploadPart, uploadWait: 20, uploadWaitMost: 100, queuePerFile: 48 * mebibyte };

it('a take goes to a remote store while it grows', async () => {
  using at = place();
  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const film = new Film({ partBytes: mebibyte });
  const feed = recorder.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  // 24 MiB: two extents are closed, 16 MiB and more.
  await until(() => store.sent.length === 3);
  expect(store.sent.toSorted()).toEqual([1, 2, 3]);
  feed.end();
  const take = await recorder.finish('s1', { signal: noSignal() });
  expect(await segmentsIn(at.blobs, { take: take!, film })).toEqual({ whole: [0, 1, 2, 3, 4, 5], begun: [] });
  expect(store.sent.toSorted()).toEqual([1, 2, 3, 4, 5]);
  // No second copy of it was made of the file; head and index are small.
  expect(store.adopted).toEqual(['head.mp4', 'index.bin']);
  await recorder.close();
});

it('what a former process sent is not sent again', async () => {
  using at = place();
  const film = new Film({ partBytes: mebibyte });
  const first = remote(at);
  const before = await at.recorder({ blobs: first.blobs, settings });
  const feed = before.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  await until(() => first.sent.length === 3);
  await before.close();

  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const again = recorder.feed(grantOf('s1'))!;
  again.begin(film.init);
  feedSegments(again, film, 3);
  await until(() => store.sent.length >= 2);
  const take = await recorder.finish('s1', { signal: noSignal() });
  expect(await segmentsIn(at.blobs, { take: take!, film })).toMatchObject({
    whole: [0, 1, 2, 3, 4, 5, 6, 7, 8],
  });
  expect(store.sent.toSorted()).toEqual([4, 5, 6, 7, 8]);
  await recorder.close();
});

it('a store that fails for a while delays the upload and nothing else', async () => {
  using at = place();
  const store = remote(at);
  store.fails = true;
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const film = new Film({ partBytes: mebibyte });
  const feed = recorder.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  await until(() => store.refused >= 3);
  expect(feed.issues).toEqual([]);
  feed.end();
  await expect(recorder.finish('s1', { signal: noSignal() })).rejects.toMatchObject({
    code: 'blobs.unavailable',
  });
  store.fails = false;
  const take = await recorder.finish('s1', { signal: noSignal() });
  expect(await segmentsIn(at.blobs, { take: take!, film })).toMatchObject({ whole: [0, 1, 2, 3, 4, 5] });
  expect(take?.gaps).toBe(0);
  await recorder.close();
});

it('an upload that the store has swept is begun again', async () => {
  using at = place();
  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const film = new Film({ partBytes: mebibyte });
  const feed = recorder.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  await until(() => store.sent.length === 3);
  const [upload] = await unfinished(at);
  await at.blobs.uploads.abort(upload!);
  const take = await recorder.finish('s1', { signal: noSignal() });
  expect(await segmentsIn(at.blobs, { take: take!, film })).toMatchObject({ whole: [0, 1, 2, 3, 4, 5] });
  expect(await unfinished(at)).toEqual([]);
  await recorder.close();
});

it('a completed upload is known again when its answer was lost', async () => {
  using at = place();
  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const film = new Film({ partBytes: mebibyte });
  const feed = recorder.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  store.losesCompletion = true;
  await expect(recorder.finish('s1', { signal: noSignal() })).rejects.toMatchObject({
    code: 'blobs.unavailable',
  });
  await recorder.close();

  const other = remote(at);
  const again = await at.recorder({ blobs: other.blobs, settings });
  const take = await again.finish('s1', { signal: noSignal() });
  expect(await segmentsIn(at.blobs, { take: take!, film })).toMatchObject({ whole: [0, 1, 2, 3, 4, 5] });
  expect(other.sent).toEqual([]);
  await again.close();
});

it('a take that is dropped leaves no upload behind', async () => {
  using at = place();
  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings });
  const film = new Film({ partBytes: mebibyte });
  const feed = recorder.feed(grantOf('s1'))!;
  feed.begin(film.init);
  feedSegments(feed, film, 6);
  await until(() => store.sent.length > 0);
  expect(await unfinished(at)).toHaveLength(1);
  await recorder.drop('s1');
  expect(await unfinished(at)).toEqual([]);
  expect(await recorder.files()).toEqual([]);
  expect(feedSegments(feed, film, 1)).toEqual([]);
  await recorder.close();
});

it('parts of all takes share the places', async () => {
  using at = place();
  const store = remote(at);
  const recorder = await at.recorder({ blobs: store.blobs, settings: { ...settings, uploads: 2 } });
  const films = [1, 2, 3].map((seed) => new Film({ partBytes: mebibyte, seed }));
  for (const [number, film] of films.entries()) {
    const feed = recorder.feed(grantOf(`s${number}`))!;
    feed.begin(film.init);
    feedSegments(feed, film, 3);
    await until(() => feed.written.count >= 2);
  }
  const takes = await Promise.all(
    films.map((_, number) => recorder.finish(`s${number}`, { signal: noSignal() })),
  );
  expect(store.mostAtOnce).toBe(2);
  for (const [number, film] of films.entries())
    expect(await segmentsIn(at.blobs, { take: takes[number]!, film })).toMatchObject({ whole: [0, 1, 2] });
  await recorder.close();
});

/** The directory as a store that is far away: what is adopted is copied, and it may fail. */
function remote({ blobs }: Place) {
  const store = {
    fails: false,
    losesCompletion: false,
    refused: 0,
    underWay: 0,
    mostAtOnce: 0,
    sent: [] as number[],
    adopted: [] as string[],
    blobs: undefined as never as Blobs,
  };
  const guard = () => {
    if (!store.fails) return;
    store.refused += 1;
    throw new Fault('blobs.unavailable', { status: 503, message: 'down' });
  };
  store.blobs = {
    ...blobs,
    adopting: 'copy',
    async adopt(key, file, options) {
      guard();
      store.adopted.push(key.slice(key.indexOf('.') + 1));
      return blobs.adopt(key, file, options);
    },
    async head(key) {
      guard();
      return blobs.head(key);
    },
    uploads: {
      ...blobs.uploads,
      async begin(key, options) {
        guard();
        return blobs.uploads.begin(key, options);
      },
      async parts(upload) {
        guard();
        return blobs.uploads.parts(upload);
      },
      async part(upload, part) {
        guard();
        store.underWay += 1;
        store.mostAtOnce = Math.max(store.mostAtOnce, store.underWay);
        // A store elsewhere takes its time.
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        const outcome = await blobs.uploads.part(upload, part);
        store.underWay -= 1;
        if (outcome === 'ok') store.sent.push(part.number);
        return outcome;
      },
      async complete(upload, options) {
        guard();
        const outcome = await blobs.uploads.complete(upload, options);
        store.fails = store.losesCompletion;
        guard();
        return outcome;
      },
    },
  };
  return store;
}

function unfinished({ blobs }: Place) {
  return blobs.uploads.unfinished({ before: Number.MAX_SAFE_INTEGER, limit: 10 });
}
