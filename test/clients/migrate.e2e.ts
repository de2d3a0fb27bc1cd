import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../cli/migration/report.ts';
import { type CommandLine, commandLine } from '../e2e/harness/command-line.ts';
import { root, type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import {
  livepeerId,
  livepeerKey,
  livepeerPlaybackId,
  livepeerStreamKey,
  muxCredentials,
  muxId,
  muxKey,
  type OldPlatform,
  oldLivepeer,
  oldMux,
} from './old-platforms.ts';

const run = promisify(execFile);
let user: CommandLine;
let server: Server;
let film: Buffer;
let old: { readonly mux: OldPlatform; readonly livepeer: OldPlatform };
/** What the command gets for each platform. */
let given: Record<'mux' | 'livepeer', { words: readonly string[]; env: Record<string, string> }>;

beforeAll(async () => {
  user = commandLine();
  const file = join(user.home, 'film.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=10:duration=1'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=1'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', ...picture, ...sound, ...codecs, file]);
  film = readFileSync(file);
  const [started, mux, livepeer] = await Promise.all([
    startServer({ env: { MILLRACE_OUTBOUND__ALLOW: '["127.0.0.1/32"]' } }),
    oldMux(film),
    oldLivepeer(film),
  ]);
  server = started;
  old = { mux, livepeer };
  const env = { MILLRACE_URL: server.url, MILLRACE_KEY: server.key };
  given = {
    mux: {
      words: ['migrate', 'mux', '--from', mux.url, '--stream-url', mux.url, '--parallel', '8', '--json'],
      env: { ...env, MUX_TOKEN_ID: muxCredentials.id, MUX_TOKEN_SECRET: muxCredentials.secret },
    },
    livepeer: {
      words: ['migrate', 'livepeer', '--from', `${livepeer.url}/api`, '--parallel', '8', '--json'],
      env: { ...env, LIVEPEER_API_KEY: livepeerKey },
    },
  };
}, 60_000);

afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  for (const one of Object.values(old ?? {})) await one[Symbol.asyncDispose]();
});

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
type Rows = any[];

async function rows(path: string): Promise<Rows> {
  const headers = { authorization: `Bearer ${server.key}` };
  const response = await fetch(`${server.url}/api/${path}?limit=1000`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Rows;
}

/** What came from a platform, by its id there. */
async function moved(platform: string, path: 'asset' | 'stream'): Promise<Map<string, Rows>> {
  const all = (await rows(path)).filter(({ userTags }) => userTags.migratedFrom?.startsWith(`${platform}/`));
  return Map.groupBy(all, ({ userTags }) => userTags.migratedFrom.split('/')[1]) as Map<string, Rows>;
}

async function ended(platform: 'mux' | 'livepeer', ...more: readonly string[]) {
  const { words, env } = given[platform];
  const { code, out, error } = await user.start([...words, ...more], { env }).ended();
  expect([code, code === 0 ? '' : error]).toEqual([0, '']);
  return JSON.parse(out) as Report;
}

const seconds = async (url: string) => {
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'format=duration',
    '-of',
    'csv=p=0',
    url,
  ]);
  return Number(stdout);
};

