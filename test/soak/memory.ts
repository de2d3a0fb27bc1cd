import { clipWords, loadClip } from '../../bench/harness/clip.ts';
import { machine, printTable } from '../../bench/harness/figures.ts';
import { startLoad } from '../../bench/harness/load.ts';
import { millrace } from '../../bench/harness/millrace.ts';
import { optionsOf } from '../../bench/harness/options.ts';
import { memoryOf, percentOf, usageOf } from '../../bench/harness/process-figures.ts';

/**
 * What broadcasts leave in memory: rounds of them on one server, all begun and ended together, and what it holds on the
 * air and a while after the last one. Run: npm run soak -- memory [options]
 */
const usage = `  --streams 30     broadcasts of a round
  --rounds 6       rounds
  --seconds 25     on the air
  --after 40       seconds after the end until it is measured
  --most 40        MB that may be left above what it had before the first round`;

const MB = 2 ** 20;
const [serverCore, loadCore] = [0, 1];
const values = optionsOf(usage, { streams: 30, rounds: 6, seconds: 25, after: 40, most: 40 });
const { streams, seconds } = values;

const clip = await loadClip();
const server = await millrace({
  core: serverCore,
  streams,
  // Encoders that vanish are not waited for, so that all memory of a round is given back before it is measured.
  env: { MILLRACE_PLUGINS__STREAMS__HOLD: '2s' },
});
const idle = memoryOf(server.pid).rss;
const rows: string[][] = [];
let left = 0;
for (let round = 1; round <= values.rounds; round += 1) {
  const load = await startLoad(
    { clip, ingestUrls: [...server.ingestUrls], playlistUrls: [], startOver: 2000 },
    { core: loadCore },
  );
  await Bun.sleep((seconds * 1000) / 2);
  const before = usageOf(server.pid);
  await Bun.sleep((seconds * 1000) / 2);
  const cpu = percentOf(before, usageOf(server.pid), seconds / 2) / streams;
  const onAir = memoryOf(server.pid).rss;
  await load.stop();
  await Bun.sleep(values.after * 1000);
  const after = memoryOf(server.pid).rss;
  left = after - idle;
  rows.push([String(round), mb(idle), mb(onAir), mb(after), mb((onAir - idle) / streams), cpu.toFixed(3)]);
  console.log(`round ${round}: ${mb(onAir)} MB on the air, ${mb(after)} MB ${values.after} s after`);
}
await server.stop();
printTable(['round', 'idle MB', 'on air MB', 'after MB', 'MB per stream', '% of a core per stream'], rows);
console.log(`\n${streams} streams of ${clipWords}, ${seconds} s on the air. ${machine()}`);
if (left > values.most * MB) {
  console.log(`${mb(left)} MB are left after the last round, more than ${values.most}`);
  process.exitCode = 1;
}

function mb(bytes: number): string {
  return (bytes / MB).toFixed(1);
}
