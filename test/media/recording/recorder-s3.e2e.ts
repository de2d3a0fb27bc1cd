import { afterAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import type { S3 } from '../../kit/engines/s3.ts';
import { engineFor } from '../../kit/engines.ts';
import { killWhileRecording } from './crash.ts';
import { clock, Film, feedSegments, grantOf, noSignal, pause, place, segmentsIn, until } from './fixtures.ts';

const server = await engineFor('s3');
const mebibyte = 1_048_576;
const settings = {
  uploadPart: 5 * mebibyte,
  uploadWait: 50,
  uploadWaitMost: 500,
  queuePerFile: 48 * mebibyte,
};

describe.skipIf(server.isMissing)('a recording in S3', () => {
  const opened: Blobs[] = [];
  afterAll(async () => {
    for (const one of opened) await one.close();
  });
  const optionsOf = ({ endpoint, bucket, region, accessKeyId, secretAccessKey }: S3) => ({
    ...{ endpoint, bucket, region, accessKeyId, secretAccessKey },
    limits: {
      attempts: 2,
      firstWait: 20,
      longestWait: 100,
      connectTimeout: 1000,
      smallTimeout: 3000,
      silence: 3000,
    },
  });
  const open = async (engine: S3): Promise<Blobs> => {
    const blobs = s3Blobs({ ...optionsOf(engine), clock });
    await blobs.open();
    opened.push(blobs);
    return blobs;
  };

  test('is there but for its end while it grows, and outlives an outage of the server', async () => {
    using at = place();
    const engine = await server.start();
    const blobs = await open(engine);
    const recorder = await at.recorder({ blobs, settings });
    const film = new Film({ partBytes: mebibyte });
    const feed = recorder.feed(grantOf('s1'))!;
    feed.begin(film.init);
    const parts = async () => {
      const [upload] = await blobs.uploads.unfinished({ before: Number.MAX_SAFE_INTEGER, limit: 10 });
      const its = upload && (await blobs.uploads.parts(upload));
      return Array.isArray(its) ? its.length : 0;
    };
    feedSegments(feed, film, 6);
    await until(async () => (await parts()) >= 2);
    await engine.kill();
    feedSegments(feed, film, 6);
    await until(() => feed.written.count === 11);
    await pause(500);
    expect(feed.issues).toEqual([]);
    // Nothing is lost when it is asked for too early.
    await expect(recorder.finish('s2', { signal: noSignal() })).resolves.toBeUndefined();
    await engine.restart();
    await until(async () => (await parts()) >= 7);
    feed.end();
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(take.gaps).toBe(0);
    expect(await segmentsIn(blobs, { take, film })).toEqual({
      whole: Array.from({ length: 12 }, (_, n) => n),
      begun: [],
    });
    expect(await blobs.uploads.unfinished({ before: Number.MAX_SAFE_INTEGER, limit: 10 })).toEqual([]);
    await recorder.close();
  });

  test('that could not be finished while the server was away is finished by the next call', async () => {
    using at = place();
    const engine = await server.start();
    const blobs = await open(engine);
    const recorder = await at.recorder({ blobs, settings });
    for (const [sessionId, segments] of [
      ['short', 1],
      ['long', 4],
    ] as const) {
      const film = new Film({ partBytes: mebibyte });
      const feed = recorder.feed(grantOf(sessionId))!;
      feed.begin(film.init);
      feedSegments(feed, film, segments);
      feed.end();
      await engine.kill();
      const failing = recorder.finish(sessionId, { signal: noSignal() });
      await expect(failing).rejects.toMatchObject({ code: 'blobs.unavailable', status: 503 });
      await engine.restart();
      const take = (await recorder.finish(sessionId, { signal: noSignal() }))!;
      const { whole } = await segmentsIn(blobs, { take, film });
      expect(whole).toHaveLength(segments);
      await recorder.drop(sessionId);
    }
    expect(await recorder.files()).toEqual([]);
    await recorder.close();
  });

  test('survives kill -9 of the recorder at any moment', async () => {
    const engine = await server.shared();
    const blobs = await open(engine);
    using at = place();
    const { killed } = await killWhileRecording(
      { ...at, blobs },
      {
        rounds: 6,
        config: { blobs: optionsOf(engine), settings },
        recorder: () => at.recorder({ blobs, settings }),
      },
    );
    expect(killed.takes + killed.finishing).toBeGreaterThan(0);
  });
});
