/** Transcodes of assets by the real ffmpeg: what comes out is looked at, and nothing is left of what was broken off. */
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { type Answer, upload } from '../e2e/harness/uploads.ts';
import { until } from '../e2e/harness/wait.ts';
import { exec, ffmpeg, numberAt, numbered, probe, processesOf, sound } from './films.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-transcode-'));
const path = (name: string) => join(folder, name);
const small = { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 };
const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
let server: Server;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const get = async (of: Server, what: string): Promise<Answer> =>
  (await of.api.request('GET', what)).json() as Promise<Answer>;
const transcode = async (of: Server, { id, profile = small }: { id: string; profile?: object }) => {
  const answer = await of.api.request('POST', `/api/asset/${id}/transcode`, { profile });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Answer;
};
const ended = (of: Server, { task }: Answer, within = 120_000): Promise<Answer> =>
  until(
    'the end of the task',
    async () => {
      const found = await get(of, `/api/task/${task.id}`);
      return ['completed', 'failed'].includes(found.status.phase) && found;
    },
    { within },
  );
const made = async (of: Server, given: { id: string; profile?: object }, name: string) => {
  const asked = await transcode(of, given);
  expect((await ended(of, asked)).status).toMatchObject({ phase: 'completed' });
  const asset = await get(of, `/api/asset/${asked.asset.id}`);
  await writeFile(path(name), await (await fetch(asset.downloadUrl)).bytes());
  return { asset, file: path(name) };
};

describe('a film of 720p as 480p', () => {
  const seconds = 8;
  it.each([
    ['with its index behind it and B-frames', ['-bf', '2', '-g', '90']],
    ['with its index in front', ['-g', '300', '-movflags', '+faststart']],
    ['in fragments', ['-g', '60', '-movflags', '+frag_keyframe+empty_moov']],
  ])('%s plays, and has each picture at its time', async (name, options) => {
    const source = path(`${name}.mp4`);
    await ffmpeg(...numbered(seconds), ...sound(seconds), ...h264, ...options, '-c:a', 'aac', source);
    const { assetId, body } = await upload(server, source);
    const { asset, file } = await made(server, { id: assetId }, `${name}-480p.mp4`);
    const { streams } = await probe(file);
    expect(streams).toMatchObject([
      {
        codec_name: 'h264',
        width: 854,
        height: 480,
        sample_aspect_ratio: '1:1',
        nb_read_packets: `${30 * seconds}`,
      },
      { codec_name: 'aac' },
    ]);
    expect(Math.abs(asset.videoSpec.duration - body.videoSpec.duration)).toBeLessThan(1 / 30);
    // Sound as it was, but for a packet in front that is not heard.
    const before = await probe(source);
    const packets = (of: Answer) => Number(of.streams[1].nb_read_packets);
    expect(packets(before) - packets({ streams })).toBeLessThanOrEqual(1);
    for (const of of [file, asset.playbackUrl]) {
      expect(await ffmpeg('-i', of, '-f', 'null', '-')).toBe('');
      for (const time of [0, 4.35, 7.85]) {
        const number = await numberAt(source, time);
        // In fragments ffmpeg shows the first picture for as long as the sound begins before it.
        expect(Math.abs(number - time * 30)).toBeLessThanOrEqual(1);
        expect(await numberAt(of, time)).toBe(number);
      }
    }
  });

  it('has key frames where the profile wants them', async () => {
    const source = path('keys.mp4');
    await ffmpeg(...numbered(6, '640x360'), ...h264, '-g', '300', source);
    const { assetId } = await upload(server, source);
    const { file } = await made(server, { id: assetId, profile: { ...small, gop: '1.5' } }, 'keys-480p.mp4');
    const { streams } = await probe(file);
    // Never larger than it came.
    expect(streams[0]).toMatchObject({ width: 640, height: 360 });
    const args = ['-select_streams', 'v', '-show_entries', 'packet=pts_time,flags', '-of', 'csv=p=0', file];
    const keys = (await exec('ffprobe', ['-v', 'error', ...args])).stdout
      .split('\n')
      .filter((line) => line.includes('K'));
    expect(keys.map((line) => Number(line.split(',')[0]))).toEqual([0, 1.5, 3, 4.5]);
  });

  it('is upright and has square pixels, whatever the source says of both', async () => {
    const [plain, turned] = [path('plain.mp4'), path('turned.mp4')];
    await ffmpeg(...numbered(2, '720x576'), '-vf', 'setsar=16/11', ...h264, plain);
    await ffmpeg('-i', plain, '-c', 'copy', '-metadata:s:v', 'rotate=90', turned);
    const wide = await made(server, { id: (await upload(server, plain)).assetId }, 'wide.mp4');
    // 720 pixels, each 16/11 as wide as it is high, are 1047.
    expect((await probe(wide.file)).streams[0]).toMatchObject({ width: 854, height: 470 });
    const high = await made(server, { id: (await upload(server, turned)).assetId }, 'high.mp4');
    const [video] = (await probe(high.file)).streams;
    expect([video.height, video.width < 300, video.side_data_list]).toEqual([480, true, undefined]);
  });
});

