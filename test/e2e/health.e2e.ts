import { expect, test } from 'vitest';
import { broadcast } from './harness/ffmpeg.ts';
import { type Server, startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

interface Point {
  time: number;
  fps: number;
  keyFrameInterval: number;
  isHealthy: boolean;
  issues: string[];
}

async function history(server: Server, id: string): Promise<Point[]> {
  const answer = await server.api.request('GET', `/api/stream/${id}/health`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Point[];
}

const shows = async (server: Server, options: { id: string; issue: string }) => {
  const { issues = [] } = await server.api.getStream(options.id);
  return issues.some((issue) => issue.startsWith(options.issue));
};
const isWell = async (server: Server, id: string) => {
  const { isHealthy, issues = [] } = await server.api.getStream(id);
  return isHealthy === true && issues.length === 0;
};

test('a key frame every 10 s is shown within 5 s of the one that did not come, and cleared by a better encoder', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'rare keys' });
  const started = events.expect('stream.started', { within: 15_000, streamId: stream.id });
  const sick = events.expect('stream.health', { within: 40_000, streamId: stream.id });
  const encoder = broadcast(server.ingestUrl(stream.streamKey), { source: 'rareKeys' });
  await started;
  await until('the issue', () => shows(server, { id: stream.id, issue: 'Key frames' }), { within: 30_000 });
  await sick;
  // By the server's own clock: 4 s without one, and 5 s more at most. A point says when it began.
  const points = await history(server, stream.id);
  const first = points.find(({ issues }) => issues.some((issue) => issue.startsWith('Key frames')));
  expect(first).toMatchObject({ isHealthy: false });
  expect((first?.time ?? 0) - points[0].time).toBeLessThanOrEqual(10_000);
  await encoder.kill();
  await using better = broadcast(server.ingestUrl(stream.streamKey));
  await until('its health', () => isWell(server, stream.id), { within: 40_000 });
  expect(better.isRunning, better.log).toBe(true);
});

test('an encoder that hangs is shown, and well again when it goes on; viewers are counted', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'hangs' });
  const started = events.expect('stream.started', { within: 15_000, streamId: stream.id });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey));
  await started;
  await until('its health', () => isWell(server, stream.id), { within: 30_000 });
  const playlist = server.playlistUrl(stream.playbackId).replace('index', 'source');
  const watch = (player: string) => fetch(playlist, { headers: { 'user-agent': player } });
  await until(
    'three viewers',
    async () => {
      for (const player of ['one', 'two', 'three']) await (await watch(player)).text();
      return (await server.api.getStream(stream.id)).viewerCount === 3;
    },
    { within: 15_000, every: 500 },
  );
  const sick = events.expect('stream.health', { within: 20_000, streamId: stream.id });
  encoder.freeze();
  await until('the issue', () => shows(server, { id: stream.id, issue: 'No media arrives' }), {
    within: 9000,
  });
  await lasting(1000);
  encoder.thaw();
  await sick;
  await until('its health', () => isWell(server, stream.id), { within: 60_000 });
  const points = await history(server, stream.id);
  expect(points.at(-1)?.fps).toBeGreaterThan(20);
  expect(points.some(({ isHealthy }) => !isHealthy)).toBe(true);
  expect(points[0].keyFrameInterval).toBeLessThan(4);
  expect(encoder.isRunning, encoder.log).toBe(true);
});