describe.each([
  {
    platform: 'mux' as const,
    film: (n: number) => [muxId('asset', n), muxId('play', n)] as const,
    impossible: {
      [muxId('asset', 49)]: /errored.*no video/,
      [muxId('asset', 50)]: /master access \(403\).*signed/,
    },
    closed: muxId('play', 48),
    fetches: 48,
  },
  {
    platform: 'livepeer' as const,
    film: (n: number) => [livepeerId('a', n), livepeerPlaybackId('a', n)] as const,
    impossible: { [livepeerId('a', 49)]: /Not a video/, [livepeerId('a', 50)]: /no file/ },
    closed: livepeerPlaybackId('a', 48),
    fetches: 48,
  },
])('from $platform', ({ platform, film: idsOf, impossible, closed, fetches }) => {
  it('a dry run changes nothing, neither here nor there', async () => {
    const report = await ended(platform, '--dry-run');
    expect(report).toMatchObject({ dryRun: true, counts: { asset: { moved: 0 }, stream: { planned: 2 } } });
    expect(report.counts.asset.planned + report.counts.asset.impossible).toBe(50);
    expect(old[platform].asked.filter(({ method }) => method !== 'GET')).toEqual([]);
    expect(old[platform].fetched).toBe(0);
    expect([...(await moved(platform, 'asset')).keys()]).toEqual([]);
    expect([...(await moved(platform, 'stream')).keys()]).toEqual([]);
  });

  it('is killed in the middle, continues, and moves nothing twice', async () => {
    const { words, env } = given[platform];
    const child = spawn(process.execPath, ['--no-install', join(root, 'cli/main.ts'), ...words], {
      env: { PATH: process.env.PATH, HOME: user.home, ...env },
      stdio: 'ignore',
    });
    const isOver = once(child, 'exit');
    await until('a third of the films', () => old[platform].fetched >= 16, { within: 60_000, every: 10 });
    child.kill('SIGKILL');
    await isOver;
    const before = (await moved(platform, 'asset')).size;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(48);

    const report = await ended(platform);
    expect(report.counts).toMatchObject({
      asset: { impossible: 2, failed: 0, planned: 0 },
      stream: { failed: 0, impossible: 0 },
    });
    expect(report.counts.asset.already).toBeGreaterThan(0);
    const assets = await moved(platform, 'asset');
    expect([...assets.values()].map((same) => same.length)).toEqual(Array(48).fill(1));
    expect([...assets.values()].flat().every(({ status }) => status === 'ready')).toBe(true);
    const streams = await moved(platform, 'stream');
    expect([...streams.values()].map((same) => same.length)).toEqual([1, 1]);
    const reasons = report.items.filter(({ kind, reason }) => kind === 'asset' && reason !== undefined);
    expect(reasons.map(({ from }) => from).sort()).toEqual(Object.keys(impossible).sort());
    for (const { from, reason } of reasons) expect(reason).toMatch(impossible[from] as RegExp);
    // A film whose import was not over when the command died was not fetched again.
    expect(old[platform].fetched).toBe(fetches);
    expect(old[platform].asked.filter(({ status }) => status === 429).length).toBeGreaterThan(0);

    const again = await ended(platform);
    expect(again.counts).toMatchObject({
      asset: { moved: 0, already: 48, impossible: 2 },
      stream: { already: 2 },
    });
    expect(old[platform].fetched).toBe(fetches);
  }, 240_000);

  it('what was moved plays by its old ids, and what was closed stays closed', async () => {
    for (const n of [1, 24, 47]) {
      const [id, playbackId] = idsOf(n);
      for (const name of [id, playbackId]) {
        const info = await fetch(`${server.url}/api/playback/${name}`);
        expect([name, info.status]).toEqual([name, 200]);
      }
      expect(await seconds(`${server.url}/asset/${playbackId}/index.m3u8`)).toBeCloseTo(1, 0);
    }
    const [film48] = (await moved(platform, 'asset')).get(idsOf(48)[0]) ?? [];
    expect(film48.playbackPolicy).toMatchObject({ type: 'signed' });
    expect((await fetch(`${server.url}/asset/${closed}/index.m3u8`)).status).toBe(403);
  }, 60_000);
});

it('streams have the keys that encoders have, where these are strong, and play by their old ids', async () => {
  const streams = await rows('stream');
  const keyOf = (tag: string) => streams.find(({ userTags }) => userTags.migratedFrom === tag)?.streamKey;
  expect(keyOf(`mux/${muxId('live', 1)}`)).toBe(muxKey(1));
  expect(keyOf(`mux/${muxId('live', 2)}`)).toMatch(/^\w{4}-/);
  expect(keyOf(`livepeer/${livepeerId('b', 1)}`)).toBe(livepeerStreamKey(1));
  const child = execFile('ffmpeg', [
    ...[
      '-v',
      'error',
      '-re',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=160x90:rate=10',
      '-g',
      '10',
      '-pix_fmt',
      'yuv420p',
    ],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-f', 'flv', server.ingestUrl(muxKey(1))],
  ]);
  try {
    const url = `${server.url}/hls/${muxId('show', 1)}/index.m3u8`;
    await until('a playlist', async () => (await fetch(url)).status === 200, { within: 20_000, every: 200 });
    expect((await fetch(`${server.url}/hls/${muxId('live', 1)}/index.m3u8`)).status).toBe(200);
  } finally {
    child.kill('SIGKILL');
  }
});

it('webhooks are moved once, with the events that there are', async () => {
  const hooks = await rows('webhook');
  expect(hooks.map(({ name, events, streamId }) => [name, events.length, !streamId]).sort()).toEqual([
    ['All (livepeer/c1)', 2, true],
    ['One stream (livepeer/c2)', 1, false],
    ['https://hooks.example.com/mux (mux/hook1)', 8, true],
  ]);
});

it('wrong credentials, and none, end it with what to do', async () => {
  const { words, env } = given.livepeer;
  const wrong = await user.start(words, { env: { ...env, LIVEPEER_API_KEY: 'wrong' } }).ended();
  expect(wrong).toMatchObject({
    code: 77,
    error: expect.stringContaining('does not accept the credentials'),
  });
  const { LIVEPEER_API_KEY: _, ...without } = env;
  const none = await user.start(words, { env: without }).ended();
  expect(none).toMatchObject({ code: 77, error: expect.stringContaining('set LIVEPEER_API_KEY') });
  expect(await user.start([...words, '--parallel', '99'], { env }).ended()).toMatchObject({ code: 2 });
});
