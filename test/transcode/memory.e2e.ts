/** What conversions take of the memory of the machine: films of the largest pictures, and of ordinary ones. */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { upload } from '../e2e/harness/uploads.ts';
import { until } from '../e2e/harness/wait.ts';
import { ffmpeg, processesOf } from './films.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-memory-'));
const gibibyte = 2 ** 30;
let server: Server;

beforeAll(async () => {
  server = await startServer({
    env: { MILLRACE_CONVERSION__RUNNING: '3', MILLRACE_CONVERSION__THREADS: '2' },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Bytes of memory that the processes of a server have now, and how each is confined. */
async function memoryNow(): Promise<{ bytes: number; limits: string[]; status: string[]; scores: string[] }> {
  const all = await processesOf(server.pid);
  const read = (name: string) =>
    Promise.all(all.map((pid) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')));
  const [status, limits, scores] = await Promise.all([read('status'), read('limits'), read('oom_score_adj')]);
  const bytes = status.reduce((sum, text) => sum + 1024 * Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0), 0);
  return { bytes, limits, status, scores };
}

/** What three transcodes of one file came to, and the most memory that all had at one time. */
async function transcoded(file: string, profile: object) {
  const { body: asset } = await upload(server, file);
  const made = await Promise.all(
    [0, 1, 2].map(async () => {
      const answer = await server.api.request('POST', `/api/asset/${asset.id}/transcode`, { profile });
      return ((await answer.json()) as { task: { id: string } }).task.id;
    }),
  );
  let most = 0;
  const seen: Awaited<ReturnType<typeof memoryNow>>[] = [];
  const tasks = await until(
    'three ends',
    async () => {
      const now = await memoryNow();
      most = Math.max(most, now.bytes);
      seen.push(now);
      const all = await Promise.all(
        made.map(async (id) => (await server.api.request('GET', `/api/task/${id}`)).json() as Promise<Task>),
      );
      return all.every(({ status }) => ['completed', 'failed'].includes(status.phase)) && all;
    },
    { within: 240_000, every: 20 },
  );
  return { most, seen, ends: tasks.map(({ status }) => status) };
}

interface Task {
  readonly status: { readonly phase: string; readonly errorMessage?: string };
}

it('three transcodes of 8192×4320 with 16 references take at most 1.5 GiB in all', async () => {
  const file = join(folder, 'big.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc=s=8192x4320:r=25:d=0.88'];
  const encoding = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '100'];
  await ffmpeg(...picture, ...encoding, '-x264-params', 'ref=16:bframes=0', file);
  const profile = { name: '360p', width: 640, height: 360, bitrate: 500_000, fps: 0 };
  const { most, seen, ends } = await transcoded(file, profile);
  expect(most).toBeGreaterThan(0.2 * gibibyte);
  expect(most).toBeLessThan(1.5 * gibibyte);
  // Each has an end: made, or refused with the reason.
  const reasons = ends.flatMap(({ errorMessage }) => errorMessage ?? []);
  for (const reason of reasons) expect(reason).toMatch(/memory/);
  const one = seen.find(({ limits }) => limits.some((text) => /Max data size\s+\d/.test(text)));
  expect(one?.limits.join()).toMatch(/Max cpu time\s+\d+/);
  expect(one?.limits.join()).toMatch(/Max file size\s+\d+/);
  expect(one?.limits.join()).toMatch(/Max address space\s+\d+/);
  expect(one?.status.join()).toMatch(/NoNewPrivs:\s+1/);
  expect(one?.scores.map((text) => text.trim())).toContain('1000');
}, 300_000);

it('films of 1080p and 4K fit, with as many references as their level allows', async () => {
  const encoding = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '50'];
  for (const [size, height, references] of [
    ['1920x1080', 1080, 16],
    ['3840x2160', 2160, 6],
  ] as const) {
    const file = join(folder, `${size}.mp4`);
    const picture = ['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=25:d=1`];
    await ffmpeg(...picture, ...encoding, '-x264-params', `ref=${references}:bframes=3`, file);
    const profile = { name: 'same', width: 3840, height, bitrate: 8_000_000, fps: 0 };
    const { most, ends } = await transcoded(file, profile);
    expect(ends.map(({ phase, errorMessage }) => [size, phase, errorMessage])).toEqual(
      ends.map(() => [size, 'completed', undefined]),
    );
    expect(most).toBeLessThan(1.5 * gibibyte);
  }
}, 300_000);
