/**
 * A broadcast with two renditions whose ffmpeg is killed or stopped again and again: is any picture missing, does anything stray from
 * the source, what stays behind? Minute by minute. Run: npm run soak -- renditions [--minutes 10] [--kills 2]
 */
import { parseArgs } from 'node:util';
import { memoryEnv, residentAfterCollection } from '../e2e/harness/memory.ts';
import { startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { compare } from '../renditions/alignment.ts';
import { namesOf, onAir, renditionIssues, twoProfiles } from '../renditions/on-air.ts';
import { paintedClip } from '../renditions/painted-clip.ts';
import { gapsIn, shownNumbers } from '../renditions/shown-numbers.ts';
import { transcodersOf } from '../renditions/transcoders.ts';
import { type Following, follow, offered } from '../renditions/variants.ts';
import { verdict } from './recording/verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    kills: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(
    '  --minutes 10   how long\n  --kills 2      a minute; every third stops the process instead (SIGSTOP)',
  );
  process.exit(0);
}
const [minutes, kills] = [Number(values.minutes), Number(values.kills)];
const on = verdict();
const clip = await paintedClip({ bFrames: 2, seconds: 120 });
await using server = await startServer({ env: { ...memoryEnv, MILLRACE_RENDITIONS__STALL: '3s' } });
await using live = await onAir(server, { name: 'soak', clip });
const names = namesOf(twoProfiles.length);
const followAll = () => names.map((name) => follow(live.mediaUrl(name), { name }));

const back: number[] = [];
const memory: number[] = [];
const found: string[] = [];
let pictures = 0;
let signals = 0;
let following = followAll();
for (let minute = 1; minute <= minutes; minute += 1) {
  for (let n = 0; n < kills; n += 1) {
    await Bun.sleep((60_000 / kills) * (0.3 + 0.4 * Math.random()));
    await hurt();
  }
  await Bun.sleep(5000);
  // Those of the next minute begin before these end.
  const next = followAll();
  await Bun.sleep(8000);
  const seen = await judge(following);
  following = next;
  found.push(...seen);
  memory.push(await residentAfterCollection(server));
  on.tell(`minute ${minute}`, seen.join('; ') || 'all there');
}
for (const one of following) await one[Symbol.asyncDispose]();

on.tell('pictures of renditions seen', String(pictures));
on.check('what was missing, astray or refused', {
  figure: found[0] ?? 'nothing',
  must: 'nothing',
  isSo: found.length === 0,
});
on.check('back after a kill, longest', {
  figure: `${Math.max(0, ...back)} ms of ${back.length}`,
  must: '< 5000 ms',
  isSo: back.every((ms) => ms < 5000),
});
const grown = (memory.at(-1) ?? 0) - (memory[0] ?? 0);
on.check('memory of the server from the first minute to the last', {
  figure: `${(grown / 2 ** 20).toFixed(1)} MiB`,
  must: '< 32 MiB',
  isSo: grown < 32 * 2 ** 20,
});
const issues = await renditionIssues(server, live.stream.id);
on.check('issues at the end', {
  figure: issues.join('; ') || 'none',
  must: 'none',
  isSo: issues.length === 0,
});
await live.encoder.stop({ clean: true });
const left = await until('no process', () => transcodersOf(server).length === 0, { within: 60_000 }).catch(
  () => false,
);
on.check('processes at the end', {
  figure: String(transcodersOf(server).length),
  must: '0',
  isSo: left === true,
});
process.exitCode = on.finish() ? 0 : 1;

/** Kills or stops the process, and waits until another made new parts of every rendition. */
async function hurt(): Promise<void> {
  const [pid] = transcodersOf(server);
  if (pid === undefined) {
    found.push('there is no process to kill');
    return;
  }
  signals += 1;
  const isStopped = signals % 3 === 0;
  process.kill(pid, isStopped ? 'SIGSTOP' : 'SIGKILL');
  const at = performance.now();
  await until(
    'the renditions',
    async () => {
      const isBack = following.slice(1).every(({ newestAt }) => newestAt > at + 1000);
      return (
        !transcodersOf(server).includes(pid) && isBack && (await offered(live.url)).length === names.length
      );
    },
    { within: 30_000 },
  ).catch((error) => void found.push(String(error)));
  if (!isStopped) back.push(Math.round(performance.now() - at));
}

/** What is wrong with what was seen; it is no longer followed. */
async function judge(all: readonly Following[]): Promise<string[]> {
  for (const one of all) await one[Symbol.asyncDispose]();
  const wrong = all.flatMap(({ name, problems, refusals }) =>
    [...problems, ...refusals].map((problem) => `${name}: ${problem}`),
  );
  const [source, ...renditions] = all;
  for (const { name, segments } of all) {
    const shown = await shownNumbers([...segments.values()]);
    if (name !== 'source') pictures += shown.length;
    wrong.push(...gapsIn(shown, { of: clip.frames }).map((gap) => `${name}: ${gap}`));
    const numbers = [...segments.keys()];
    if (numbers.some((number, n) => number !== numbers[0] + n)) wrong.push(`${name}: a segment is missing`);
  }
  for (const { name, segments } of renditions)
    wrong.push(
      ...compare(source.segments, segments, { hasMoreKeys: true }).differences.map(
        (one) => `${name}: ${one}`,
      ),
    );
  return wrong;
}
