import { setPriority } from 'node:os';
import { start } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { coreTicks, machine, median, printTable, spread } from './harness/figures.ts';
import { type Load, startLoad } from './harness/load.ts';
import { millrace } from './harness/millrace.ts';
import { nginxRtmp } from './harness/nginx-rtmp.ts';
import { optionsOf } from './harness/options.ts';
import { busiestThreads, type Memory, memoryOf, percentOf, usageOf } from './harness/process-figures.ts';
import { receiver } from './harness/receiver.ts';
import type { Subject } from './harness/subject.ts';
import { subscribingConfig } from './harness/subscribing-plugins.ts';

/**
 * What a stream costs: CPU and memory of our server against nginx-rtmp with HLS, the same load for both in
 * turns. The server runs on one core, the load on the other. Run: bun bench/ingest.ts [options]
 */
const usage = `  --streams 50     publishers
  --rounds 3       measured rounds of each server, in turns
  --seconds 20     length of a measurement
  --warm-up 20     seconds on the air before it
  --readers 0.1    plain HLS readers for each publisher
  --only a,b       of ours, nginx, plugins (ours with ten plugins that subscribe to everything), and two floors: receiver (our RTMP, media thrown away) and sockets (bytes thrown away)
  --variant='A=1 --preload x.ts'   adds our server with this environment and these arguments of Bun
  --together       all at once instead of in turns: what disturbs one disturbs the other as much
  --record         all streams are recorded: by ours with the segments of HLS in one file, by nginx-rtmp with "record all" (FLV)
  --nice=0         priority of servers and load, -20 (first) to 19
  --no-check       do not decode three streams in an extra round`;

const serverCore = 0;
const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** Streams that are decoded in the extra round, and for how many seconds. */
const checked = 3;
const checkedSeconds = 8;

const values = optionsOf(usage, {
  streams: 50,
  rounds: 3,
  seconds: 20,
  'warm-up': 20,
  readers: 0.1,
  only: 'ours,nginx',
  variant: '',
  together: false,
  record: false,
  nice: 0,
  'no-check': false,
});
// What this program starts inherits it.
setPriority(values.nice);
const { streams, seconds, record } = values;

