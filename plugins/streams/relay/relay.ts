import { ByteLru } from '../../../core/base/byte-lru.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { valuesOf } from '../../../core/base/limit-table.ts';
import { SingleFlight } from '../../../core/base/single-flight.ts';
import { every, pause } from '../../../core/base/timing.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ViewerRequest } from '../../../core/ports/media.ts';
import { liveFiles } from '../contract.ts';
import type { StreamsKit } from '../kit.ts';
import { streamLimits } from '../limits.ts';
import { liveResponse } from '../live-answer.ts';
import { notOn, tooMany } from '../not-on.ts';
import { internalPath, viewersHeader } from './internal.ts';
import { relayLimits } from './limits.ts';
import { type Place, Places } from './places.ts';
import { ViewerTally } from './viewer-tally.ts';

const limits = valuesOf(relayLimits);
const longestWait = streamLimits.returnWait.value;

/**
 * Playback of what another node has: asked for there once for all who want the same at one time, and followed to
 * whichever node has it next. Media, which never changes, is kept for a while; a playlist answers for a moment alone.
 */
export function relay(kit: StreamsKit): Relay {
  const { clock, log } = kit;
  const media = kit.use(services.media);
  const { nodes } = kit.deployment;
  const places = new Places(kit);
  const beside = new Set(kit.offered(liveFiles).map(({ name }) => name));
  const kept = new ByteLru<Answer>({ bytes: kit.config.relayMemory * 1_048_576 });
  const shared = new SingleFlight<Answer | 'here'>({ running: limits.requests, waiting: limits.waiting });
  const tally = new ViewerTally();
  const counts = count(kit, { kept, shared });

  /** One answer of one node, whole. */
  const ask = async (node: string, asked: Asked, signal: AbortSignal): Promise<Answer> => {
    const { playbackId, file, search } = asked;
    const viewers = tally.take(`${playbackId}/${file}`);
    counts.asked.add();
    const response = await nodes.request(node, internalPath(playbackId, file, search), {
      signal,
      timeout: limits.answerTime,
      ...(viewers.length > 0 && { headers: { [viewersHeader]: viewers.join('') } }),
    });
    if (!isForViewers(response.status)) {
      await response.body?.cancel();
      log.error('another node refuses what viewers ask of it', { node, status: response.status });
      throw unreachable();
    }
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    const room = length <= limits.answerBytes ? kept.reserve(length) : undefined;
    if (!room) {
      await response.body?.cancel();
      log.warn('an answer of another node has no room here', { node, bytes: length, held: kept.bytes });
      throw tooMany();
    }
    try {
      const answer = {
        status: response.status,
        headers: passed(response.headers),
        body: await response.blob(),
      };
      const until = clock.now() + (answer.status === 200 ? keepTime(file) : 0);
      if (until > clock.now()) room.keep(keyOf(asked), answer, { until });
      return answer;
    } catch (error) {
      throw unreachable(error);
    } finally {
      room.release();
    }
  };

  /** Asks whoever has it now; undefined when nobody says that he has. */
  const attempt = async (
    place: Place,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Answer | Fault | undefined> => {
    const { node } = place;
    if (node === undefined || node === nodes.own.id) return undefined;
    const gone = new AbortController();
    // One that is frozen says nothing for as long as it may take to answer, while the broadcast goes on elsewhere.
    const look = async () => {
      const isThere =
        (await nodes.find(node))?.isAlive && (await places.find(asked.playbackId)).node === node;
      if (!isThere) gone.abort();
    };
    const stop = every(limits.placeKept, { clock, work: () => void look().catch(() => {}) });
    try {
      const answer = await ask(node, asked, AbortSignal.any([signal, gone.signal]));
      return answer.status === 404 && !(await isFinal(answer)) ? undefined : answer;
    } catch (error) {
      signal.throwIfAborted();
      if (hasCode(error, 'node.unreachable')) return error;
      if (gone.signal.aborted) return unreachable(error);
      throw error;
    } finally {
      stop();
    }
  };

  /** A playlist that is expected back is waited for, wherever it comes back. */
  const find = async (asked: Asked, signal: AbortSignal): Promise<Answer | 'here'> => {
    const until = clock.now() + longestWait;
    const { playbackId, file } = asked;
    const isPlaylist = file.endsWith('.m3u8');
    let place = await places.find(playbackId);
    for (;;) {
      const found = await attempt(place, asked, signal);
      if (found && !(found instanceof Fault)) return found;
      // It may have moved since that was read.
      const now = await places.find(playbackId, { age: limits.retry });
      if (now.node !== place.node) {
        place = now;
        continue;
      }
      if (!isPlaylist) throw found ?? notOn();
      if (!now.isActive || clock.now() >= until) throw notOn();
      const due = clock.now() + limits.retry;
      // It may come back here as well.
      if (await media.appears(playbackId, { timeout: limits.retry, signal })) return 'here';
      await pause(due, { clock, signal });
      // Where nothing will come any more.
      if (kit.signal.aborted) throw notOn();
      signal.throwIfAborted();
      place = await places.find(playbackId, { age: limits.retry });
    }
  };

  return {
    async serve(viewer) {
      const asked = askedBy(viewer, beside);
      if (!asked) throw notOn();
      counts.served.add();
      const { playbackId, file, signal } = viewer;
      for (const one of viewer.viewers ?? []) tally.saw(`${playbackId}/${file}`, one, clock.now());
      const key = keyOf(asked);
      const answer =
        kept.get(key, clock.now()) ??
        (await shared.wait(key, { signal, work: (ended) => find(asked, ended) }));
      if (answer === 'full') throw tooMany();
      // Nobody reads the answer to a viewer who has gone.
      if (answer === 'left') throw notOn();
      if (answer === 'here') {
        const served = media.serve(viewer);
        if (!served) throw notOn();
        return liveResponse(await served);
      }
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  };
}

export interface Relay {
  /** Throws the Faults of playback. */
  serve(viewer: ViewerRequest): Promise<Response>;
}

/** An answer of another node. Its bytes are shared by all who get it. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob;
}

interface Asked {
  readonly playbackId: string;
  readonly file: string;
  /** `?…` with the parameters that make a difference, in one way of writing; or empty. */
  readonly search: string;
}

/** What is asked for, if another node could have it. */
function askedBy({ playbackId, file, query }: ViewerRequest, beside: ReadonlySet<string>): Asked | undefined {
  const isFile = beside.has(file) || /^[0-9a-z_.]{1,64}\.(m3u8|mp4)$/.test(file);
  if (!/^[0-9a-z]{16}$/.test(playbackId) || !isFile) return undefined;
  const parameters = new URLSearchParams();
  if (file.endsWith('.m3u8')) {
    for (const name of ['_HLS_msn', '_HLS_part']) {
      const value = query.get(name);
      if (value !== null) parameters.set(name, String(Number(value)));
    }
    const skip = query.get('_HLS_skip');
    if (skip === 'YES' || skip === 'v2') parameters.set('_HLS_skip', skip);
    if (file === 'index.m3u8' && query.get('dvr') === '1') parameters.set('dvr', '1');
  }
  return { playbackId, file, search: parameters.size > 0 ? `?${parameters}` : '' };
}

function keyOf({ playbackId, file, search }: Asked): string {
  return `${playbackId}/${file}${search}`;
}

/** All else is between the nodes: one that is of another deployment, or that has a fault. */
function isForViewers(status: number): boolean {
  return status === 200 || status === 400 || status === 404 || status === 503;
}

function unreachable(cause?: unknown): Fault {
  return new Fault('node.unreachable', {
    status: 503,
    message: 'The node that has this broadcast did not answer as it should. Try again.',
    retryAfter: 1,
    cause,
  });
}

/** It is there, and has no recording to seek in, or no picture: no use in looking elsewhere. */
async function isFinal({ body }: Answer): Promise<boolean> {
  const text = await body.text();
  return text.includes('"playback.not_recorded"') || text.includes('"still.none"');
}

/** ms */
function keepTime(file: string): number {
  return file.endsWith('.mp4') ? limits.mediaKept : limits.playlistKept;
}

/** What a viewer is told of an answer; the rest is between the nodes. */
function passed(headers: Headers): Record<string, string> {
  const found = passedHeaders.map((name) => [name, headers.get(name)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== null)) as Record<string, string>;
}

const passedHeaders = [
  ...['content-type', 'cache-control', 'retry-after', 'etag'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
];

function count(
  { metrics }: Pick<StreamsKit, 'metrics'>,
  { kept, shared }: { kept: ByteLru<Answer>; shared: SingleFlight<unknown> },
) {
  metrics.reading('millrace_relay_held_bytes', {
    help: 'Answers of other nodes that are kept for viewers here.',
    read: () => kept.bytes,
  });
  metrics.reading('millrace_relay_waiting_viewers', {
    help: 'Requests of viewers that wait for an answer of another node.',
    read: () => shared.waiting,
  });
  const served = 'Requests of viewers for what another node has.';
  const asked = 'Requests to other nodes for what viewers here want.';
  return {
    served: metrics.counter('millrace_relay_viewer_requests_total', served).with({}),
    asked: metrics.counter('millrace_relay_node_requests_total', asked).with({}),
  };
}
