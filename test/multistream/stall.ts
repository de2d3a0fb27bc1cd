import { readFileSync } from 'node:fs';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { forgetPeak, peak, residentAfterCollection } from '../e2e/harness/memory.ts';
import { numbered, numbersIn } from '../e2e/harness/numbered.ts';
import type { Server } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { type FarConnection, type FarSide, startFarSide } from './far-side.ts';
import { type Nginx, startNginx } from './nginx.ts';
import { targetsOf } from './targets.ts';

/** What a stall did, and to whom. */
export interface StallFigures {
  /** Events of each target in order. */
  readonly told: Readonly<Record<'healthy' | 'frozen' | 'paused', readonly string[]>>;
  /** Pictures that the encoder sent, and how its connections ended. */
  readonly sent: number;
  readonly ends: readonly string[];
  /** What each far side got: an FLV file, or the messages. */
  readonly healthy: readonly string[];
  readonly frozen: readonly string[];
  readonly paused: readonly FarConnection[];
  /** Worst jitter of ingest during the stall, ms: of the stream whose targets stall, and of one beside it without any. */
  readonly jitter: number;
  readonly jitterBeside: number;
  /** Issues that the stream had and the one beside had not. */
  readonly issues: readonly string[];
  /**
   * Bytes of the server's memory behind a collection of garbage, before the stall and at its end; and by how much it grew at most
   * in between, without a stall and during it.
   */
  readonly memory: {
    readonly before: number;
    readonly held: number;
    readonly usual: number;
    readonly most: number;
  };
  /** Bytes a second that are broadcast. */
  readonly rate: number;
}

/** Bytes that each picture is longer by: 7 Mb/s, so that a stall is more than what networks hold by themselves. */
const padding = 30_000;

/**
 * Broadcasts to three targets, of which two stop reading for a time: nginx, whose process stands still, and a far side of ours,
 * which keeps its socket open. Then both go on. The server is started with `memoryEnv`.
 */
export async function stall(
  server: Server,
  { seconds }: { seconds: number },
): Promise<StallFigures & AsyncDisposable> {
  const kept = new AsyncDisposableStack();
  try {
    const good = kept.use(await startNginx({ host: '127.0.0.81' }));
    const bad = kept.use(await startNginx({ host: '127.0.0.82' }));
    const far = kept.use(startFarSide({ host: '127.0.0.83' }));
    const figures = await broadcastThrough({ server, seconds, good, bad, far });
    // The files are there until whoever asked is done with them.
    return { ...figures, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  } catch (error) {
    await kept.disposeAsync();
    throw error;
  }
}

async function broadcastThrough(options: {
  server: Server;
  seconds: number;
  good: Nginx;
  bad: Nginx;
  far: FarSide;
}): Promise<StallFigures> {
  const { server, seconds, good, bad, far } = options;
  const events = await server.openEvents();
  const targets = targetsOf(server, events);
  const healthy = await targets.create('healthy', { url: good.url('healthy') });
  const frozen = await targets.create('frozen', { url: bad.url('frozen') });
  const paused = await targets.create('paused', { url: far.url('paused') });
  const stream = await targets.createStream('stalled', [healthy, frozen, paused]);
  const other = await server.api.createStream({ name: 'beside' });
  await using encoder = numbered(server.ingestUrl(stream.streamKey), { padding });
  await using besides = numbered(server.ingestUrl(other.streamKey), { padding });
  for (const one of [healthy, frozen, paused]) await targets.ends(one, ['connected'], { within: 60_000 });
  // Pools and buffers become as large as they will be.
  await lasting(4000);
  const first = await residentAfterCollection(server);
  forgetPeak(server);
  await lasting(8000);
  const usual = peak(server) - first;

  const before = await residentAfterCollection(server);
  forgetPeak(server);
  const began = systemClock().now();
  const [connection] = far.connections('paused');
  bad.freeze();
  connection.pause();
  const issues = { stalled: new Set<string>(), beside: new Set<string>() };
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    for (const text of (await server.api.getStream(stream.id)).issues ?? []) issues.stalled.add(text);
    for (const text of (await server.api.getStream(other.id)).issues ?? []) issues.beside.add(text);
    await lasting(500);
  }
  const most = peak(server) - before;
  const held = await residentAfterCollection(server);
  const jitter = await worstJitter(server, { id: stream.id, since: began });
  const jitterBeside = await worstJitter(server, { id: other.id, since: began });
  const { sent } = encoder;
  bad.thaw();
  connection.resume();
  const isBack = (numbers: readonly number[]) => (numbers.at(-1) ?? 0) > sent + 90;
  await until('media at the one that paused', () => isBack(numbersOf(connection)), {
    within: 60_000,
    every: 200,
  });
  const [file] = bad.recordings('frozen');
  await until('media at the one that was frozen', () => isBack(numbersIn(readFileSync(file))), {
    within: 60_000,
    every: 500,
  });
  await encoder.stop();
  for (const one of [healthy, frozen, paused]) await targets.ends(one, ['disconnected'], { within: 60_000 });
  await besides.stop();
  return {
    told: {
      healthy: targets.told(healthy),
      frozen: targets.told(frozen),
      paused: targets.told(paused),
    },
    sent: encoder.sent,
    ends: [...encoder.ends, ...besides.ends],
    healthy: good.recordings('healthy'),
    frozen: bad.recordings('frozen'),
    paused: far.connections('paused'),
    jitter,
    jitterBeside,
    issues: [...issues.stalled].filter((text) => !issues.beside.has(text)),
    memory: { before, held, usual, most },
    rate: 30 * padding,
  };
}

/** The last number alone is asked for: what came before is counted once, at the end. */
function numbersOf({ heard }: FarConnection): number[] {
  const last = heard.findLast(({ type }) => type === 9);
  return last === undefined ? [] : numbersIn(Buffer.from(last.body));
}

async function worstJitter(server: Server, { id, since }: { id: string; since: number }): Promise<number> {
  const answer = await server.api.request('GET', `/api/stream/${id}/health`);
  const points = (await answer.json()) as { time: number; jitter: number }[];
  const own = points.filter(({ time }) => time + 5000 > since);
  return Math.max(0, ...own.map((point) => point.jitter));
}
