import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { MediaRecorder, RecordingFeed } from '../../../runtime/media/recording/feed.ts';
import type { Trouble } from './bad-disk-child.ts';
import {
  Film,
  feedSegments,
  grantOf,
  noSignal,
  type Place,
  pause,
  place,
  segmentsIn,
  until,
} from './fixtures.ts';

const worker = new URL('./bad-disk-child.ts', import.meta.url);

it.each([
  ['ENOSPC', /The disk of the server is full/, 'full'],
  ['EIO', /does not take the recording \(EIO\)/, 'disk'],
])('a disk that says %s costs one recording a gap and the others nothing', async (code, issue, reason) => {
  using at = place();
  const recorder = await at.recorder({ worker, settings: { retry: 50 } });
  const [ill, well] = [feeding(recorder, 's0'), feeding(recorder, 's1')];
  for (const one of [ill, well]) feedSegments(one.feed, one.film, 2);
  // The last segment of each is not whole yet.
  await until(() => [ill, well].every(({ feed }) => feed.written.count === 1));
  trouble(at, { session: 's0', code });
  for (const one of [ill, well]) feedSegments(one.feed, one.film, 1);
  await until(() => ill.feed.issues.length > 0);
  expect(ill.feed.issues.join()).toMatch(issue);
  expect(feedSegments(ill.feed, ill.film, 1)).toEqual([]);
  await until(() => well.feed.written.count === 2);
  expect(well.feed.issues).toEqual([]);
  trouble(at, {});
  const after = await goOn(ill);
  expect(ill.feed.written.segment(2).isDiscontinuity).toBe(true);
  expect(await finish(recorder, { ...ill, at })).toMatchObject({
    gaps: 1,
    whole: expect.arrayContaining([0, 1, ...after]),
    missing: expect.arrayContaining([2]),
  });
  expect(await finish(recorder, { ...well, at })).toEqual({
    gaps: 0,
    whole: [0, 1, 2],
    begun: [],
    missing: [],
  });
  const { gaps, written, files, growing, bytes } = recorder.totals();
  const counted = Object.entries(gaps).filter(([, count]) => count > 0);
  expect([counted, files, growing]).toEqual([[[reason, 1]], 2, 0]);
  expect([bytes, written]).toEqual([expect.any(Number), bytes]);
  expect(bytes).toBeGreaterThan(0);
  await recorder.close();
});

it('a slow disk leaves parts out up to a key frame, and keeps nobody waiting', async () => {
  using at = place();
  const settings = { queue: 4 << 20, queuePerFile: 256 << 10 };
  const recorder = await at.recorder({ worker, settings });
  const [large, small] = [feeding(recorder, 's0'), feeding(recorder, 's1')];
  for (const one of [large, small]) feedSegments(one.feed, one.film, 1);
  await pause(100);
  trouble(at, { slow: 200 });
  const taken = feedSegments(large.feed, large.film, 8);
  // Room for ten parts of 20 KB and their pages, and for one that is being written.
  expect(taken.length).toBeGreaterThanOrEqual(8);
  expect(taken.length).toBeLessThan(16);
  expect(large.feed.issues.join()).toMatch(/too slow/);
  // There is room in all, and the other has had little of it.
  expect(feedSegments(small.feed, small.film, 1)).toHaveLength(4);
  expect(small.feed.issues).toEqual([]);
  trouble(at, {});
  const after = await goOn(large);
  expect(await finish(recorder, { ...large, at })).toMatchObject({
    gaps: 1,
    whole: expect.arrayContaining([0, 1, 2, ...after]),
    missing: expect.arrayContaining([5, 6, 7, 8]),
  });
  expect(recorder.totals().gaps).toMatchObject({ slow: 1, full: 0, disk: 0 });
  expect(await finish(recorder, { ...small, at })).toEqual({
    gaps: 0,
    whole: [0, 1],
    begun: [],
    missing: [],
  });
  await recorder.close();
});

