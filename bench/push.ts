import { setPriority } from 'node:os';
import { clipWords, loadClip } from './harness/clip.ts';
import { machine, median, printTable, spread } from './harness/figures.ts';
import { startLoad } from './harness/load.ts';
import { millrace, type Stream } from './harness/millrace.ts';
import { nginxRtmp } from './harness/nginx-rtmp.ts';
import { optionsOf } from './harness/options.ts';
import { type Usage, usageOf } from './harness/process-figures.ts';
import { receiver } from './harness/receiver.ts';
import { until } from './harness/subject.ts';

/**
 * What a multistream target costs, against what the stream costs without any: ingest and packaging. The same server
 * with the same load is measured without targets, with them, and without again; nginx-rtmp with its `push` likewise.
 * The server runs on one core, load and far sides on the other. Run: bun bench/push.ts [options]
 */
const usage = `  --streams 20     publishers
  --targets 3      of each stream
  --rounds 3       measured rounds of each server, in turns
  --seconds 15     length of a measurement; a round has three
  --warm-up 10     seconds on the air before each
  --only a,b       of ours, nginx
  --nice=0         priority of servers and load, -20 (first) to 19`;

const serverCore = 0;
const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** A target may cost this share of what its stream costs. */
const goal = 0.3;

const values = optionsOf(usage, {
  streams: 20,
  targets: 3,
  rounds: 3,
  seconds: 15,
  'warm-up': 10,
  only: 'ours,nginx',
  nice: 0,
});
setPriority(values.nice);
const { streams, targets, seconds } = values;

interface Round {
  readonly name: string;
  /** Percent of a core: with nobody on the air, a stream without targets beyond that, and a target of it. */
  readonly idle: number;
  readonly stream: number;
  readonly target: number;
  /** Mb/s that each target got. */
  readonly rate: number;
  /** Percent of the time that the server was ready to run and others ran. */
  readonly waited: number;
}

const clip = await loadClip();
const measures: Readonly<Record<string, () => Promise<Round>>> = { ours: measureOurs, nginx: measureNginx };
const names = values.only.split(',');
const rounds: Round[] = [];
for (let n = 1; n <= values.rounds; n += 1) {
  for (const name of names) {
    const measure = measures[name];
    if (measure === undefined) throw new Error(`--only: there is no ${name}`);
    const round = await measure();
    rounds.push(round);
    console.log(
      `round ${n} ${name.padEnd(6)} idle ${round.idle.toFixed(2)} %, stream ${round.stream.toFixed(4)} %, ` +
        `target ${round.target.toFixed(4)} % (${(round.target / round.stream).toFixed(3)}), ` +
        `${round.rate.toFixed(2)} Mb/s to each target, waited ${round.waited.toFixed(1)} %`,
    );
  }
}
report();

/** Targets come and go by the API while the broadcasts go on: nothing else differs. */
async function measureOurs(): Promise<Round> {
  const sink = await receiver({ core: loadCore, streams: 0, drop: 'bytes' });
  const server = await millrace({ core: serverCore });
  const made: Stream[] = [];
  for (let n = 1; n <= streams; n += 1) made.push(await server.createStream(`push ${n}`));
  const ask = async (method: string, path: string, body: unknown) => {
    const answer = await server.call(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as { id?: string });
  };
  const ids: string[] = [];
  for (let n = 1; n <= targets; n += 1) {
    const url = `rtmp://127.0.0.1:${sink.port}/live/target-${n}`;
    const { id } = await ask('POST', '/api/multistream/target', { name: `target ${n}`, url });
    ids.push(id ?? '');
  }
  const setTargets = async (wanted: readonly string[]) => {
    const multistream = { targets: wanted.map((id) => ({ profile: 'source', id })) };
    for (const { id } of made) await ask('PATCH', `/api/stream/${id}`, { multistream });
    const all = streams * wanted.length;
    await until(`${all} pushes`, () => sink.report.publishing === all, { within: 30_000, every: 100 });
  };

  await pause();
  const idle = await take(server.pid);
  const load = await startLoad(
    { clip, ingestUrls: made.map(({ ingestUrl }) => ingestUrl), playlistUrls: [], startOver },
    { core: loadCore },
  );
  await pause();
  const before = await take(server.pid);
  await setTargets(ids);
  await pause();
  const bytes = sink.report;
  const during = await take(server.pid);
  const rate = rateOf(bytes, sink.report);
  await setTargets([]);
  await pause();
  const after = await take(server.pid);
  if (load.report.publishing !== streams)
    throw new Error(`only ${load.report.publishing} of ${streams} publishers were left`);
  await load.stop();
  await server.stop();
  await sink.stop();
  return roundOf('ours', { idle, without: [before, after], during, rate });
}

