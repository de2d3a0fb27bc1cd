import { renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { engineFor } from '../kit/engines.ts';
import type { ServerEvent } from './harness/events.ts';
import { type Numbered, numbered, type Watching, watch } from './harness/numbered.ts';
import {
  type Asset,
  decode,
  download,
  expectEnd,
  expectWhole,
  listAssets,
  readSession,
} from './harness/recorded.ts';
import { hasSmallDisks, type Server, startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

const env = {
  MILLRACE_PLUGINS__STREAMS__HOLD: '2s',
  MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '3s',
};
/**
 * How long what fails is away, ms. By hand it is a minute:
 * `MILLRACE_TEST_OUTAGE=60 node_modules/.bin/bun scripts/test.ts e2e 1800 test/e2e/recording-faults.e2e.ts` (seconds).
 */
const outage = 1000 * Number(process.env.MILLRACE_TEST_OUTAGE ?? 20);
if (!(outage >= 20_000)) throw new Error('MILLRACE_TEST_OUTAGE is a number of seconds, 20 or more');
/** There are two of them at most. */
const within = (ms: number) => ms + 2 * (outage - 20_000);
const mebibyte = 1_048_576;

const canMount = hasSmallDisks();
if (!canMount) console.error('SKIPPED: tests of full disks: nobody may have name spaces on this machine');
const onSmallDisk = test.skipIf(!canMount);

onSmallDisk.concurrent(
  'a disk that is full up to the reserve costs a gap, is told and untold, and the database goes on',
  async () => {
    // 64 MiB more than the reserve must be free before it goes on.
    await using server = await startServer({
      env: { ...env, MILLRACE_RECORDING__RESERVE: '40' },
      disk: { folder: '', mebibytes: 256 },
    });
    await using on = await onAir(server);
    const filler = fill(server, { folder: '', leave: 39 * mebibyte });
    const sick = await untilIssue(on, /disk of the server is nearly full/);
    // What was acknowledged is kept, whatever recordings take of the disk.
    for (let n = 0; n < 20; n += 1) {
      const { id } = await server.api.createStream({ name: `on a full disk ${n}` });
      expect(await server.api.getStream(id)).toMatchObject({ name: `on a full disk ${n}` });
    }
    await lasting(outage);
    expect(free(server, '')).toBeGreaterThan(30 * mebibyte);
    rmSync(filler);
    await untilWell(on, { sick });
    await endsWithGap(on);
  },
  within(180_000),
);

onSmallDisk.concurrent(
  'a disk that is full to the last byte costs a gap and delays the end, and harms nobody',
  async () => {
    await using server = await startServer({
      env: { ...env, MILLRACE_RECORDING__RESERVE: '1' },
      disk: { folder: 'recordings', mebibytes: 128 },
    });
    await using on = await onAir(server);
    let filler = fill(server, { folder: 'recordings', leave: 0 });
    const sick = await untilIssue(on, /disk of the server is (nearly )?full/);
    await lasting(outage);
    rmSync(filler);
    await untilWell(on, { sick });
    filler = fill(server, { folder: 'recordings', leave: 0 });
    await on.viewer.moves({ within: 10_000 });
    await stop(on);
    await until('the session to say so', async () => /tried again/.test((await issuesOf(on)).join()), {
      within: 60_000,
    });
    expect((await readSession(server, on.session)).recordingStatus).toBe('waiting');
    rmSync(filler);
    // From the beginning up to the first time, and from there to the second.
    const { runs, session } = await finished(on);
    expect([runs.length, runs[0][0]]).toEqual([2, 0]);
    expect(session.issues?.join()).toMatch(/has gaps: (once|2 times)/);
  },
  within(180_000),
);

test.concurrent(
  'a folder of blobs that is away delays the recording and nothing else',
  async () => {
    await using server = await startServer({ env });
    await using on = await onAir(server);
    const folder = join(server.dataDir, 'blobs');
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, 'not a folder');
    await lasting(outage / 2);
    expect((await server.api.getStream(on.id)).issues).toEqual([]);
    await stop(on);
    await until('the session to say so', async () => /tried again/.test((await issuesOf(on)).join()), {
      within: 60_000,
    });
    await lasting(outage / 2);
    expect(await listAssets(server)).toMatchObject([{ status: 'waiting' }]);
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
    await endsWhole(on);
  },
  within(180_000),
);

const s3 = await engineFor('s3');
for (const how of ['freeze', 'kill'] as const) {
  test.skipIf(s3.isMissing).concurrent(
    `S3 that is away (${how}) for ${outage / 1000} s while recording and while finishing delays the recording and nothing else`,
    async () => {
      const engine = await s3.start();
      const { endpoint, bucket, region, accessKeyId, secretAccessKey } = engine;
      const own = { endpoint, bucket, region, accessKeyId, secretAccessKey };
      await using server = await startServer({ env: { ...env, MILLRACE_S3: JSON.stringify(own) } });
      // 2 MB/s, so that there are parts of 16 MiB to upload.
      await using on = await onAir(server, { padding: 60_000 });
      const back = () => (how === 'freeze' ? engine.thaw() : engine.restart());
      await engine[how]();
      await lasting(outage);
      expect((await server.api.getStream(on.id)).issues?.join()).not.toMatch(/record/);
      await back();
      await on.viewer.moves({ within: 10_000 });
      await engine[how]();
      await stop(on);
      await lasting(outage);
      expect((await readSession(server, on.session)).recordingStatus).toBe('waiting');
      await back();
      await endsWhole(on);
    },
    within(240_000),
  );
}

/** A recorded broadcast and its viewer. */
interface OnAir extends AsyncDisposable {
  readonly server: Server;
  readonly id: string;
  readonly session: string;
  readonly encoder: Numbered;
  readonly viewer: Watching;
  /** Whether it was told to be well, each time that was told. */
  told(): { isHealthy: boolean; issues: string[] }[];
  expectEvent(name: string): Promise<ServerEvent>;
}

async function onAir(server: Server, options: { padding?: number } = {}): Promise<OnAir> {
  const events = await server.openEvents();
  const { id, streamKey, playbackId } = await server.api.createStream({ name: 'recorded', record: true });
  const encoder = numbered(server.ingestUrl(streamKey), options);
  const viewer = await watch(server.playlistUrl(playbackId));
  await viewer.moves({ within: 20_000 });
  const [{ id: session }] = await server.api.listSessions(id);
  return {
    ...{ server, id, session, encoder, viewer },
    told: () =>
      events.seen
        .filter((one) => one.event === 'stream.health' && one.stream?.id === id)
        .map(({ payload }) => (payload as { health: { isHealthy: boolean; issues: string[] } }).health),
    expectEvent: (name) => events.expect(name, { within: 90_000, streamId: id }),
    async [Symbol.asyncDispose]() {
      await viewer[Symbol.asyncDispose]();
      await encoder[Symbol.asyncDispose]();
    },
  };
}

/** Both the stream and `stream.health` say what is missing. Answers how often that was told. */
async function untilIssue({ server, id, told }: OnAir, issue: RegExp): Promise<number> {
  const says = (issues: readonly string[] | undefined) => issues?.some((one) => issue.test(one)) === true;
  await until('an issue', async () => says((await server.api.getStream(id)).issues), { within: 20_000 });
  await until('its event', () => told().some(({ isHealthy, issues }) => !isHealthy && says(issues)), {
    within: 60_000,
  });
  return told().length;
}

async function untilWell({ server, id, told }: OnAir, { sick }: { sick: number }): Promise<void> {
  // They are kept for half a minute.
  await until('no issues', async () => (await server.api.getStream(id)).issues?.length === 0, {
    within: 60_000,
  });
  await until(
    'its event',
    () =>
      told()
        .slice(sick)
        .some(({ isHealthy }) => isHealthy),
    { within: 60_000 },
  );
}

/** Ends the broadcast, and what its viewer saw: all of it, without a seam. */
async function stop({ encoder, viewer, expectEvent }: OnAir): Promise<void> {
  await viewer.moves({ within: 10_000 });
  const seen = viewer.seen();
  const problems = [...viewer.problems];
  await viewer[Symbol.asyncDispose]();
  const waiting = expectEvent('recording.waiting');
  await encoder.stop();
  await waiting;
  expect(problems).toEqual([]);
  expect(encoder.ends).toEqual([]);
  expect(encoder.firsts).toEqual([0]);
  expect(seen).toBeGreaterThan(60);
}

async function finished({ server, session }: OnAir) {
  const asset = await until(
    'a recording that is ready',
    async () => (await listAssets(server)).find((one: Asset) => one.status === 'ready'),
    { within: within(90_000), every: 200 },
  );
  await until(
    'the session to say so',
    async () => (await readSession(server, session)).recordingStatus === 'ready',
    {
      within: 10_000,
    },
  );
  const made = await download(server, { id: session, asset });
  expect(await decode(made.session.mp4Url)).toEqual({ pictures: made.pictures, complaints: '' });
  return made;
}

async function endsWhole(on: OnAir): Promise<void> {
  const { runs, session } = await finished(on);
  expectWhole(runs, on.encoder);
  expect(session.issues).toEqual([]);
}

async function endsWithGap(on: OnAir): Promise<void> {
  await stop(on);
  const { runs, session } = await finished(on);
  expect([runs.length, runs[0][0]]).toEqual([2, 0]);
  expectEnd(runs[1][1], on.encoder);
  expect(session.issues?.join()).toMatch(/has gaps: once/);
}

async function issuesOf({ server, session }: OnAir): Promise<string[]> {
  return (await readSession(server, session)).issues ?? [];
}

function free({ dataDir }: Server, folder: string): number {
  const { bavail, bsize } = statfsSync(join(dataDir, folder));
  return bavail * bsize;
}

/** Fills the disk of a folder but for so many bytes, and answers with what. */
function fill(server: Server, { folder, leave }: { folder: string; leave: number }): string {
  const path = join(server.dataDir, folder, '.filler');
  const piece = new Uint8Array(mebibyte);
  try {
    while (free(server, folder) > leave) {
      const size = Math.min(mebibyte, free(server, folder) - leave);
      writeFileSync(path, piece.subarray(0, size), { flag: 'a' });
    }
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  }
  return path;
}
