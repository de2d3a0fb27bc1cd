import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { numbered, watch } from './harness/numbered.ts';
import { hasSmallDisks, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const mebibyte = 1_048_576;
const folder = mkdtempSync(join(tmpdir(), 'millrace-full-disk-'));
const large = join(folder, 'large.mp4');
const small = join(folder, 'small.mp4');
const largeSize = 130 * mebibyte;

const canMount = hasSmallDisks();
if (!canMount) console.error('SKIPPED: tests of full disks: nobody may have name spaces on this machine');

beforeAll(async () => {
  const inputs = ['testsrc2=size=320x180:rate=25:duration=4', 'sine=frequency=440:duration=4'];
  const sources = inputs.flatMap((input) => ['-f', 'lavfi', '-i', input]);
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...sources, ...codecs, small]);
  const film = readFileSync(small);
  // The same film, and behind it a box of nothing (ISO 14496-12 §8.1.2).
  const padding = Buffer.alloc(largeSize - film.length);
  padding.writeUInt32BE(padding.length);
  padding.write('free', 4, 'latin1');
  writeFileSync(large, Buffer.concat([film, padding]));
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!canMount)(
  'a disk that fills up refuses uploads, then recordings, and harms nobody; what is deleted makes room for both',
  async () => {
    await using server = await startServer({
      env: {
        MILLRACE_RECORDING__RESERVE: '40',
        MILLRACE_UPLOADS__RESERVE: '60',
        MILLRACE_PLUGINS__STREAMS__HOLD: '2s',
        MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '3s',
      },
      disk: { folder: '', mebibytes: 256 },
    });
    const { pid } = server;
    const events = await server.openEvents();
    const first = await asked(server);
    expect(await put(first.url, large)).toMatchObject({ status: 200, body: { size: largeSize } });
    expect(await get(server, '/health/ready')).toEqual({ status: 'ready' });
    const second = await asked(server);

    // Less than uploads leave free, more than recordings do.
    fill(server, { leave: 50 * mebibyte });
    const full = { status: 507, body: { code: 'intake.full' } };
    expect(await put(second.url, small)).toMatchObject(full);
    const refused = await server.api.request('POST', '/api/asset/request-upload', { name: 'Another' });
    expect({ status: refused.status, body: await refused.json() }).toMatchObject(full);
    expect(readdirSync(join(server.dataDir, 'uploads'))).toEqual([]);
    expect(await get(server, `/api/task/${second.task.id}`)).toMatchObject({ status: { phase: 'pending' } });
    expect((await get(server, '/api/asset')).length).toBe(2);

    // Less than recordings do.
    const filler = fill(server, { leave: 35 * mebibyte });
    const stream = await server.api.createStream({ name: 'recorded', record: true });
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await viewer.moves({ within: 20_000 });
    const issue = /nearly full, so the recording of this broadcast has not begun/;
    await until('the issue', async () => issue.test(String((await server.api.getStream(stream.id)).issues)), {
      within: 20_000,
    });
    await until('its event', () => healthOf(events.seen).some((text) => issue.test(text)), {
      within: 20_000,
    });
    expect(takesOn(server)).toEqual([]);
    await until('readiness to tell', async () => (await issues(server)).includes('nothing is recorded'), {
      within: 20_000,
    });
    expect(await issues(server)).toContain('uploads and imports are refused');
    expect(await metric(server, 'millrace_disk_free_bytes{place="data"}')).toBeLessThan(40 * mebibyte);

    // It is deleted while there is no room, and its bytes are free.
    const before = free(server);
    expect((await server.api.request('DELETE', `/api/asset/${first.asset.id}`)).status).toBe(204);
    await until('its bytes to be free', () => free(server) > before + largeSize - 4 * mebibyte, {
      within: 20_000,
    });
    expect(await put(second.url, small)).toMatchObject({ status: 200, body: { status: 'ready' } });
    await asked(server);
    await until('a recording', () => takesOn(server).length === 1, { within: 20_000 });
    await until('readiness to tell nothing', async () => (await issues(server)) === '', { within: 30_000 });

    rmSync(filler);
    const [session] = await server.api.listSessions(stream.id);
    const ready = events.expect('recording.ready', { within: 60_000, streamId: stream.id });
    await viewer.moves({ within: 10_000 });
    const problems = [...viewer.problems];
    await encoder.stop();
    await ready;
    // Nobody who watched has noticed anything.
    expect([problems, encoder.ends, encoder.firsts]).toEqual([[], [], [0]]);
    expect(String((await server.api.getStream(session.id)).issues)).toMatch(/has gaps: once/);
    expect(await metric(server, 'millrace_recordings_gaps_total{reason="low"}')).toBe(1);
    expect(await metric(server, 'millrace_recordings_finished_total{outcome="ready"}')).toBe(1);
    expect(await metric(server, 'millrace_recordings_written_bytes_total')).toBeGreaterThan(100_000);
    expect(server.pid).toBe(pid);
    expect(server.output).toContain('a disk is nearly full: nothing is recorded');
    expect(server.output).toContain('a disk that was nearly full has room again');
  },
  120_000,
);

async function asked(server: Server) {
  const answer = await server.api.request('POST', '/api/asset/request-upload', { name: 'A film' });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { url: string; asset: { id: string }; task: { id: string } };
}

async function put(url: string, file: string) {
  const answer = await fetch(url, { method: 'PUT', body: Bun.file(file) });
  return { status: answer.status, body: (await answer.json()) as unknown };
}

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
const get = async (server: Server, path: string): Promise<any> =>
  (await server.api.request('GET', path)).json();

const issues = async (server: Server) => String((await get(server, '/health/ready')).issues ?? '');

async function metric(server: Server, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

/** Issues of each event that told how a broadcast does. */
function healthOf(seen: readonly { event: string; payload?: unknown }[]): string[] {
  return seen
    .filter(({ event }) => event === 'stream.health')
    .map(({ payload }) => String((payload as { health: { issues: string[] } }).health.issues));
}

/** Takes that were begun. */
function takesOn(server: Server): string[] {
  try {
    return readdirSync(join(server.dataDir, 'recordings'));
  } catch {
    return [];
  }
}

function free({ dataDir }: Server): number {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize;
}

/** Fills the disk but for so many bytes, and answers with what. */
function fill(server: Server, { leave }: { leave: number }): string {
  const path = join(server.dataDir, '.filler');
  const piece = new Uint8Array(mebibyte);
  while (free(server) > leave) {
    writeFileSync(path, piece.subarray(0, Math.min(mebibyte, free(server) - leave)), { flag: 'a' });
  }
  return path;
}