it('leaves a reserve of the disk alone, and says so', async () => {
  using at = place();
  const recorder = await at.recorder({ settings: { reserve: Number.MAX_SAFE_INTEGER } });
  const { feed, film } = feeding(recorder, 's1');
  feedSegments(feed, film, 1);
  await until(() => feed.issues.length > 0);
  expect(feed.issues.join()).toMatch(/nearly full, so the recording of this broadcast has not begun/);
  expect(recorder.totals().gaps).toMatchObject({ low: 1, full: 0 });
  expect(await recorder.finish('s1', { signal: noSignal() })).toBeUndefined();
  await recorder.close();
});

it('goes on with another thread when the first ends, and says what is missing', async () => {
  using at = place();
  const recorder = await at.recorder({ worker, settings: { threadWait: 50 } });
  const one = feeding(recorder, 's1');
  const { feed, film } = one;
  feedSegments(feed, film, 2);
  await until(() => feed.written.count === 1);
  trouble(at, { crash: true });
  await until(() => {
    feedSegments(feed, film, 1);
    return feed.issues.length > 0;
  });
  expect(feed.issues.join()).toMatch(/restarted/);
  trouble(at, {});
  const after = await goOn(one);
  const made = await finish(recorder, { ...one, at });
  expect(made.whole).toEqual(expect.arrayContaining([0, ...after]));
  expect(made.missing).not.toEqual([]);
  expect(made.gaps).toBeGreaterThanOrEqual(1);
  await recorder.close();
});

it.each([
  [{ crash: true }, 'recording.unavailable'],
  [{ code: 'EIO' }, 'recording.unavailable'],
  [{ code: 'ENOSPC' }, 'recording.full'],
])('%o while a take is finished is the fault %s, and the next call finishes it', async (its, code) => {
  using at = place();
  const recorder = await at.recorder({ worker, settings: { threadWait: 50 } });
  const one = feeding(recorder, 's1');
  feedSegments(one.feed, one.film, 2);
  await until(() => one.feed.written.count === 1);
  trouble(at, its);
  await expect(recorder.finish('s1', { signal: noSignal() })).rejects.toMatchObject({ code });
  trouble(at, {});
  await pause(100);
  expect(await finish(recorder, { ...one, at })).toMatchObject({ whole: [0, 1] });
  await recorder.close();
});

interface Feeding {
  readonly sessionId: string;
  readonly film: Film;
  readonly feed: RecordingFeed;
}

function feeding(recorder: MediaRecorder, sessionId: string): Feeding {
  const film = new Film({ seed: sessionId.charCodeAt(1) });
  const feed = recorder.feed(grantOf(sessionId))!;
  feed.begin(film.init);
  return { sessionId, film, feed };
}

function trouble({ folder }: Place, its: Trouble): void {
  const flag = join(folder, '.trouble');
  if (Object.keys(its).length === 0) {
    rmSync(flag, { force: true });
    return;
  }
  // The recorder makes it with its first take, perhaps a moment later.
  mkdirSync(folder, { recursive: true });
  // As a whole: the other thread reads it meanwhile.
  writeFileSync(`${flag}.new`, JSON.stringify(its));
  renameSync(`${flag}.new`, flag);
}

/** Feeds until segments are in the file again; then two more, whose numbers it tells. */
async function goOn({ feed, film }: Feeding): Promise<number[]> {
  const before = feed.written.count;
  while (feed.written.count <= before + 1) {
    feedSegments(feed, film, 1);
    await pause(50);
  }
  const next = film.segments.length;
  expect(feedSegments(feed, film, 2)).toHaveLength(8);
  return [next, next + 1];
}

async function finish(recorder: MediaRecorder, { sessionId, feed, film, at }: Feeding & { at: Place }) {
  feed.end();
  const take = (await recorder.finish(sessionId, { signal: noSignal() }))!;
  const { whole, begun } = await segmentsIn(at.blobs, { take, film });
  const missing = film.segments.flatMap((_, number) =>
    whole.includes(number) || begun.includes(number) ? [] : [number],
  );
  return { gaps: take.gaps, whole, begun, missing };
}