it('never has more pictures than it came with, and as few as the profile says', async () => {
  const [sparse, plain] = [path('sparse.mp4'), path('intra.mp4')];
  const apart = ['-vf', 'setpts=N*151/TB', '-fps_mode', 'passthrough', '-enc_time_base', '1:1000'];
  await ffmpeg(...numbered(2, '320x180'), ...apart, ...h264, '-g', '1', sparse);
  const film = { id: (await upload(server, sparse)).assetId, profile: { ...small, fps: 250 } };
  const whole = await made(server, film, 'sparse-250.mp4');
  const [video] = (await probe(whole.file)).streams;
  expect([video.nb_read_packets, Math.round(video.duration / 151)]).toEqual(['60', 60]);
  // All of its pictures are key frames: they are left out all the same.
  await ffmpeg(...numbered(4, '320x180'), ...h264, '-g', '1', plain);
  const { assetId } = await upload(server, plain);
  const { file } = await made(server, { id: assetId, profile: { ...small, fps: 10 } }, 'thin.mp4');
  expect((await probe(file)).streams[0]).toMatchObject({ nb_read_packets: '40' });
  for (const time of [0, 1, 3.1]) expect(await numberAt(file, time)).toBe(Math.round(time * 30));
});

it('is made by the next process when the server is killed over it, and nothing of the first is left', async () => {
  await using killed = await startServer();
  const source = path('long.mp4');
  await ffmpeg(...numbered(120), ...sound(120), ...h264, '-c:a', 'aac', source);
  const { assetId } = await upload(killed, source);
  // So slow that there is time to kill it.
  const asked = await transcode(killed, {
    id: assetId,
    profile: { ...small, width: 1280, height: 720, gop: 'intra' },
  });
  const first = killed.pid;
  await until(
    'it to be under way',
    async () => (await get(killed, `/api/task/${asked.task.id}`)).status.progress > 0,
    { within: 60_000 },
  );
  expect(await processesOf(first)).not.toEqual([]);
  await killed.kill();
  await until('its processes to be gone', async () => (await processesOf(first)).length === 0, {
    within: 10_000,
  });
  await killed.restart();
  const { status } = await ended(killed, asked, 200_000);
  expect(status).toMatchObject({ phase: 'completed' });
  const asset = await get(killed, `/api/asset/${asked.asset.id}`);
  expect(Math.abs(asset.videoSpec.duration - 120)).toBeLessThan(1 / 30);
  expect(await processesOf(killed.pid)).toEqual([]);
  expect(await readdir(join(killed.dataDir, 'uploads'))).toEqual([]);
});

it('waits and says so where ffmpeg is not installed', async () => {
  await using without = await startServer({ env: { MILLRACE_FFMPEG__PATH: '/nowhere/ffmpeg' } });
  const source = path('for-nobody.mp4');
  await ffmpeg(...numbered(2, '320x180'), ...h264, source);
  const asked = await transcode(without, { id: (await upload(without, source)).assetId });
  const status = await until(
    'the task to say why it waits',
    async () => {
      const { status } = await get(without, `/api/task/${asked.task.id}`);
      return status.errorMessage !== undefined && status;
    },
    { within: 20_000 },
  );
  expect(status).toMatchObject({
    phase: 'waiting',
    errorMessage: expect.stringContaining('ffmpeg is not installed'),
  });
});
