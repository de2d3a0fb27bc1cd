/**
 * Two of three targets stall for a minute while a stream is broadcast: what that does to ingest, to the third and to memory.
 * Needs nginx with its RTMP module. Run: npm run soak -- multistream [--seconds 60]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { memoryEnv } from '../e2e/harness/memory.ts';
import { numbersIn, runsOf } from '../e2e/harness/numbered.ts';
import { startServer } from '../e2e/harness/server.ts';
import { flvOf } from '../multistream/heard.ts';
import { missing } from '../multistream/received.ts';
import { stall } from '../multistream/stall.ts';
import { verdict } from './recording/verdict.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  console.log('  --seconds 60   length of the stall; from 90 on a target is given up (push.stall)');
  process.exit(0);
}
const seconds = Number(values.seconds);
const MiB = 2 ** 20;
/** Default of `push.queue`. */
const queue = 8 * MiB;
const on = verdict();
await using server = await startServer({ env: memoryEnv });
await using stalled = await stall(server, { seconds });
const { told, sent, ends, memory, jitter, jitterBeside, issues } = stalled;
const say = (list: readonly string[]) => list.join(', ') || 'none';
const numbersOf = { healthy: files(stalled.healthy), frozen: files(stalled.frozen) };
const paused = stalled.paused.map(({ heard }) => numbersIn(Buffer.from(flvOf(heard))));

const healthy = runsOf(numbersOf.healthy[0]);
on.tell('broadcast', `${((stalled.rate * 8) / 1e6).toFixed(1)} Mb/s, ${sent} pictures`);
on.check('connections of encoders that ended', { figure: say(ends), must: 'none', isSo: ends.length === 0 });
on.check('pictures that the healthy target lacks', {
  figure: String(missing(healthy)),
  must: '0',
  isSo: numbersOf.healthy.length === 1 && healthy.length === 1 && healthy[0][1] === sent - 1,
});
for (const [name, lists] of [
  ['frozen', numbersOf.frozen],
  ['paused', paused],
] as const) {
  const [numbers] = lists;
  const runs = runsOf(numbers);
  on.check(`${name}: connections`, { figure: String(lists.length), must: '1', isSo: lists.length === 1 });
  on.tell(`${name}: pictures left out`, String(missing(runs)));
  on.check(`${name}: goes on with a key frame, to the end`, {
    figure: runs.map(([first, last]) => `${first}-${last}`).join(', '),
    must: `n × 60 to ${sent - 1}`,
    isSo: runs.every(([first]) => first % 60 === 0) && runs.at(-1)?.[1] === sent - 1,
  });
  on.check(`${name}: events`, {
    figure: say(told[name]),
    must: 'connected, error, disconnected',
    isSo: told[name].map((one) => one.replace(/:.*/s, '')).join() === 'connected,error,disconnected',
  });
}
on.check('jitter of ingest, worst; of a stream beside', {
  figure: `${jitter} ms; ${jitterBeside} ms`,
  must: 'alike (within 300 ms)',
  isSo: jitter < jitterBeside + 300,
});
const others = issues.filter((text) => !text.startsWith('Multistream target '));
on.check('issues that the stream beside had not, but of the targets', {
  figure: say(others),
  must: 'none',
  isSo: others.length === 0,
});
const mib = (bytes: number) => `${(bytes / MiB).toFixed(1)} MiB`;
on.check('memory held at the end of the stall, more than before', {
  figure: `${mib(memory.held - memory.before)} on ${mib(memory.before)}`,
  must: `< ${mib(2 * queue)} + 12 MiB`,
  isSo: memory.held - memory.before < 2 * queue + 12 * MiB,
});
on.check('memory at most during it; without a stall', {
  figure: `+${mib(memory.most)}; +${mib(memory.usual)}`,
  must: `< that + ${mib(2 * queue)} + 24 MiB`,
  isSo: memory.most < memory.usual + 2 * queue + 24 * MiB,
});
process.exitCode = on.finish() ? 0 : 1;

function files(paths: readonly string[]): number[][] {
  return paths.map((path) => numbersIn(readFileSync(path)));
}
