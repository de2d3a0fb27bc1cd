/**
 * The server that is fuzzed, in a process of its own: the whole of the media (RTMP listener, packager, playlists)
 * with every key granted. `main.ts` starts it and asks by lines on stdin; each answer is a line of JSON.
 */
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { PublishGrant } from '../../../core/ports/media.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { inProcessMedia } from '../../../runtime/media/broadcast/in-process.ts';
import { responseOf } from '../../hls/feed.ts';
import { rtmpDefaults } from '../../rtmp/kit.ts';

/** What the server tells about itself. */
export interface Report {
  /** Bytes, after a forced collection. */
  rss: number;
  /** Open files and sockets of the process. */
  handles: number;
  /** Publishes that run now. */
  running: number;
  /** Inputs that asked to publish, publishes that have ended, inputs that brought media. */
  asked: number;
  published: number;
  withMedia: number;
  /** Grants that have not been closed, and facts that were wrong: none of either is allowed. */
  open: number;
  wrong: string[];
  /** Seconds of media of the broadcast beside, and what is wrong with it. */
  beside: number;
  besideIssues: string[];
  /** Lines of log that say a mistake of ours, the first few whole. */
  faults: number;
  firstFaults: string[];
  /** Why connections ended → how often. */
  reasons: Record<string, number>;
}

const clock = systemClock();
const reasons: Record<string, number> = {};
const firstFaults: string[] = [];
const wrong: string[] = [];
let faults = 0;
const complain = (message: string, fields?: object) => {
  faults += 1;
  const { error } = (fields ?? {}) as { error?: unknown };
  const why = error instanceof Error ? error.stack : JSON.stringify(fields);
  if (firstFaults.length < 5) firstFaults.push(`${message}: ${why}`);
};
const log = {
  debug() {},
  info(_message: string, fields?: object) {
    const { reason } = (fields ?? {}) as { reason?: string };
    if (reason !== undefined) reasons[reason] = (reasons[reason] ?? 0) + 1;
  },
  warn: complain,
  error: complain,
};

const port = Number(process.argv[2]);
const media = inProcessMedia({
  clock,
  log: { ...log, child: () => log } as never,
  rtmp: { ...rtmpDefaults, host: '0.0.0.0', port },
  tls: undefined,
  hls: { partTarget: 0.35, window: 12, waiterLimit: 1000, memory: 2 ** 30 },
});

/** Token → its connection, while it is granted. */
const granted = new Map<string, string>();
const holders = new Map<string, string>();
let asked = 0;
/** Inputs, that is connections, however often each publishes. */
const askers = { count: 0, recent: new Set<string>() };
const feeders = { count: 0, recent: new Set<string>() };
let published = 0;

await media.accept({
  async authorise({ key, connection }) {
    asked += 1;
    countOnce(askers, connection);
    const token = `${asked}`;
    // As slow as a store now and then, so that the peer may be gone before the answer.
    if (asked % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    const playbackId = /^[\w-]{1,40}$/.test(key) ? key : 'odd';
    const holder = holders.get(playbackId);
    if (holder !== undefined) media.close(holder, 'Another broadcast with the same key took over.');
    holders.set(playbackId, token);
    granted.set(token, connection);
    const grant: PublishGrant = {
      granted: true,
      token,
      streamId: playbackId,
      sessionId: 'session',
      playbackId,
      mediaSequence: 0,
      discontinuitySequence: asked,
      targetDuration: 4,
    };
    return grant;
  },
  report(fact) {
    const { token, playbackId } = fact.grant;
    if (!granted.has(token)) wrong.push(`${fact.type} of ${token}, which is not granted`);
    if (fact.type !== 'closed') return;
    if (fact.figures.bytes > 0) countOnce(feeders, granted.get(token) ?? '');
    granted.delete(token);
    published += 1;
    if (holders.get(playbackId) !== token) return;
    holders.delete(playbackId);
    // Half of them are held a while, as after an outage.
    if (Number(token) % 2 === 0) media.retire(playbackId);
  },
});

/** One more, unless it is one of the last thousands: to remember all would look like a leak. */
function countOnce(counter: { count: number; recent: Set<string> }, connection: string): void {
  if (counter.recent.has(connection)) return;
  counter.count += 1;
  counter.recent.add(connection);
  if (counter.recent.size <= 4000) return;
  for (const oldest of counter.recent) {
    counter.recent.delete(oldest);
    break;
  }
}

/** The playlist of the broadcast beside has no gap, or says so. */
async function lookBeside(): Promise<string[]> {
  const signal = AbortSignal.timeout(1000);
  const query = new URLSearchParams();
  const playlist = await responseOf(media.serve({ playbackId: 'well', file: 'source.m3u8', query, signal }));
  const text = playlist?.status === 200 ? await playlist.text() : '';
  if (text === '') return ['it has no playlist'];
  return text.includes('#EXT-X-DISCONTINUITY\n') ? ['its playlist has a gap'] : [];
}

/** What a viewer reads of a playlist, all the time. */
let served = 0;
setInterval(async () => {
  const playbackId = `fuzz-0${String(served++ % 64).padStart(2, '0')}`;
  const signal = AbortSignal.timeout(1000);
  const ask = (file: string) =>
    responseOf(media.serve({ playbackId, file, query: new URLSearchParams(), signal }));
  const playlist = await ask('source.m3u8');
  if (playlist?.status !== 200) return;
  const text = await playlist.text();
  if (/NaN|undefined|Infinity/.test(text)) wrong.push(`a playlist says: ${text}`);
  for (const [name] of text.matchAll(/^[^#\n]+$/gm))
    if ((await ask(name))?.status === 404 && (await (await ask('source.m3u8'))?.text())?.includes(name))
      wrong.push(`${name} is listed and not there`);
}, 50);

for await (const line of createInterface({ input: process.stdin })) {
  if (line !== 'report') continue;
  Bun.gc(true);
  const report: Report = {
    rss: process.memoryUsage.rss(),
    handles: readdirSync('/proc/self/fd').length,
    running: media.totals().publishes,
    asked: askers.count,
    published,
    withMedia: feeders.count,
    open: granted.size,
    beside: media.figures(holders.get('well') ?? '')?.duration ?? 0,
    besideIssues: holders.has('well') ? await lookBeside() : [],
    wrong: wrong.slice(0, 5),
    faults,
    firstFaults,
    reasons,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
process.exit(0);
