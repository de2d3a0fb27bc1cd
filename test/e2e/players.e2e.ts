import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parsePlaylist } from '../hls/checker.ts';
import { Feed, send } from '../hls/feed.ts';
import { type FlvTag, readFlv } from '../hls/flv.ts';

const run = promisify(execFile);
let folder = '';
let tags: FlvTag[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-hls-'));
  const file = join(folder, 'source.flv');
  const inputs = [
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=640x360:rate=30',
    '-f',
    'lavfi',
    '-i',
    'sine',
    '-t',
    '9',
  ];
  const codecs = ['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '2', '-g', '60', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', ...inputs, ...codecs, file]);
  tags = readFlv(await Bun.file(file).bytes());
});
afterAll(() => rm(folder, { recursive: true }));

/** Plays the file into a publish in real time of the clock; `from` shifts its stamps. */
function publish(feed: Feed, from = 0): void {
  const { sink, grant } = feed.attach();
  let last = 0;
  for (const { type, timestamp, body } of tags) {
    if (type === 18) continue;
    feed.clock.advance(Math.max(0, timestamp - last));
    last = Math.max(last, timestamp);
    send(sink, type, (timestamp + from) >>> 0, body);
  }
  feed.output.detach(grant.token);
}

async function count(path: string, stream: string): Promise<{ frames: number; errors: string }> {
  const probe = ['-v', 'warning', '-count_frames', '-select_streams', stream];
  const entries = ['-show_entries', 'stream=nb_read_frames', '-of', 'csv=p=0', path];
  const { stdout, stderr } = await run('ffprobe', [...probe, ...entries]);
  return { frames: Number(stdout.trim().split('\n')[0].replace(',', '')), errors: stderr };
}

test('ffmpeg decodes every frame of a served playlist, over a reconnect and a wrap', async () => {
  const feed = new Feed({ window: 60 });
  publish(feed);
  publish(feed, 2 ** 32 - 4000);
  const playlist = parsePlaylist(await feed.text('source.m3u8'));
  const groups = new Map<number, Uint8Array[]>();
  for (const segment of playlist.segments) {
    const group = groups.get(segment.discontinuities) ?? [await feed.bytes(segment.map)];
    group.push(await feed.bytes(segment.uri));
    groups.set(segment.discontinuities, group);
  }
  expect([...groups.keys()]).toEqual([0, 1]);
  const sounds = tags.filter(({ type, body }) => type === 8 && body[1] === 1).length;
  for (const [discontinuity, group] of groups) {
    const path = join(folder, `run${discontinuity}.mp4`);
    await Bun.write(path, Buffer.concat(group));
    expect(await count(path, 'v:0')).toEqual({ frames: 270, errors: '' });
    expect((await count(path, 'a:0')).frames).toBe(sounds);
  }
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      const response = await feed.output.serve(url.pathname.slice(1), url.searchParams, request.signal);
      if (!url.pathname.endsWith('source.m3u8')) return response;
      // The end is what a live playlist never says, and what lets ffmpeg stop.
      return new Response(`${await response.text()}#EXT-X-ENDLIST\n`, { headers: response.headers });
    },
  });
  const arguments_ = ['-v', 'info', '-i', `${server.url}index.m3u8`, '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', arguments_);
  await server.stop(true);
  const frames = [...stderr.matchAll(/frame=\s*(\d+)/g)].at(-1)?.[1];
  const complaints = stderr
    .split('\n')
    .filter((line) => /error|invalid|missing|corrupt|non-monoton|discarding/i.test(line));
  expect(complaints).toEqual([]);
  expect(Number(frames)).toBeGreaterThanOrEqual(540);
}, 60_000);
