/** What becomes of renditions when their ffmpeg dies or hangs, when the encoder is cut off, and when the profiles change meanwhile. */
import { beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import type { Clip } from '../kit/publisher/flv-file.ts';
import { compare } from './alignment.ts';
import { type OnAir, onAir, renditionIssues } from './on-air.ts';
import { paintedClip } from './painted-clip.ts';
import { gapsIn, shownNumbers } from './shown-numbers.ts';
import { transcodersOf } from './transcoders.ts';
import { type Following, follow, offered, offers, variantsOf } from './variants.ts';

/** A process that gives nothing for so long is killed. */
const stall = 3000;
const env = {
  MILLRACE_RENDITIONS__STALL: `${stall}ms`,
  MILLRACE_PLUGINS__STREAMS__HOLD: '6s',
  MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '6s',
};

let clip: Clip;
beforeAll(async () => {
  clip = await paintedClip({ width: 640, height: 360, bFrames: 2, seconds: 30 });
}, 60_000);

const profiles = [
  { name: '240p', width: 426, height: 240, bitrate: 500_000, fps: 0 },
  { name: '180p', width: 320, height: 180, bitrate: 300_000, fps: 0 },
];
const names = ['source', 'r1', 'r2'];

/** Follows all three from now on. */
const followAll = (live: OnAir): Following[] => names.map((name) => follow(live.mediaUrl(name), { name }));

/** Nothing was refused, nothing is missing, and what there is is aligned. */
async function expectSeamless(all: readonly Following[], options: { seconds: number }): Promise<void> {
  for (const one of all) await one[Symbol.asyncDispose]();
  for (const { name, problems, refusals } of all)
    expect([name, problems.slice(0, 2), refusals.slice(0, 2)]).toEqual([name, [], []]);
  for (const { name, segments } of all) {
    const numbers = [...segments.keys()];
    expect(numbers, name).toEqual(numbers.map((_, n) => numbers[0] + n));
    expect([name, gapsIn(await shownNumbers([...segments.values()]), { of: clip.frames })]).toEqual([
      name,
      [],
    ]);
  }
  const [source, ...renditions] = all;
  for (const rendition of renditions) {
    const { differences, duration } = compare(source.segments, rendition.segments, { hasMoreKeys: true });
    expect([rendition.name, differences.slice(0, 5)]).toEqual([rendition.name, []]);
    expect(duration).toBeGreaterThan(options.seconds);
  }
}

/** The process that makes the renditions; another one than `not`. */
const transcoder = (server: Server, options: { not?: number; within?: number } = {}) =>
  until(
    'an ffmpeg',
    () => {
      const found = transcodersOf(server);
      if (found.length > 1) throw new Error(`${found.length} of them`);
      return found[0] === options.not ? undefined : found[0];
    },
    { within: options.within ?? 10_000, every: 20 },
  );

test.concurrent('killed three times, the source does not notice, and no picture of the renditions is missing', async () => {
  await using server = await startServer({ env });
  await using live = await onAir(server, { name: 'killed', clip, profiles });
  const all = followAll(live);
  await lasting(4000);
  let pid = await transcoder(server);
  const back: number[] = [];
  for (let kills = 0; kills < 3; kills += 1) {
    process.kill(pid, 'SIGKILL');
    const killedAt = performance.now();
    // It is told until some seconds after they are back, which may be before all of them are read.
    const told = until('the issue', async () => (await renditionIssues(server, live.stream.id)).length > 0, {
      within: 10_000,
    });
    pid = await transcoder(server, { not: pid });
    await until(
      'parts of both renditions',
      () => all.slice(1).every(({ newestAt }) => newestAt > killedAt + 1000),
      {
        within: 10_000,
      },
    );
    await offers(live.url, { names, within: 10_000 });
    back.push(Math.round(performance.now() - killedAt));
    await told;
    await lasting(2000);
  }
  console.log(`renditions were back after ${back.join(', ')} ms`);
  await until('no issue', async () => (await renditionIssues(server, live.stream.id)).length === 0, {
    within: 20_000,
  });
  await expectSeamless(all, { seconds: 9 });
});

test.concurrent('one that hangs is killed by its deadline, the source does not notice, and no picture is missing', async () => {
  await using server = await startServer({ env });
  await using live = await onAir(server, { name: 'hangs', clip, profiles });
  const all = followAll(live);
  await lasting(4000);
  const pid = await transcoder(server);
  process.kill(pid, 'SIGSTOP');
  try {
    await until('the issue', async () => (await renditionIssues(server, live.stream.id)).length > 0, {
      within: stall + 10_000,
    });
    await transcoder(server, { not: pid, within: stall + 10_000 });
    expect(transcodersOf(server)).not.toContain(pid);
  } finally {
    // If it is still there, this is a failed test, and it is not to be left.
    if (transcodersOf(server).includes(pid)) process.kill(pid, 'SIGKILL');
  }
  await offers(live.url, { names, within: 10_000 });
  await lasting(4000);
  await until('no issue', async () => (await renditionIssues(server, live.stream.id)).length === 0, {
    within: 20_000,
  });
  await expectSeamless(all, { seconds: 9 });
});

test.concurrent('the encoder is cut off and comes back: renditions go on behind the same discontinuity', async () => {
  await using server = await startServer({ env });
  await using live = await onAir(server, { name: 'cut off', clip, profiles });
  const all = followAll(live);
  await lasting(6000);
  await live.reconnect();
  await until('six segments behind it', () => all.every((one) => segmentsBehind(one) >= 4), {
    within: 40_000,
  });
  for (const one of all) await one[Symbol.asyncDispose]();
  for (const { name, problems, refusals } of all)
    expect([name, problems.slice(0, 2), refusals.slice(0, 2)]).toEqual([name, [], []]);
  const [source, ...renditions] = all;
  for (const rendition of renditions) {
    const { differences, segments } = compare(source.segments, rendition.segments);
    expect([rendition.name, differences.slice(0, 5)]).toEqual([rendition.name, []]);
    expect(segments).toBeGreaterThan(5);
    // Decoded in two goes: each side of the seam alone is as whole as the source. That lacks B-frames where its encoder was cut off
    // between a picture and those that are shown before it.
    for (const side of [0, 1]) {
      const sideOf = ({ segments }: Following) => {
        const listed = [...segments.values()];
        return listed.filter(({ discontinuities }) => discontinuities === listed[0].discontinuities + side);
      };
      const own = sideOf(rendition);
      expect(own.length).toBeGreaterThan(1);
      const gaps = gapsIn(await shownNumbers(sideOf(source)), { of: clip.frames });
      expect(gaps.length).toBeLessThanOrEqual(1 - side);
      expect(gapsIn(await shownNumbers(own), { of: clip.frames })).toEqual(gaps);
    }
  }
  await transcoder(server);
});

/** Whole segments since the first discontinuity that was seen. */
function segmentsBehind({ segments }: Following): number {
  const all = [...segments.values()];
  return all.filter(({ discontinuities }) => discontinuities > all[0].discontinuities).length;
}

test.concurrent('other profiles in mid-broadcast: this session keeps its own, the next has the new', async () => {
  const short = { MILLRACE_PLUGINS__STREAMS__HOLD: '4s', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '5s' };
  await using server = await startServer({ env: { ...env, ...short } });
  const live = await onAir(server, { name: 'patched', clip, profiles });
  try {
    const changed = [{ name: '120p', width: 240, height: 136, bitrate: 200_000, fps: 0 }];
    await server.api.patchStream(live.stream.id, { profiles: changed });
    await lasting(3000);
    expect(await offered(live.url)).toEqual(names);
    await live.reconnect();
    await offers(live.url, { names, within: 20_000 });
    await live.encoder.stop({ clean: true });
    await until('the end', async () => !(await server.api.getStream(live.stream.id)).isActive, {
      within: 30_000,
    });
    await until('no process', () => transcodersOf(server).length === 0, { within: 20_000 });
    // Until then it would be the same session.
    await lasting(6000);
    await live.reconnect();
    await offers(live.url, { names: ['source', 'r1'], within: 30_000 });
    expect(await server.api.listSessions(live.stream.id)).toHaveLength(2);
    const [, rendition] = await variantsOf(live.url);
    expect(rendition.resolution).toBe('240x136');
  } finally {
    await live[Symbol.asyncDispose]();
  }
});
