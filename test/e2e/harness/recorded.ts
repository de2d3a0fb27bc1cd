import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { numbersIn, runsOf } from './numbered.ts';
import type { Server } from './server.ts';

/** What the tests read of an asset. */
export interface Asset {
  id: string;
  status: 'waiting' | 'ready' | 'failed';
  source: { sessionId: string };
  size?: number;
  hash?: { hash: string; algorithm: 'md5' | 'sha256' }[];
  downloadUrl?: string;
  videoSpec?: { duration: number };
}

/** What the tests read of a session. */
export interface Session {
  id: string;
  recordingStatus?: 'waiting' | 'ready';
  recordingUrl?: string;
  mp4Url?: string;
  issues?: string[];
}

export async function readSession(server: Pick<Server, 'api'>, id: string): Promise<Session> {
  return read(server, `/api/session/${id}`);
}

/** All assets, newest first. */
export async function listAssets(server: Pick<Server, 'api'>): Promise<Asset[]> {
  return read(server, '/api/asset?limit=1000');
}

async function read<T>(server: Pick<Server, 'api'>, path: string): Promise<T> {
  const answer = await server.api.request('GET', path);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json() as Promise<T>;
}

/** Downloads what is shown as ready, and answers the runs of its numbers. Fails unless it is whole and as was said. */
export async function download(server: Pick<Server, 'api'>, { id, asset }: { id: string; asset: Asset }) {
  const session = await readSession(server, id);
  expect(session).toMatchObject({ recordingStatus: 'ready' });
  const [video, film] = await Promise.all([asset.downloadUrl, session.mp4Url].map((url) => bytesOf(url)));
  expect(video.length).toBe(asset.size);
  expect(asset.hash?.map(({ algorithm }) => algorithm)).toEqual(['md5', 'sha256']);
  for (const { hash, algorithm } of asset.hash ?? [])
    expect([algorithm, createHash(algorithm).update(video).digest('hex')]).toEqual([algorithm, hash]);
  const numbers = numbersIn(video);
  expect(numbersIn(film)).toEqual(numbers);
  return { session, runs: runsOf(numbers), pictures: numbers.length };
}

/**
 * One run of all that was sent. At the end of a publish viewers are not shown what would be a segment of less than 0.25 s
 * (`SHORTEST` in runtime/media/live/cut-rule.ts): that much the recording may lack too.
 */
export function expectWhole(runs: readonly [number, number][], { sent }: { sent: number }): void {
  expect(runs).toHaveLength(1);
  expect(runs[0][0]).toBe(0);
  expectEnd(runs[0][1], { sent });
}

/** The same of the last run's last number. */
export function expectEnd(last: number, { sent }: { sent: number }): void {
  expect(last).toBeLessThan(sent);
  expect(last).toBeGreaterThanOrEqual(sent - 8);
}

/** Lets ffmpeg decode it: every picture of it, and not a word of complaint. */
export async function decode(url: string | undefined): Promise<{ pictures: number; complaints: string }> {
  const options = [
    '-nostdin',
    '-v',
    'error',
    '-progress',
    'pipe:1',
    '-i',
    url ?? '',
    '-fps_mode',
    'passthrough',
  ];
  // The file's own time base: rounded to that of 30 fps two pictures at a seam can coincide.
  const { stdout, stderr } = await promisify(execFile)('ffmpeg', [
    ...[...options, '-enc_time_base:v', '-1', '-f', 'null', '-'],
  ]);
  return { pictures: Number([...stdout.matchAll(/^frame=\s*(\d+)/gm)].at(-1)?.[1]), complaints: stderr };
}

/** What the recorder and the folder of blobs hold beside the files of these assets; of each of those there are three. */
export async function leftovers({ dataDir }: Server, assets: readonly Asset[]): Promise<string[]> {
  const left = filesIn(join(dataDir, 'recordings')).map((file) => `recordings/${file}`);
  const own = new Map(assets.map(({ id }) => [id, 0]));
  for (const file of filesIn(join(dataDir, 'blobs'))) {
    const id = /^assets\/([^/]+)\/[^/]+$/.exec(file)?.[1] ?? '';
    if (own.has(id)) own.set(id, (own.get(id) ?? 0) + 1);
    else if (!driversOwn.test(file)) left.push(`blobs/${file}`);
  }
  for (const [id, count] of own) if (count !== 3) left.push(`${count} blobs of asset ${id}`);
  return left;
}

const driversOwn = /^(assets\/owner\.json|\.lock.*)$/;

/** Files, and folders that are empty. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => {
    if (!entry.isDirectory()) return [entry.name];
    const inside = filesIn(join(folder, entry.name));
    const isOwn = entry.name === '.scratch' || entry.name === '.uploads';
    if (inside.length === 0) return isOwn ? [] : [`${entry.name}/`];
    return inside.map((name) => `${entry.name}/${name}`);
  });
}

async function bytesOf(url: string | undefined): Promise<Buffer> {
  const answer = await fetch(url ?? '', { signal: AbortSignal.timeout(20_000) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect([url, answer.status]).toEqual([url, 200]);
  return bytes;
}
