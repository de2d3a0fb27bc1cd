/** Renditions pushed to other servers beside the source, while their transcoder lives and when it is killed. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { complaints, probe } from '../e2e/harness/film-tools.ts';
import { startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { type Clip, readFlvTags } from '../kit/publisher/flv-file.ts';
import { onAir } from '../renditions/on-air.ts';
import { paintedClip } from '../renditions/painted-clip.ts';
import { gapsIn, numbersPainted } from '../renditions/shown-numbers.ts';
import { transcodersOf } from '../renditions/transcoders.ts';
import { startFarSide } from './far-side.ts';
import { flvOf } from './heard.ts';
import { hasNginx, startNginx } from './nginx.ts';
import { targetsOf } from './targets.ts';

const host = '127.0.0.76';
const profiles = [
  { name: '240p', width: 426, height: 240, bitrate: 400_000, fps: 0 },
  { name: '180p', width: 320, height: 180, bitrate: 300_000, fps: 0 },
];

const bFrames = 2;
let clip: Clip;
let folder: string;

/**
 * What a server got is whole: this picture, with the numbers of all pictures in order, and sound for all the time. Answers the
 * last number.
 */
async function wholeIn(flv: Uint8Array, size: { width: number; height: number }): Promise<number> {
  const path = join(folder, `${crypto.randomUUID()}.flv`);
  await writeFile(path, flv);
  const { streams } = await probe(path);
  const video = streams.find(({ codec_type }) => codec_type === 'video');
  const audio = streams.find(({ codec_type }) => codec_type === 'audio');
  expect(video).toMatchObject({ codec_name: 'h264', ...size });
  expect(audio).toMatchObject({ codec_name: 'aac', sample_rate: '48000' });
  expect(await complaints(path)).toBe('');
  const numbers = await numbersPainted(flv);
  const shown = numbers.map((number, time) => ({ number, time, sequence: 0 }));
  // The encoder may end amid B-frames, behind a picture that is shown after them.
  const inOrder = shown.slice(0, -bFrames - 1);
  expect(gapsIn(inOrder, { of: clip.frames })).toEqual([]);
  expect(numbers.length).toBe(Number(video?.nb_read_frames));
  expect(numbers.length).toBeGreaterThan(300);
  const sound = (Number(audio?.nb_read_packets) * 1024) / 48_000;
  expect(Math.abs(sound - numbers.length / 30), `${sound} s of sound`).toBeLessThan(0.5);
  for (const type of ['audio', 'video']) {
    const times = readFlvTags(Buffer.from(flv)).flatMap((tag) => (tag.type === type ? [tag.timestamp] : []));
    const steps = times.slice(1).map((time, n) => time - times[n]);
    // No gap, and nothing goes back. Headers have the time of what they precede.
    expect([Math.min(...steps) >= 0, Math.max(...steps) < 120], type).toEqual([true, true]);
  }
  return inOrder.at(-1)?.number ?? -1;
}

describe.skipIf(!hasNginx)('multistream of renditions', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-pushed-renditions-'));
    clip = await paintedClip({ width: 640, height: 360, bFrames, seconds: 60 });
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('a target of the source and some of renditions: all of it comes, also when the transcoder is killed', async () => {
    await using nginx = await startNginx({ host });
    await using far = startFarSide({ host });
    await using server = await startServer();
    const targets = targetsOf(server, await server.openEvents());
    await using live = await onAir(server, { name: 'pushed', clip, profiles });
    const made = async (name: string, profile: string, url: string) => ({
      ...(await targets.create(name, { url })),
      profile,
    });
    const source = await made('source', 'source', far.url('source'));
    const small = await made('small', '240p', nginx.url('small'));
    const other = await made('other', '180p', far.url('other'));
    const all = [source, small, other];
    await targets.set(live.stream, all);
    for (const target of all) await targets.ends(target, ['connected']);
    const heard = () => far.connections('other')[0].heard.length;
    const more = async () => {
      const before = heard();
      await until('some seconds of a rendition', () => heard() > before + 300, { within: 20_000 });
    };
    await more();
    for (let deaths = 0; deaths < 2; deaths += 1) {
      const [pid] = transcodersOf(server);
      process.kill(pid, 'SIGKILL');
      await until('another transcoder', () => transcodersOf(server).some((one) => one !== pid), {
        within: 10_000,
      });
      await more();
    }
    await lasting(2000);
    const { issues = [] } = await server.api.getStream(live.stream.id);
    expect(issues.filter((issue) => issue.includes('ultistream'))).toEqual([]);
    await live.encoder.stop({ clean: true });
    for (const target of all) await targets.ends(target, ['disconnected']);

    for (const target of all) expect(targets.told(target)).toEqual(['connected', 'disconnected']);
    const recordings = nginx.recordings('small');
    expect([recordings.length, far.connections('source').length, far.connections('other').length]).toEqual([
      1, 1, 1,
    ]);
    const last = await wholeIn(flvOf(far.connections('source')[0].heard), { width: 640, height: 360 });
    const lasts = [
      await wholeIn(readFileSync(recordings[0]), { width: 426, height: 240 }),
      await wholeIn(flvOf(far.connections('other')[0].heard), { width: 320, height: 180 }),
    ];
    // They are behind the source by a little, and end with the broadcast.
    console.log(`the source ended with picture ${last}, renditions with ${lasts.join(', ')}`);
    for (const one of lasts) expect((last - one + clip.frames) % clip.frames).toBeLessThan(90);
  }, 180_000);
});