const makers: Record<string, () => Promise<Subject>> = {
  ours: () => millrace({ core: serverCore, streams, record }),
  variant: () => millrace({ core: serverCore, streams, record, ...variant(values.variant) }),
  plugins: () =>
    millrace({ core: serverCore, streams, record, env: { MILLRACE_CONFIG: subscribingConfig(10) } }),
  nginx: () => nginxRtmp({ core: serverCore, streams, record }),
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
  /** Mb/s for each stream that was written to the recordings while it was measured; 0 without. */
  recorded: number;
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
const names = [...values.only.split(','), ...(values.variant ? ['variant'] : [])];
const rounds: Round[] = [];
const turns = values.together ? [names] : names.map((name) => [name]);
for (let n = 1; n <= values.rounds; n += 1) {
  for (const turn of turns) {
    // Who is started first has had more time to warm up.
    const first = (n - 1) % turn.length;
    for (const round of await measure([...turn.slice(first), ...turn.slice(0, first)])) {
      rounds.push(round);
      console.log(
        `round ${n} ${round.name.padEnd(8)} ${round.cpu.toFixed(4)} % per stream, ${round.rate.toFixed(2)} Mb/s each, ` +
          `${round.dropped} dropped, ${round.failures} failed reads; load generator ${round.loadCpu.toFixed(0)} %, ` +
          `others on the core ${round.others.toFixed(0)} %; ` +
          round.threads.map(([thread, percent]) => `${thread} ${percent.toFixed(2)}`).join(', '),
      );
    }
  }
}
report();
if (!values['no-check'] && names.includes('ours')) await check();
process.exit(process.exitCode ?? 0);

function variant(words: string): { env: Record<string, string>; bunArgs: string[] } {
  const all = words.split(' ').filter((word) => word !== '');
  const isSetting = (word: string) => /^[A-Z]\w*=/.test(word);
  const env = Object.fromEntries(all.filter(isSetting).map((word) => word.split('=', 2)));
  return { env, bunArgs: all.filter((word) => !isSetting(word)) };
}

/** One round of these servers, side by side. */
async function measure(sides: readonly string[]): Promise<Round[]> {
  const running: { name: string; subject: Subject; load: Load; idle: Memory }[] = [];
  for (const name of sides) {
    const subject = await makers[name]();
    const idle = memoryOf(subject.pid);
    const readers = Math.min(Math.ceil(streams * values.readers), subject.playlistUrls.length);
    const { ingestUrls } = subject;
    const playlistUrls = subject.playlistUrls.slice(0, readers);
    const load = await startLoad({ clip, ingestUrls, playlistUrls, startOver }, { core: loadCore });
    running.push({ name, subject, load, idle });
  }
  await Bun.sleep(values['warm-up'] * 1000);
  const read = () =>
    running.map(({ subject, load }) => ({
      at: performance.now(),
      usage: usageOf(subject.pid),
      load: usageOf(load.pid),
      report: load.report,
      core: coreTicks(serverCore),
      recorded: subject.recordedBytes(),
    }));
  const before = read();
  await Bun.sleep(seconds * 1000);
  const after = read();

  const measured: Round[] = [];
  for (const [n, { name, subject, load, idle }] of running.entries()) {
    const memory = memoryOf(subject.pid);
    const stored = subject.storedBytes();
    await load.stop();
    await subject.stop();
    const { publishing } = after[n].report;
    if (publishing !== streams)
      throw new Error(`${name}: only ${publishing} of ${streams} publishers were left`);
    const took = (after[n].at - before[n].at) / 1000;
    const reported = (after[n].report.at - before[n].report.at) / 1000;
    const grown = (field: 'sent' | 'read' | 'dropped' | 'failures') =>
      after[n].report[field] - before[n].report[field];
    const cpu = percentOf(before[n].usage, after[n].usage, took);
    const [from, to] = [before[n].core, after[n].core];
    measured.push({
      name,
      cpu: cpu / streams,
      ...memory,
      rssPerStream: (memory.rss - idle.rss) / streams,
      pssPerStream: (memory.pss - idle.pss) / streams,
      stored,
      recorded: ((after[n].recorded - before[n].recorded) * 8) / took / streams / 1e6,
      rate: (grown('sent') * 8) / reported / streams / 1e6,
      dropped: grown('dropped'),
      failures: grown('failures'),
      read: (grown('read') * 8) / reported / 1e6,
      loadCpu: percentOf(before[n].load, after[n].load, took),
      others: Math.max(0, ((to.busy - from.busy) / (to.all - from.all)) * 100 - cpu),
      waited: ((after[n].usage.waited - before[n].usage.waited) / took) * 100,
      threads: busiestThreads(before[n].usage, after[n].usage, took),
    });
  }
  return measured;
}

function report(): void {
  const MB = 2 ** 20;
  // What the others are compared with.
  const base = names.includes('nginx') ? 'nginx' : 'ours';
  const of = (name: string, field: (round: Round) => number) =>
    rounds.filter((round) => round.name === name).map(field);
  const ratio = (name: string, field: (round: Round) => number) => {
    const theirs = of(base, field);
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
      ...(record ? ['Mb/s recorded'] : []),
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
      ...(record
        ? [
            spread(
              of(name, (round) => round.recorded),
              2,
            ),
          ]
        : []),
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
    `\n${streams} streams of ${clipWords}; ${values.rounds} rounds ${values.together ? 'side by side' : 'in turns'}, ${values['warm-up']} s warm-up, ${seconds} s measured; ` +
      `server on core ${serverCore}, load on core ${loadCore}, priority ${values.nice}; a reader for ${values.readers} of the streams.\n` +
      (record
        ? 'All are recorded, on the same file system. Mb/s recorded: by how much the files of each stream grew while it was measured.\n'
        : '') +
      `CPU is utime + stime of the process tree. Ratio: median over rounds of (this / ${base} of the same round). Memory per\n` +
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
