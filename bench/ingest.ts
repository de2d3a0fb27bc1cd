import { parseArgs } from 'node:util';
import { start } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { coreTicks, machine, median, printTable, spread } from './harness/figures.ts';
import { startLoad } from './harness/load.ts';
import { millrace } from './harness/millrace.ts';
import { nginxRtmp } from './harness/nginx-rtmp.ts';
import { busiestThreads, memoryOf, percentOf, usageOf } from './harness/process-figures.ts';
import { receiver } from './harness/receiver.ts';
import type { Subject } from './harness/subject.ts';

/**
 * What a stream costs: CPU and memory of our server against nginx-rtmp with HLS, the same load for both in
 * turns. The server runs on one core, the load on the other. Run: bun bench/ingest.ts [options]
 */
const usage = `  --streams 50     publishers
  --rounds 3       measured rounds of each server, in turns
  --seconds 20     length of a measurement
  --warm-up 20     seconds on the air before it
  --readers 0.1    plain HLS readers for each publisher
  --only a,b       of ours, nginx, and two floors: receiver (our RTMP, media thrown away) and sockets (bytes thrown away)
  --no-check       do not decode three streams in an extra round`;

const serverCore = 0;
const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** Streams that are decoded in the extra round, and for how many seconds. */
const checked = 3;
const checkedSeconds = 8;

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '20' },
    'warm-up': { type: 'string', default: '20' },
    readers: { type: 'string', default: '0.1' },
    only: { type: 'string', default: 'ours,nginx' },
    'no-check': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const streams = Number(values.streams);
const seconds = Number(values.seconds);

const makers: Record<string, () => Promise<Subject>> = {
  ours: () => millrace({ core: serverCore, streams }),
  nginx: () => nginxRtmp({ core: serverCore, streams }),
  receiver: () => receiver({ core: serverCore, streams, drop: 'messages' }),
  sockets: () => receiver({ core: serverCore, streams, drop: 'bytes' }),
};

interface Round {
  name: string;
  /** Percent of a core for each stream. */
  cpu: number;
  /** Bytes: at the end; and for each stream beyond what it had before the load. */
  rss: number;
  pss: number;
  rssPerStream: number;
  pssPerStream: number;
  stored: number;
  /** Mb/s for each stream that the load generator sent. */
  rate: number;
  dropped: number;
  failures: number;
  read: number;
  loadCpu: number;
  /** Percent of the time: the server's core taken by others, and the server kept waiting for it. */
  others: number;
  waited: number;
  threads: [string, number][];
}

const clip = await loadClip();
const names = values.only.split(',');
const rounds: Round[] = [];
for (let n = 1; n <= Number(values.rounds); n += 1) {
  for (const name of names) {
    const round = await measure(name);
    rounds.push(round);
    console.log(
      `round ${n} ${name.padEnd(8)} ${round.cpu.toFixed(4)} % per stream, ${round.rate.toFixed(2)} Mb/s each, ` +
        `${round.dropped} dropped, ${round.failures} failed reads; load generator ${round.loadCpu.toFixed(0)} %, ` +
        `others on the core ${round.others.toFixed(0)} %; ` +
        round.threads.map(([thread, percent]) => `${thread} ${percent.toFixed(2)}`).join(', '),
    );
  }
}
report();
if (!values['no-check'] && names.includes('ours')) await check();
process.exit(process.exitCode ?? 0);

async function measure(name: string): Promise<Round> {
  const subject = await makers[name]();
  const idle = memoryOf(subject.pid);
  const readers = Math.min(Math.ceil(streams * Number(values.readers)), subject.playlistUrls.length);
  const { ingestUrls } = subject;
  const playlistUrls = subject.playlistUrls.slice(0, readers);
  const load = await startLoad({ clip, ingestUrls, playlistUrls, startOver }, { core: loadCore });
  await Bun.sleep(Number(values['warm-up']) * 1000);

  const [before, loadBefore, coreBefore, reportBefore] = [
    usageOf(subject.pid),
    usageOf(load.pid),
    coreTicks(serverCore),
    load.report,
  ];
  const from = performance.now();
  await Bun.sleep(seconds * 1000);
  const took = (performance.now() - from) / 1000;
  const [after, loadAfter, coreAfter, reportAfter] = [
    usageOf(subject.pid),
    usageOf(load.pid),
    coreTicks(serverCore),
    load.report,
  ];

  const memory = memoryOf(subject.pid);
  const stored = subject.storedBytes();
  await load.stop();
  await subject.stop();
  if (reportAfter.publishing !== streams)
    throw new Error(`${name}: only ${reportAfter.publishing} of ${streams} publishers were left`);
  const reported = (reportAfter.at - reportBefore.at) / 1000;
  const cpu = percentOf(before, after, took);
  const busy = ((coreAfter.busy - coreBefore.busy) / (coreAfter.all - coreBefore.all)) * 100;
  return {
    name,
    cpu: cpu / streams,
    ...memory,
    rssPerStream: (memory.rss - idle.rss) / streams,
    pssPerStream: (memory.pss - idle.pss) / streams,
    stored,
    rate: ((reportAfter.sent - reportBefore.sent) * 8) / reported / streams / 1e6,
    dropped: reportAfter.dropped - reportBefore.dropped,
    failures: reportAfter.failures - reportBefore.failures,
    read: ((reportAfter.read - reportBefore.read) * 8) / reported / 1e6,
    loadCpu: percentOf(loadBefore, loadAfter, took),
    others: Math.max(0, busy - cpu),
    waited: ((after.waited - before.waited) / took) * 100,
    threads: busiestThreads(before, after, took),
  };
}

