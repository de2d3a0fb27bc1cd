/** Broadcasts whose renditions cannot be made: they play as they came, and the stream says why. */
import { beforeAll, expect, test } from 'vitest';
import { readHls } from '../e2e/harness/ffmpeg.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import type { Clip } from '../kit/publisher/flv-file.ts';
import { onAir, renditionIssues } from './on-air.ts';
import { paintedClip } from './painted-clip.ts';
import { transcodersOf } from './transcoders.ts';
import { offered, offers } from './variants.ts';

let clip: Clip;
beforeAll(async () => {
  clip = await paintedClip({ width: 640, height: 360, seconds: 20 });
}, 60_000);

/** 426 × 240 at 30 pictures a second. */
const profiles = [{ name: '240p', width: 426, height: 240, bitrate: 500_000, fps: 0 }];
// 3.1 megapixels a second, with 1.7 for the source and 1 for its process 5.8: one fits into 7, two do not.

const anIssue = (server: Server, id: string) =>
  until(
    'an issue',
    async () => {
      const issues = await renditionIssues(server, id);
      return issues.length > 0 && issues;
    },
    { within: 20_000 },
  );

/** ffmpeg as a player, which has nothing to say. */
async function expectPlays(url: string): Promise<void> {
  const read = await readHls(url, { seconds: 4 });
  expect(read.errors).toEqual([]);
  expect(read.frames).toBeGreaterThan(90);
}

test.concurrent('a second broadcast beyond renditions.capacity plays as it came, and has renditions when the first ends', async () => {
  const env = { MILLRACE_RENDITIONS__CAPACITY: '7' };
  await using server = await startServer({ env });
  await using first = await onAir(server, { name: 'first', clip, profiles });
  await using second = await onAir(server, { name: 'second', clip, profiles, offered: ['source'] });
  const [issue] = await anIssue(server, second.stream.id);
  expect(issue).toMatch(/capacity/i);
  await expectPlays(second.url);
  expect(await offered(second.url)).toEqual(['source']);
  expect(await offered(first.url)).toEqual(['source', 'r1']);
  expect(await renditionIssues(server, first.stream.id)).toEqual([]);
  expect(transcodersOf(server)).toHaveLength(1);
  await first.encoder.stop({ clean: true });
  await offers(second.url, { names: ['source', 'r1'], within: 60_000 });
  await expectPlays(second.url.replace('index', 'r1'));
  await until('no issue', async () => (await renditionIssues(server, second.stream.id)).length === 0, {
    within: 20_000,
  });
});

test.concurrent('without ffmpeg everything else plays, and the stream says what is missing', async () => {
  await using server = await startServer({ env: { MILLRACE_FFMPEG__PATH: '/nowhere/ffmpeg' } });
  await using live = await onAir(server, { name: 'bare', clip, profiles, offered: ['source'] });
  const [issue] = await anIssue(server, live.stream.id);
  expect(issue).toMatch(/ffmpeg/);
  expect(issue).not.toContain('/nowhere');
  await expectPlays(live.url);
  expect(await offered(live.url)).toEqual(['source']);
  expect(server.output.match(/^.*there is no ffmpeg.*$/gm)).toHaveLength(1);
});

test.concurrent('of sound alone there are no renditions and no process', async () => {
  await using server = await startServer();
  const { videoHeader: _, ...rest } = clip;
  const sound = {
    ...rest,
    tags: clip.tags.filter(({ type }) => type === 'audio'),
    frames: 0,
    metadata: undefined,
  };
  await using live = await onAir(server, { name: 'sound', clip: sound, profiles, offered: ['source'] });
  await lasting(3000);
  const read = await readHls(live.url, { seconds: 4 });
  expect(read.errors).toEqual([]);
  expect(read.seconds).toBeGreaterThan(3.5);
  expect(transcodersOf(server)).toEqual([]);
});
