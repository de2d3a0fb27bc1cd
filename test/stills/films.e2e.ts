/** Thumbnails and storyboards of uploaded films, by the whole program and a real ffmpeg. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { frameAt } from '../e2e/harness/film-tools.ts';
import { root, type Server, startServer } from '../e2e/harness/server.ts';
import { type Answer, upload } from '../e2e/harness/uploads.ts';
import { cuesOf, numberIn, pngsOf, sizeOf } from './shown.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-stills-'));
const path = (name: string) => join(folder, `${name}.mp4`);
const clip = join(root, 'demo/clip.flv');
const encoded = [
  '-c:v',
  'libx264',
  '-preset',
  'veryfast',
  '-bf',
  '3',
  '-g',
  '45',
  '-s',
  '640x360',
  '-c:a',
  'aac',
];

const films: Readonly<Record<string, readonly string[]>> = {
  plain: ['-i', clip, '-t', '20', ...encoded],
  fragments: ['-i', clip, '-t', '6', '-c', 'copy', '-movflags', 'frag_keyframe+empty_moov'],
  // Pictures begin 1.2 s behind the sound.
  late: ['-i', clip, '-itsoffset', '1.2', '-i', clip, '-map', '0:a', '-map', '1:v', '-t', '8', ...encoded],
  turned: ['-i', path('plain'), '-t', '3', '-c', 'copy', '-metadata:s:v', 'rotate=90'],
  wide: ['-i', clip, '-t', '3', ...encoded, '-vf', 'scale=640:360,setsar=4/3'],
  sound: ['-i', clip, '-t', '3', '-vn', '-c:a', 'aac'],
};

let server: Server;
const assets = new Map<string, Answer>();

async function get(name: string, file: string): Promise<{ answer: Response; bytes: Uint8Array }> {
  const answer = await fetch(`${server.url}/asset/${assets.get(name).playbackId}/${file}`);
  return { answer, bytes: await answer.bytes() };
}

async function numberAt(name: string, time: string): Promise<number | null | string> {
  const { answer, bytes } = await get(name, `thumbnail.jpg${time}`);
  if (answer.status !== 200) return `${answer.status} ${Buffer.from(bytes)}`;
  return numberIn(bytes);
}

beforeAll(async () => {
  for (const [name, args] of Object.entries(films)) {
    await run('ffmpeg', ['-v', 'error', '-y', ...args, path(name)]);
  }
  // Side by side with other browsers and encoders a picture may take longer than its usual 10 s.
  server = await startServer({ env: { MILLRACE_STILLS__DEADLINE: '40s' } });
  for (const name of Object.keys(films)) {
    const { status, body } = await upload(server, path(name));
    expect([name, status, body.statusMessage]).toEqual([name, 200, undefined]);
    assets.set(name, body);
  }
}, 120_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

it('an asset says where its pictures are, sound alone has none', async () => {
  const { thumbnailUrl, storyboardUrl, playbackId } = assets.get('plain');
  const base = `${server.url}/asset/${playbackId}`;
  expect([thumbnailUrl, storyboardUrl]).toEqual([`${base}/thumbnail.jpg`, `${base}/storyboard.vtt`]);
  const shown = (await (
    await server.api.request('GET', `/api/asset/${assets.get('plain').id}`)
  ).json()) as Answer;
  expect(shown.thumbnailUrl).toBe(thumbnailUrl);
  expect(assets.get('sound')).not.toHaveProperty('thumbnailUrl');
  for (const file of ['thumbnail.jpg', 'storyboard.jpg', 'storyboard.vtt']) {
    const { answer, bytes } = await get('sound', file);
    expect([file, answer.status, JSON.parse(`${Buffer.from(bytes)}`).code]).toEqual([
      file,
      404,
      'still.none',
    ]);
  }
});

it('shows the very picture that is on show at a time', async () => {
  for (const name of ['plain', 'fragments', 'late']) {
    for (const time of [0, 0.5, 1.31, 2.97, 3.05, 5.5, 5.89]) {
      // Before the first one it is the first.
      const due = (await frameAt(path(name), time)) ?? 0;
      expect([name, time, await numberAt(name, `?time=${time}`)]).toEqual([name, time, due]);
    }
  }
  expect(await numberAt('plain', '')).toBe(await frameAt(path('plain'), 2));
  // Beyond its end it is the last one.
  const last = await frameAt(path('plain'), 30);
  expect(last).toBeGreaterThan(590);
  for (const time of ['20', '1000000', '999999999999999'])
    expect([time, await numberAt('plain', `?time=${time}`)]).toEqual([time, last]);
});

it('the same picture comes as PNG and WebP and in another size, and an animation shows the film from there', async () => {
  const due = await frameAt(path('plain'), 2.97);
  for (const [ending, type] of [
    ['png', 'image/png'],
    ['webp', 'image/webp'],
  ]) {
    const { answer, bytes } = await get('plain', `thumbnail.${ending}?time=2.97&width=480`);
    expect([ending, answer.headers.get('content-type'), await numberIn(bytes)]).toEqual([ending, type, due]);
    expect(await sizeOf(bytes)).toEqual({ width: 480, height: 270 });
  }
  const { answer, bytes } = await get('plain', 'animated.gif?start=2.97&end=4.97&fps=5&width=480');
  expect(answer.headers.get('content-type')).toBe('image/gif');
  const shown = await pngsOf(bytes);
  expect([shown.length, await numberIn(shown[0])]).toEqual([10, due]);
  const last = Number(await frameAt(path('plain'), 4.77));
  expect(Math.abs(Number(await numberIn(shown[9])) - last)).toBeLessThanOrEqual(1);
});

it('has the shape that players show', async () => {
  const { bytes } = await get('plain', 'thumbnail.jpg');
  expect(await sizeOf(bytes)).toEqual({ width: 640, height: 360 });
  const { width, height } = await sizeOf((await get('wide', 'thumbnail.jpg')).bytes);
  expect([width, height]).toEqual([640, 270]);
  const turned = await sizeOf((await get('turned', 'thumbnail.jpg')).bytes);
  expect(turned).toEqual({ width: 360, height: 640 });
  const { place } = cuesOf(`${Buffer.from((await get('turned', 'storyboard.vtt')).bytes)}`)[0];
  expect([place.width, place.height]).toEqual([144, 256]);
});

it('a storyboard has at each of its cues the picture of that time', async () => {
  const { answer, bytes } = await get('plain', 'storyboard.vtt');
  expect(answer.headers.get('content-type')).toBe('text/vtt; charset=utf-8');
  const cues = cuesOf(`${Buffer.from(bytes)}`);
  expect(cues.length).toBeGreaterThan(3);
  expect([cues[0].from, cues.at(-1)?.to]).toEqual([0, 20]);
  const sheet = await (await fetch(new URL(cues[0].sheet, answer.url))).bytes();
  for (const [row, { from, place }] of cues.entries()) {
    if (row > 0) expect(from).toBe(cues[row - 1].to);
    expect([from, await numberIn(sheet, place)]).toEqual([from, await frameAt(path('plain'), from)]);
  }
});

it('pictures are found again by their tags, and go with their asset', async () => {
  const first = await get('plain', 'storyboard.jpg');
  const tag = first.answer.headers.get('etag') as string;
  const again = await fetch(first.answer.url, { headers: { 'if-none-match': tag } });
  expect(again.status).toBe(304);
  expect(again.headers.get('access-control-allow-origin')).toBe('*');
  await server.stop();
  await server.restart();
  // It was stored: no process made it again.
  const stored = await get('plain', 'storyboard.jpg');
  expect(stored.answer.headers.get('etag')).toBe(tag);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('millrace_stills_running 0');
  expect(server.output.match(/ffmpeg is used/g)?.length).toBe(1);

  const { id } = assets.get('fragments');
  expect((await get('fragments', 'thumbnail.jpg?time=2.5')).answer.status).toBe(200);
  expect((await server.api.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
  for (const file of ['thumbnail.jpg?time=2.5', 'storyboard.vtt'])
    expect((await get('fragments', file)).answer.status).toBe(404);
});

it('what is asked for in a hostile way costs nothing, or waits its turn', async () => {
  for (const time of ['1e308', 'NaN', '-1', 'Infinity', '', '1,5', '0x10', '1.', '９']) {
    const { answer, bytes } = await get('plain', `thumbnail.jpg?time=${encodeURIComponent(time)}`);
    expect([time, answer.status, JSON.parse(`${Buffer.from(bytes)}`).code]).toEqual([
      time,
      422,
      'query.invalid',
    ]);
  }
  const many = await Promise.all(
    Array.from({ length: 300 }, (_, row) => get('plain', `thumbnail.jpg?time=${1 + row / 300}`)),
  );
  const statuses = new Set(many.map(({ answer }) => answer.status));
  expect([...statuses].sort()).toEqual([200, 503]);
  const busy = many.filter(({ answer }) => answer.status === 503);
  expect(busy.every(({ answer }) => Number(answer.headers.get('retry-after')) > 0)).toBe(true);
  expect(await numberAt('plain', '?time=1.45')).toBe(await frameAt(path('plain'), 1.45));
});