function report(): void {
  const MB = 2 ** 20;
  const of = (name: string, field: (round: Round) => number) =>
    rounds.filter((round) => round.name === name).map(field);
  const ratio = (name: string, field: (round: Round) => number) => {
    const theirs = of('nginx', field);
    if (theirs.length === 0) return '';
    return median(of(name, field).map((value, n) => value / theirs[n])).toFixed(3);
  };
  console.log();
  printTable(
    [
      'server',
      '% of a core per stream',
      'ratio',
      'RSS MB',
      'PSS MB',
      'RSS per stream',
      'PSS per stream',
      'files MB',
      'Mb/s sent',
      'Mb/s read',
      'waited %',
    ],
    names.map((name) => [
      name,
      spread(
        of(name, (round) => round.cpu),
        4,
      ),
      ratio(name, (round) => round.cpu),
      spread(
        of(name, (round) => round.rss / MB),
        0,
      ),
      spread(
        of(name, (round) => round.pss / MB),
        0,
      ),
      spread(
        of(name, (round) => round.rssPerStream / MB),
        2,
      ),
      spread(
        of(name, (round) => round.pssPerStream / MB),
        2,
      ),
      spread(
        of(name, (round) => round.stored / MB),
        0,
      ),
      spread(
        of(name, (round) => round.rate),
        2,
      ),
      spread(
        of(name, (round) => round.read),
        1,
      ),
      spread(
        of(name, (round) => round.waited),
        1,
      ),
    ]),
  );
  console.log(
    `\n${streams} streams of ${clipWords}; ${values.rounds} rounds in turns, ${values['warm-up']} s warm-up, ${seconds} s measured; ` +
      `server on core ${serverCore}, load on core ${loadCore}; a reader for ${values.readers} of the streams.\n` +
      'CPU is utime + stime of the process tree. Ratio: median over rounds of (this / nginx of the same round). Memory per\n' +
      'stream: what was added since before the load. files: what nginx keeps in /dev/shm. waited: ready to run, but others ran.\n' +
      machine(),
  );
}

/** In a round of its own, because decoding takes the load's core: what viewers get is whole. */
async function check(): Promise<void> {
  const subject = await makers.ours();
  const load = await startLoad(
    { clip, ingestUrls: subject.ingestUrls, playlistUrls: [], startOver },
    { core: loadCore },
  );
  await Bun.sleep(5000);
  const chosen = subject.playlistUrls
    .map((url) => ({ url, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, checked);
  let bad = 0;
  for (const { url } of chosen) {
    const arguments_ = `-hide_banner -loglevel warning -stats_period 60 -i ${url} -t ${checkedSeconds} -map 0:v -map 0:a -f null -`;
    const ffmpeg = start(['ffmpeg', ...arguments_.split(' ')], { core: loadCore });
    const code = await ffmpeg.exited;
    const lines = ffmpeg.output
      .split('\n')
      .filter((line) => /error|invalid|corrupt|missing|non-monoton|discontinu/i.test(line));
    if (code === 0 && lines.length === 0) continue;
    bad += 1;
    console.log(`${url}: ffmpeg ended with ${code}\n${lines.slice(0, 5).join('\n')}`);
  }
  await load.stop();
  await subject.stop();
  console.log(
    `decoded by ffmpeg for ${checkedSeconds} s each, under full load: ${chosen.length - bad} of ${chosen.length} without an error line`,
  );
  if (bad > 0) process.exitCode = 1;
}
