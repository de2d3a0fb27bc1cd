/** One address, or a crowd of them, that takes all of a server: what belongs to others stays there. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encode, ffmpeg } from './harness/encoders.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { lasting, until } from './harness/wait.ts';

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

/** Over one connection after the other until `isOver`: bodies in turn, half of them by their length, half in chunks. */
async function post(
  server: Server,
  { bodies, isOver }: { bodies: readonly string[]; isOver: () => boolean },
) {
  const statuses = new Map<number, number>();
  for (let count = 0; !isOver(); count += 1) {
    const body = bodies[count % bodies.length];
    const head = `POST /api/stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.key}\r\n`;
    const framed =
      (count >> 3) % 2 === 0
        ? `${head}Content-Length: ${body.length}\r\n\r\n${body}`
        : `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const status = await new Promise<number>((resolve) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(framed));
      socket.on('data', (bytes) => {
        resolve(Number(String(bytes).slice(9, 12)));
        socket.destroy();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(0));
    });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return statuses;
}

/** Entries of an object. */
const entries = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => `"n${index}":${value}`).join(',');

test('six connections that send big JSON bodies cost a playlist less than 20 ms', async () => {
  await using server = await startServer();
  const { streamKey, playbackId } = await server.api.createStream({ name: 'beside' });
  await using _encoder = onAir(server.ingestUrl(streamKey));
  const read = () => readMediaPlaylist(server.playlistUrl(playbackId));
  const { url } = await until('the broadcast to be playable', read, { within: 15_000 });

  const large = [
    `{"name":"${'x'.repeat(1e6)}"}`,
    `{"name":[${'1,'.repeat(5e5)}1]}`,
    `[${'{},'.repeat(3e5)}{}]`,
  ];
  // As large as they may be, and as costly: each was a tenth of a second of the thread that serves everyone.
  const allowed = [
    ...[`{"name":"${'x'.repeat(255_000)}"}`, `{"name":"a","profiles":[${'1,'.repeat(19_000)}1]}`],
    ...[
      `{${entries(9000, '1')}}`,
      `{"name":"a","userTags":{${entries(9000, '"1"')}}}`,
      `{${entries(21_000, '1')}}`,
    ],
  ];
  for (const [name, bodies, expected] of [
    ['1 MB', large, [413]],
    ['the largest', allowed, [400, 422]],
  ] as const) {
    let isOver = false;
    const senders = Array.from({ length: 6 }, () => post(server, { bodies, isOver: () => isOver }));
    const times: number[] = [];
    for (let count = 0; count < 80; count += 1) {
      const at = performance.now();
      const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      await answer.bytes();
      times.push(performance.now() - at);
      expect(answer.status).toBe(200);
      await lasting(25);
    }
    isOver = true;
    const statuses = (await Promise.all(senders)).flatMap((one) => [...one.keys()]);
    const p50 = times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
    console.log(
      `bodies of ${name}: p50 of a playlist ${p50.toFixed(1)} ms, worst ${times.at(-1)?.toFixed(1)} ms`,
    );
    // 20 ms are wanted, and a busy machine has twice as long.
    expect(p50).toBeLessThan(40);
    expect([...new Set(statuses)].sort()).toEqual(expected);
  }
});

/** Status of a GET from this address. */
function statusFrom(from: string, url: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = get(url, { localAddress: from, agent: false }, (answer) => {
    answer.resume();
    answer.on('end', () => resolve(answer.statusCode ?? 0));
  });
  asked.on('error', reject);
  return promise;
}

test('40 strangers that ask for thumbnails of all moments do not crowd out a viewer', async () => {
  await using server = await startServer();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-door-'));
  await using _folder = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
  const file = join(folder, 'film.mp4');
  const small = [
    '-vf',
    'scale=320:180',
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    '-g',
    '60',
    '-c:a',
    'copy',
  ];
  await encode(['-i', `${root}/demo/clip.flv`, '-t', '20', ...small, file]);
  const { status, body } = await upload(server, file);
  expect(status).toBe(200);
  const film = `${server.url}/asset/${body.playbackId}`;
  const { streamKey, playbackId } = await server.api.createStream({ name: 'beside', record: true });
  await using _encoder = onAir(server.ingestUrl(streamKey));
  await until('the broadcast to be playable', () => readMediaPlaylist(server.playlistUrl(playbackId)), {
    within: 15_000,
  });

  let isOver = false;
  const ofStrangers = new Map<number, number>();
  const strangers = Array.from({ length: 120 }, async (_, index) => {
    const from = `127.0.0.${2 + (index % 40)}`;
    for (let count = 0; !isOver; count += 1) {
      const time = ((index * 1.37 + count * 0.173) % 20).toFixed(3);
      const status = await statusFrom(from, `${film}/thumbnail.jpg?time=${time}`);
      ofStrangers.set(status, (ofStrangers.get(status) ?? 0) + 1);
      if (status !== 200) await lasting(50);
    }
  });
  await until('the strangers to be refused something', () => (ofStrangers.get(200) ?? 0) > 10, {
    within: 20_000,
  });
  const ofViewer: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    const asked = [
      ...[`${film}/thumbnail.jpg`, `${film}/thumbnail.jpg?time=${(count / 1.1).toFixed(3)}`],
      ...[`${server.url}/hls/${playbackId}/thumbnail.jpg`, `${film}/storyboard.vtt`],
    ];
    const at = performance.now();
    ofViewer.push(await statusFrom('127.0.0.1', asked[count % asked.length] ?? ''));
    // As fast as somebody who moves along the bar of a film.
    await lasting(Math.max(0, 250 - (performance.now() - at)));
  }
  isOver = true;
  await Promise.all(strangers);
  const refused = ofViewer.filter((status) => status !== 200);
  console.log(`the viewer was refused ${refused.length} of 20; strangers:`, Object.fromEntries(ofStrangers));
  expect(refused.length).toBeLessThanOrEqual(1);

  // What all of this wrote is for the user of the server alone.
  expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toMatch(/^Umask:\s0077$/m);
  const written = readdirSync(server.dataDir, { recursive: true }).map((name) => {
    const path = join(server.dataDir, String(name));
    return { path, mode: statSync(path, { throwIfNoEntry: false })?.mode ?? 0 };
  });
  expect(written.length).toBeGreaterThan(8);
  expect(written.filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([]);
});
