import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClip } from '../../../bench/harness/clip.ts';
import { percentile } from '../../../bench/harness/figures.ts';
import { type RedisStore, redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { until } from '../../e2e/harness/wait.ts';
import { defaultNodes, type Fleet, startFleet } from '../../kit/engines/fleet/fleet.ts';
import { kafka } from '../../kit/engines/kafka.ts';
import type { Kafka } from '../../kit/engines/kafka-broker.ts';
import { readFlvFile } from '../../kit/publisher/flv-file.ts';
import { pacer } from '../../kit/publisher/pacer.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { createStream, steadyWrites } from './clients.ts';
import { hearers } from './hearers.ts';
import { Ledger } from './ledger.ts';
import { type OnAir, onAir } from './on-air.ts';
import { coordinated, readTopics } from './records.ts';
import { type SessionWatch, watchSessions } from './sessions.ts';
import { checkLedger, checkLogs, checkReplay, late, storedEvents, twice, waiting } from './verdict.ts';
import { type View, viewers } from './viewers.ts';
import { type WriterOptions, write } from './writer.ts';

export const partitions = 16;
const namespace = 'millrace';
/** Encoders of so many bits per second. */
const rates = { video: 436_000, audio: 64_000 };
/** Longest time without a new part that a viewer of a broadcast that is left alone may meet, ms. */
const stallBound = 5000;

export interface StageOptions {
  readonly streams: number;
  readonly clients: number;
  /** Of the streams, those that clients stop and rotate. */
  readonly disturbed: number;
}

/** A fleet under load: broadcasts, their viewers, writes and looks at everything. */
export interface Stage {
  readonly fleet: Fleet;
  /** Kafka has two; this one can be gone. */
  readonly secondBroker: Kafka;
  readonly ledger: Ledger;
  /** Another that is up than the one named. */
  readonly writer: WriterOptions;
  readonly store: RedisStore;
  readonly views: ReadonlyMap<string, View>;
  /** Ends writes, then broadcasts, then checks everything. Answers whether all was well. */
  finish(): Promise<boolean>;
}

export async function stage(options: StageOptions): Promise<Stage> {
  const clip = await readFlvFile(await loadClip(rates));
  const folder = mkdtempSync(join(tmpdir(), 'millrace-soak-fleet-'));
  console.log(`data in ${folder}, kept when something is wrong`);
  const env = {
    MILLRACE_LOG__LEVEL: 'info',
    MILLRACE_KAFKA__REPLICATION: '2',
    MILLRACE_KAFKA__MIN_INSYNC: '1',
  };
  const fleet = await startFleet({ folder, env, nodes: [] });
  // The topic of the groups is made where a group is first looked for, and has one copy: not on the one that can be gone.
  await coordinated(fleet.kafka.brokers);
  const secondBroker = await kafka({ folder: join(folder, 'kafka-2'), joins: fleet.kafka });
  for (const plan of defaultNodes) await fleet.start(plan);
  const stopping = new AbortController();
  const over = new AbortController();
  const ledger = new Ledger();
  const api = fleet.nodes.filter(({ roles }) => roles.includes('api'));
  const media = fleet.node('media');
  const writer: WriterOptions = {
    ledger,
    key: fleet.key,
    signal: stopping.signal,
    node(avoided) {
      const up = api.filter(({ isRunning, url }) => isRunning && url !== avoided);
      const some = up.length > 0 ? up : api;
      return some[Math.floor(Math.random() * some.length)]!.url;
    },
  };
  const store = redisStore({ url: fleet.redis.url, namespace, allowLoss: true, log: silentLog });

  const heard = await hearers(
    api.map(({ url }) => url),
    fleet.key,
  );
  ledger.names.set('heard', 'asked');
  const hook = { name: 'heard', url: heard.url, events: ['stream.started', 'stream.idle'] };
  const hooked = await write({ method: 'POST', path: '/api/webhook', body: hook }, writer);
  if (hooked?.status !== 201) throw new Error(`no webhook: ${JSON.stringify(hooked)}`);
  const ids: string[] = [];
  for (let n = 0; n < options.streams; n += 1) {
    const isLeftAlone = n >= options.disturbed;
    const id = await createStream(`on-air-${n}`, { ...writer, isLeftAlone });
    if (id) ids.push(id);
  }
  const pace = pacer();
  const airs = new Map<string, OnAir>();
  for (const id of ids) {
    airs.set(id, onAir(ledger.streams.get(id)!, { rtmpPort: media.rtmpPort, clip, pacer: pace }));
  }
  const isOn = async (id: string) => {
    const answer = await fetch(`${writer.node()}/api/stream/${id}`, {
      headers: { authorization: `Bearer ${fleet.key}` },
      signal: AbortSignal.timeout(20_000),
    });
    return answer.ok && ((await answer.json()) as { isActive: boolean }).isActive;
  };
  const allOn = (within: number) =>
    until('all streams on the air', async () => (await Promise.all(ids.map(isOn))).every(Boolean), {
      within,
      every: 500,
    });
  await allOn(60_000);
  console.log(`${ids.length} streams are on the air`);
  const watched = viewers(
    media.url,
    ids.map((id) => ledger.streams.get(id)!.playbackId),
  );
  const sessions = watchSessions({ ledger, key: fleet.key, node: () => writer.node() });
  const writes = steadyWrites({
    ...{ ledger, writer, partitions, over: over.signal, clients: options.clients },
    disturbed: ids.slice(0, options.disturbed),
  });
  await until('a write in every partition', () => ledger.moments.size === partitions, { within: 60_000 });
  console.log('writes go on in every partition');

  const finish = async () => {
    over.abort();
    const hangs = setTimeout(() => {
      ledger.violation('writes did not end within 90 s');
      stopping.abort();
    }, 90_000);
    await writes;
    clearTimeout(hangs);
    await allOn(30_000).catch((error: Error) => ledger.violation(error.message.slice(0, 200)));
    await watched.stop();
    await Promise.all([...airs.values()].map((air) => air.stop()));
    await until('all streams off the air', async () => !(await Promise.all(ids.map(isOn))).some(Boolean), {
      within: 30_000,
      every: 500,
    }).catch((error: Error) => ledger.violation(error.message.slice(0, 200)));
    await sessions.stop();
    await checkLedger(ledger, { urls: api.map(({ url }) => url), key: fleet.key });
    const left = await until(
      'nothing that waits',
      async () => {
        const now = await waiting(store, partitions);
        return now.effects + now.orders + now.jobs === 0 && now;
      },
      { within: 20_000, every: 500 },
    ).catch(() => waiting(store, partitions));
    if (left.effects + left.orders + left.jobs > 0) ledger.violation(`left behind: ${JSON.stringify(left)}`);
    const topics = ['commands', 'events', 'dead'].map((name) => `${namespace}.${name}`);
    const [commands = [], events = [], dead = []] = [
      ...(await readTopics(fleet.kafka.brokers, topics)).values(),
    ];
    const stored = await storedEvents(store);
    const logged = checkLogs({ commands, events, dead, stored }, ledger, partitions);
    await until('all events at the webhook', () => heard.missing(stored).length === 0, {
      within: 90_000,
    }).catch(() => {});
    heard.check(stored, ledger);
    await heard.close();
    await checkReplay(commands, { ledger, store });
    for (const [playbackId, view] of watched.views) {
      const entry = [...ledger.streams.values()].find((one) => one.playbackId === playbackId)!;
      for (const [status, times] of view.statuses) {
        const isBad = status.startsWith('5') || (entry.isLeftAlone && status !== '200');
        if (isBad) ledger.violation(`viewers of ${entry.name} met ${status} ${times} times`);
      }
      if (!entry.isLeftAlone) continue;
      if (view.longestStall > stallBound)
        ledger.violation(`${entry.name} had nothing new for ${Math.round(view.longestStall)} ms`);
      if (view.discontinuities > 0)
        ledger.violation(`${entry.name} has ${view.discontinuities} discontinuities`);
    }
    await store.close();
    await fleet.stop();
    await secondBroker[Symbol.asyncDispose]();
    report({ ledger, logged, views: watched.views, sessions, airs });
    for (const { id, logFile } of fleet.nodes) troubles(id, logFile);
    console.log(`${ledger.violations.length} violations`);
    if (ledger.violations.length > 0) return false;
    rmSync(folder, { recursive: true });
    return true;
  };
  return { fleet, secondBroker, ledger, writer, store, views: watched.views, finish };
}

function report(seen: {
  ledger: Ledger;
  logged: ReturnType<typeof checkLogs>;
  views: ReadonlyMap<string, View>;
  sessions: SessionWatch;
  airs: ReadonlyMap<string, OnAir>;
}): void {
  const { ledger, logged, views, sessions, airs } = seen;
  const { acknowledged, attempts, unknown, refused, answers, failures, statuses, withoutRetryAfter } =
    ledger.figures;
  const ms = (values: readonly number[], percent: number) => Math.round(percentile(values, percent));
  const leftAlone = [...ledger.streams.values()].filter((one) => one.isLeftAlone);
  const longest = Math.max(...leftAlone.map(({ playbackId }) => views.get(playbackId)?.longestStall ?? 0));
  const sum = (pick: (air: OnAir) => number) => [...airs.values()].reduce((all, air) => all + pick(air), 0);
  console.log(`writes: ${acknowledged} acknowledged, ${attempts} attempts, ${unknown} of them unknown, ${refused} certainly not done
answers: p50 ${ms(answers, 50)} ms, p99 ${ms(answers, 99)} ms, longest ${ms(answers, 100)} ms; failures: ${failures.length}, longest ${failures.length > 0 ? ms(failures, 100) : 0} ms, ${withoutRetryAfter} of 503 without Retry-After
by status: ${[...statuses].map(([status, times]) => `${status} × ${times}`).join(', ')}
counters set back by an attempt that nobody had answered: ${late.size} ${[...late].slice(0, 5).join('; ')}
made twice after a rollback: ${[...twice].join(' ') || 'nothing'}
logs: ${logged.commands} commands; ${logged.events} events, ${logged.repeats} published again; highest epoch ${logged.epochs}
commands: ${[...logged.kinds].map(([kind, times]) => `${kind} × ${times}`).join(', ')}
media: broadcasts that were left alone had no look of a second without a new part beyond ${Math.round(longest)} ms; ${sum(({ counts }) => counts.connections)} connections, ${sum(({ counts }) => counts.refusals)} refused, ${sum(({ counts }) => counts.dropped)} tags dropped; ${sessions.looks} looks at all sessions, ${sessions.dips} figures lower for a moment`);
}

/** What a node had to complain of, by message. */
function troubles(id: string, logFile: string): void {
  if (!existsSync(logFile)) return;
  const counts = new Map<string, number>();
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    if (!line.startsWith('{')) {
      if (/error|panic|exception/i.test(line)) console.log(`  ${id} printed: ${line.slice(0, 300)}`);
      continue;
    }
    const { level, message, msg, error } = JSON.parse(line);
    if (level !== 'error' && level !== 'warn') continue;
    const code = typeof error === 'object' ? (error?.code ?? error?.message ?? '') : (error ?? '');
    const what = `${level} ${message ?? msg} ${String(code).slice(0, 120)}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  for (const [what, times] of [...counts].sort((one, other) => other[1] - one[1]).slice(0, 25)) {
    console.log(`  ${id}: ${times} × ${what}`);
  }
}