/** Its targets are in its configuration: one nginx with them stands beside one without, and the load changes sides. */
async function measureNginx(): Promise<Round> {
  const sink = await receiver({ core: loadCore, streams: 0, drop: 'bytes' });
  const pushTo = Array<string>(targets).fill(`rtmp://127.0.0.1:${sink.port}/live`);
  const plain = await nginxRtmp({ core: serverCore, streams });
  const pushing = await nginxRtmp({ core: serverCore, streams, pushTo });
  await pause();
  const idle = await take(plain.pid);
  const loaded = async (subject: typeof plain, pushes: number) => {
    const load = await startLoad(
      { clip, ingestUrls: subject.ingestUrls, playlistUrls: [], startOver },
      { core: loadCore },
    );
    await until(`${pushes} pushes`, () => sink.report.publishing === pushes, { within: 30_000, every: 100 });
    await pause();
    const bytes = sink.report;
    const taken = await take(subject.pid);
    const rate = rateOf(bytes, sink.report);
    if (load.report.publishing !== streams)
      throw new Error(`nginx: only ${load.report.publishing} of ${streams} publishers were left`);
    await load.stop();
    return { ...taken, rate };
  };
  const before = await loaded(plain, 0);
  const during = await loaded(pushing, streams * targets);
  await until('the pushes to end', () => sink.report.publishing === 0, { within: 30_000, every: 100 });
  const after = await loaded(plain, 0);
  await plain.stop();
  await pushing.stop();
  await sink.stop();
  return roundOf('nginx', { idle, without: [before, after], during, rate: during.rate });
}

interface Taken {
  readonly cpu: number;
  readonly waited: number;
}

/** Percent of a core over a measurement, by what the threads ran: finer than the ticks of a process. */
async function take(pid: number): Promise<Taken> {
  const ran = ({ threads }: Usage) => [...threads.values()].reduce((sum, one) => sum + one, 0);
  const began = performance.now();
  const before = usageOf(pid);
  await Bun.sleep(seconds * 1000);
  const after = usageOf(pid);
  const took = (performance.now() - began) / 1000;
  return {
    cpu: ((ran(after) - ran(before)) / took) * 100,
    waited: ((after.waited - before.waited) / took) * 100,
  };
}

function roundOf(
  name: string,
  taken: { idle: Taken; without: readonly Taken[]; during: Taken; rate: number },
): Round {
  const { idle, without, during, rate } = taken;
  const plain = without.reduce((sum, { cpu }) => sum + cpu, 0) / without.length;
  return {
    name,
    idle: idle.cpu,
    stream: (plain - idle.cpu) / streams,
    target: (during.cpu - plain) / streams / targets,
    rate,
    waited: Math.max(...without.map(({ waited }) => waited), during.waited),
  };
}

function rateOf(before: { at: number; bytes: number }, after: { at: number; bytes: number }): number {
  const took = (after.at - before.at) / 1000;
  return ((after.bytes - before.bytes) * 8) / took / streams / targets / 1e6;
}

function pause(): Promise<void> {
  return Bun.sleep(values['warm-up'] * 1000);
}

function report(): void {
  console.log();
  const of = (name: string) => rounds.filter((round) => round.name === name);
  printTable(
    ['server', 'idle %', '% per stream', '% per target', 'target / stream', 'Mb/s per target', 'waited %'],
    names.map((name) => [
      name,
      spread(
        of(name).map(({ idle }) => idle),
        2,
      ),
      spread(
        of(name).map(({ stream }) => stream),
        4,
      ),
      spread(
        of(name).map(({ target }) => target),
        4,
      ),
      spread(
        of(name).map(({ target, stream }) => target / stream),
        3,
      ),
      spread(
        of(name).map(({ rate }) => rate),
        2,
      ),
      spread(
        of(name).map(({ waited }) => waited),
        1,
      ),
    ]),
  );
  const targetOf = (name: string) => median(of(name).map(({ target }) => target));
  if (names.includes('ours') && names.includes('nginx'))
    console.log(`\na target of ours / of nginx-rtmp: ${(targetOf('ours') / targetOf('nginx')).toFixed(3)}`);
  const ratio = median(of('ours').map(({ target, stream }) => target / stream));
  if (names.includes('ours'))
    console.log(
      `goal: at most ${goal} of its stream: ${ratio <= goal ? 'met' : 'MISSED'} with ${ratio.toFixed(3)}`,
    );
  console.log(
    `\n${streams} streams of ${clipWords}, ${targets} targets each; ${values.rounds} rounds in turns; each without targets, with them and\n` +
      `without again, ${seconds} s measured after ${values['warm-up']} s; server on core ${serverCore}, load and far sides (which read and forget) on core\n` +
      `${loadCore}, priority ${values.nice}. Percent of a core, what the threads ran. Per stream: beyond the idle server. waited: ready to run, but others ran.\n` +
      machine(),
  );
}
