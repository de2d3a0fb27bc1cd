import { clipWords, loadClip } from '../../bench/harness/clip.ts';
import { machine, printTable } from '../../bench/harness/figures.ts';
import { type Load, startLoad } from '../../bench/harness/load.ts';
import { type Millrace, millrace } from '../../bench/harness/millrace.ts';
import { optionsOf } from '../../bench/harness/options.ts';
import { memoryOf, percentOf, usageOf } from '../../bench/harness/process-figures.ts';
import { outputDefaults } from '../../runtime/media/live/config.ts';

/**
 * What broadcasts hold in memory beyond the media that their playlists list, and what they leave. Three runs, each on a server of its
 * own: `fresh`, nobody watches; `watched`, a third of them has a viewer; `rounds`, broadcasts that come and go, all together.
 * Run: npm run soak -- memory [options]
 */
const usage = `  --only a,b       of fresh, watched, rounds
  --streams 50     broadcasts of fresh and watched
  --seconds 60     on the air in these two
  --round-streams 30  broadcasts of a round
  --rounds 6       rounds
  --round-seconds 25  on the air in a round
  --between 20     seconds between two rounds
  --after 60       seconds after the last round until it is measured
  --variant='A=1'  runs the servers with this environment`;

const MB = 1e6;
/** The promises: MB of a stream beyond its window, growth from the second round to the last, MB that are left. */
const most = { fresh: 2, watched: 3, growth: 1.1, left: 60 };
const watchedShare = 1 / 3;
const [serverCore, loadCore] = [0, 1];

const values = optionsOf(usage, {
  only: 'fresh,watched,rounds',
  streams: 50,
  seconds: 60,
  'round-streams': 30,
  rounds: 6,
  'round-seconds': 25,
  between: 20,
  after: 60,
  variant: '',
});
const clip = await loadClip();
const rows: string[][] = [];
const broken: string[] = [];

const runs: Record<string, () => Promise<void>> = {
  fresh: () => alone('fresh', 0),
  watched: () => alone('watched', watchedShare),
  rounds,
};
for (const name of values.only.split(',')) await runs[name]();

printTable(
  ['run', 'streams', 'idle MB', 'on air MB', 'window MB', 'beyond it MB', 'after MB', '% of a core'],
  rows,
);
console.log(
  `\nStreams of ${clipWords}. Window and what is beyond it: of one stream, the window ${outputDefaults.window} s of what was sent. ` +
    `after: ${values.after} s after the end, or ${values.between} s where another round follows. % of a core: for one stream.\n` +
    machine(),
);
for (const line of broken) console.log(`broken: ${line}`);
process.exit(broken.length > 0 ? 1 : 0);

/** All on one server, once. */
async function alone(name: 'fresh' | 'watched', share: number): Promise<void> {
  const { streams, seconds, after } = values;
  await using server = await serve(streams);
  const readers = Math.round(streams * share);
  const { beyond } = await round(server, { name, streams, readers, seconds, after });
  if (beyond > most[name]) broken.push(`${name}: ${beyond.toFixed(2)} MB of a stream beyond its window`);
}

async function rounds(): Promise<void> {
  const streams = values['round-streams'];
  await using server = await serve(streams);
  const onAir: number[] = [];
  let left = 0;
  for (let n = 1; n <= values.rounds; n += 1) {
    const after = n === values.rounds ? values.after : values.between;
    const seconds = values['round-seconds'];
    const figures = await round(server, { name: `round ${n}`, streams, readers: 0, seconds, after });
    onAir.push(figures.onAir);
    left = figures.left;
  }
  const growth = onAir[onAir.length - 1] / (onAir[1] ?? onAir[0]);
  if (growth > most.growth) broken.push(`the last round has ${growth.toFixed(2)} of what the second had`);
  if (left > most.left * MB) broken.push(`${mb(left)} MB are left after the last round`);
}

interface Server extends AsyncDisposable {
  readonly millrace: Millrace;
  /** Bytes before the first broadcast. */
  readonly idle: number;
}

async function serve(streams: number): Promise<Server> {
  const own = Object.fromEntries(
    values.variant
      .split(' ')
      .filter((word) => word !== '')
      .map((word) => word.split('=', 2)),
  );
  const server = await millrace({
    core: serverCore,
    streams,
    // Encoders that vanish are not waited for, so that all memory of a round is given back before it is measured.
    env: { MILLRACE_PLUGINS__STREAMS__HOLD: '2s', ...own },
  });
  // What the start took goes back first.
  await Bun.sleep(5000);
  return {
    millrace: server,
    idle: memoryOf(server.pid).rss,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function round(
  { millrace: server, idle }: Server,
  options: { name: string; streams: number; readers: number; seconds: number; after: number },
): Promise<{ onAir: number; beyond: number; left: number }> {
  const { name, streams, readers, seconds, after } = options;
  const playlistUrls = server.playlistUrls.slice(0, readers);
  const load = await startLoad(
    { clip, ingestUrls: [...server.ingestUrls], playlistUrls, startOver: 2000 },
    { core: loadCore },
  );
  await Bun.sleep((seconds * 1000) / 2);
  const before = { usage: usageOf(server.pid), at: performance.now(), sent: sentBy(load) };
  await Bun.sleep((seconds * 1000) / 2);
  const took = (performance.now() - before.at) / 1000;
  const cpu = percentOf(before.usage, usageOf(server.pid), took) / streams;
  const onAir = memoryOf(server.pid).rss;
  const sent = sentBy(load);
  const rate = ((sent.bytes - before.sent.bytes) / (sent.at - before.sent.at)) * 1000;
  const { publishing, failures, segments } = load.report;
  await load.stop();
  if (publishing !== streams)
    throw new Error(`${name}: only ${publishing} of ${streams} publishers were left`);
  if (failures > 0 || (readers > 0 && segments === 0))
    broken.push(`${name}: ${failures} reads failed, ${segments} worked`);
  await Bun.sleep(after * 1000);
  const left = memoryOf(server.pid).rss - idle;
  const window = (rate / streams) * outputDefaults.window;
  const beyond = ((onAir - idle) / streams - window) / MB;
  rows.push([
    ...[name, String(streams), mb(idle), mb(onAir), mb(window), beyond.toFixed(2), mb(left + idle)],
    cpu.toFixed(3),
  ]);
  console.log(
    `${name}: ${mb(onAir)} MB on the air, ${beyond.toFixed(2)} of a stream beyond its window, ` +
      `${mb(left + idle)} ${after} s after; ${cpu.toFixed(3)} % of a core for a stream`,
  );
  return { onAir, beyond, left };
}

function sentBy(load: Load): { bytes: number; at: number } {
  return { bytes: load.report.sent, at: load.report.at };
}

function mb(bytes: number): string {
  return (bytes / MB).toFixed(1);
}
