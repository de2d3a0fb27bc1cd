/** One address, or a crowd of them, that takes all of a server: what belongs to others stays there. */
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ffmpeg } from './harness/encoders.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { root, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A broadcast by ffmpeg. */
const onAir = (url: string) =>
  ffmpeg('-re', '-stream_loop', '-1', '-i', `${root}/demo/clip.flv`, '-c', 'copy', '-f', 'flv', url);

/** A connection from this address that has sent these bytes. */
function begun(url: string, { from, text }: { from: string; text: string }): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.once('close', () => resolve(socket));
    socket.write(text, () => resolve(socket));
  });
}

test('600 unfinished requests at 400 descriptors leave RTMP and health alive', async () => {
  const limited = ['sh', '-c', 'ulimit -n 400 && exec "$0" "$@"', process.execPath, 'runtime/main.ts'];
  await using server = await startServer({ program: { command: limited, cwd: root } });
  const { streamKey, playbackId } = await server.api.createStream({ name: 'beside' });
  const head = 'GET /api/stream HTTP/1.1\r\nHost: a\r\n';
  const unfinished = [
    ...['', head, `${head}X: `],
    // Whole heads: one whose body never comes, and one whose connection stays idle behind its answer.
    'POST /api/stream HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{',
    'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n',
  ];
  const sockets = await Promise.all(
    Array.from({ length: 600 }, (_, index) =>
      begun(server.url, {
        from: `127.0.0.${2 + (index % 6)}`,
        text: unfinished[index % unfinished.length],
      }),
    ),
  );
  try {
    await using encoder = onAir(server.ingestUrl(streamKey));
    await until('the broadcast to be playable', () => readMediaPlaylist(server.playlistUrl(playbackId)), {
      within: 15_000,
    });
    for (let count = 0; count < 5; count += 1) {
      const health = await fetch(`${server.url}/health/live`, { signal: AbortSignal.timeout(1000) });
      expect(await health.json()).toBeDefined();
      expect(health.status).toBe(200);
    }
    expect((await server.api.request('GET', `/api/stream`)).status).toBe(200);
    expect(encoder.isRunning).toBe(true);
    // The table was full: the oldest of the unfinished made room.
    expect(sockets.filter(({ closed }) => closed).length).toBeGreaterThan(390);
    expect(sockets.filter(({ closed }) => !closed).length).toBeGreaterThan(100);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  expect(server.output).toContain('raise `ulimit -n`');
  expect(server.output).not.toMatch(/EMFILE|"level":"error"/);
});
