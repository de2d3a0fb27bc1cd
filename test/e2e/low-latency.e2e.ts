import { expect, test } from 'vitest';
import { checkBroadcast } from './harness/check-broadcast.ts';
import { broadcast, type Source } from './harness/ffmpeg.ts';
import { startServer } from './harness/server.ts';
import { lasting } from './harness/wait.ts';

/** A stream on the air by ffmpeg, and whoever watches it as a low-latency player and checks all that it is given. */
async function onAir(options: { env?: Record<string, string>; source: Source }) {
  const server = await startServer({ env: options.env });
  const stream = await server.api.createStream({ name: 'checked' });
  const events = await server.openEvents();
  const started = events.expect('stream.started', { within: 20_000, streamId: stream.id });
  const dial = () => broadcast(server.ingestUrl(stream.streamKey), { source: options.source });
  const encoder = dial();
  await started;
  return { server, encoder, dial, url: server.playlistUrl(stream.playbackId) };
}

test.concurrent('30 s with a reconnect: every playlist, init, part and segment is to the letter', async () => {
  const { server, encoder, dial, url } = await onAir({ source: 'clip' });
  await using _server = server;
  await using _encoder = encoder;
  const checked = checkBroadcast(url, { seconds: 30 });
  // Whatever fails first is told, also while the encoder is away.
  const away = lasting(10_000).then(async () => {
    await encoder.kill();
    await lasting(2000);
    return dial();
  });
  const [seen] = await Promise.all([checked, away]);
  await using _second = await away;
  expect(seen.discontinuities).toBe(1);
  expect(seen.duration).toBeGreaterThan(20);
  expect(seen.frames).toBeGreaterThan(20 * 30);
  expect(seen.reloads).toBeGreaterThan(40);
  expect(seen.preloaded).toBeGreaterThan(10);
});

test.concurrent('a long window and short parts: delta updates carry the playlist on', async () => {
  const env = { MILLRACE_HLS__PART: '250ms', MILLRACE_HLS__WINDOW: '40s' };
  const { server, encoder, url } = await onAir({ source: 'encode', env });
  await using _server = server;
  await using _encoder = encoder;
  const seen = await checkBroadcast(url, { seconds: 45 });
  expect(seen.deltas).toBeGreaterThan(20);
  expect(seen.duration).toBeGreaterThan(38);
  expect(seen.discontinuities).toBe(0);
});
