import { ByteLru } from '../../../core/base/byte-lru.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { SingleFlight } from '../../../core/base/single-flight.ts';
import { every, pause } from '../../../core/base/timing.ts';
import { services } from '../../../core/plugin/services.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Media, ViewerRequest } from '../../../core/ports/media.ts';
import type { StreamsKit } from '../config.ts';
import { liveFiles } from '../contract.ts';
import { notLive, tooManyWaiting } from '../faults.ts';
import { liveResponse } from '../live-answer.ts';
import { ViewerTally } from '../viewer.ts';
import { internalPath, viewersHeader } from './node-routes.ts';
import { believed, type PlaylistLocation, playlistLocations } from './playlist-locations.ts';

/** Requests to other nodes at one time; all viewers who want the same share one. */
const maxRequests = 4000;
/** Viewers that wait for them. */
const maxWaiting = 50_000;
/** Time for another node to answer, ms: a blocked reload waits for media there. */
const answerTime = 30_000;
/** One answer of another node: more than the longest segment. */
export const maxAnswerBytes = 64 * 1_048_576;
/** How long parts, segments and inits are kept, ms. They never change. */
export const mediaKept = 30_000;
/** How long a playlist answers those who ask for the same, ms. */
export const playlistKept = 100;
/** How long a playlist request waits for a broadcast that is expected back after a restart, ms. */
export const returnWait = 8000;
/** Between two looks for it, ms. */
export const returnLook = 250;

/**
 * Serves what this node does not have: requested from another node once for all viewers who want the same at one time, and from
 * the next node if the broadcast moves. Media is kept for a while, a playlist for a moment. A playlist of a broadcast that is
 * expected back, here or elsewhere, is waited for. For deployments of several nodes; `singleNode` is for one.
 */
export function edgeProxy(kit: StreamsKit): EdgeProxy {
  return new NodesProxy(kit);
}

class NodesProxy implements EdgeProxy {
  readonly #kit: StreamsKit;
  readonly #clock: Clock;
  readonly #media: Media;
  readonly #locations: ReturnType<typeof playlistLocations>;
  readonly #beside: ReadonlySet<string>;
  readonly #cache: ByteLru<Answer>;
  readonly #shared = new SingleFlight<Answer | 'here'>({ running: maxRequests, waiting: maxWaiting });
  readonly #tally = new ViewerTally();
  readonly #counts: ReturnType<typeof count>;

  constructor(kit: StreamsKit) {
    this.#kit = kit;
    this.#clock = kit.clock;
    this.#media = kit.use(services.media);
    this.#locations = playlistLocations(kit);
    this.#beside = new Set(kit.offered(liveFiles).map(({ name }) => name));
    this.#cache = new ByteLru({ bytes: kit.config.relayMemory * 1_048_576 });
    this.#counts = count(kit, { cache: this.#cache, shared: this.#shared });
  }

  async serve(viewer: ViewerRequest): Promise<Response> {
    const asked = askedBy(viewer, this.#beside);
    if (!asked) throw notLive();
    this.#counts.served.add();
    const { signal } = viewer;
    const { path, key } = asked;
    for (const one of viewer.viewers ?? []) this.#tally.saw(path, one, this.#clock.now());
    const answer =
      this.#cache.get(key, this.#clock.now()) ??
      (await this.#shared.wait(key, { signal, work: (ended) => this.#find(asked, ended) }));
    if (answer === 'full') throw tooManyWaiting();
    // The viewer has gone: nobody reads this answer.
    if (answer === 'left') throw notLive();
    if (answer === 'here') return serveHere(this.#media, viewer);
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  }

  /** One whole answer of one node. */
  async #ask(node: string, asked: Asked, signal: AbortSignal): Promise<Answer> {
    const { path, key, file } = asked;
    const { deployment, log } = this.#kit;
    const viewers = this.#tally.take(path);
    this.#counts.asked.add();
    const response = await deployment.nodes.request(node, internalPath(key), {
      signal,
      timeout: answerTime,
      ...(viewers.length > 0 && { headers: { [viewersHeader]: viewers.join('') } }),
    });
    // Any other status is between the nodes: the other one belongs to another deployment, or has a bug.
    if (![200, 400, 404, 503].includes(response.status)) {
      await response.body?.cancel();
      log.error('another node refused a request for viewers', { node, status: response.status });
      throw unreachable();
    }
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    const room = length <= maxAnswerBytes ? this.#cache.reserve(length) : undefined;
    if (!room) {
      await response.body?.cancel();
      log.warn('an answer of another node does not fit into plugins.streams.relayMemory', {
        ...{ node, bytes: length, held: this.#cache.bytes },
      });
      throw tooManyWaiting();
    }
    try {
      const answer = {
        status: response.status,
        headers: passedHeaders.flatMap((name): [string, string][] => {
          const value = response.headers.get(name);
          return value === null ? [] : [[name, value]];
        }),
        body: await response.blob(),
      };
      if (answer.status === 200) {
        const kept = /\.(mp4|vtt)$/.test(file) ? mediaKept : playlistKept;
        room.keep(key, answer, { until: this.#clock.now() + kept });
      }
      return answer;
    } catch (error) {
      throw unreachable(error);
    } finally {
      room.release();
    }
  }

  /** Asks the node at this location; undefined when it does not have the playlist. */
  async #attempt(
    { node }: PlaylistLocation,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Answer | Fault | undefined> {
    const { nodes } = this.#kit.deployment;
    if (node === undefined || node === nodes.own.id) return undefined;
    const gone = new AbortController();
    // A frozen node does not answer while the broadcast continues elsewhere.
    const look = async () => {
      const isThere =
        (await nodes.find(node))?.isAlive && (await this.#locations.find(asked.playbackId)).node === node;
      if (!isThere) gone.abort();
    };
    const stop = every(believed, { clock: this.#clock, work: () => void look().catch(() => {}) });
    try {
      const answer = await this.#ask(node, asked, AbortSignal.any([signal, gone.signal]));
      return (await isElsewhere(answer)) ? undefined : answer;
    } catch (error) {
      signal.throwIfAborted();
      if (hasCode(error, 'node.unreachable')) return error;
      if (gone.signal.aborted) return unreachable(error);
      throw error;
    } finally {
      stop();
    }
  }

  /** Waits for a playlist that is expected back, wherever it comes back. */
  async #find(asked: Asked, signal: AbortSignal): Promise<Answer | 'here'> {
    const until = this.#clock.now() + returnWait;
    const { playbackId, file } = asked;
    const isPlaylist = file.endsWith('.m3u8');
    let location = await this.#locations.find(playbackId);
    for (;;) {
      const found = await this.#attempt(location, asked, signal);
      if (found && !(found instanceof Fault)) return found;
      // It may have moved since the location was read.
      const now = await this.#locations.find(playbackId, { age: returnLook });
      if (now.node !== location.node) {
        location = now;
        continue;
      }
      if (!isPlaylist) throw found ?? notLive();
      if (!now.isActive || this.#clock.now() >= until) throw notLive();
      const due = this.#clock.now() + returnLook;
      // It may come back here as well.
      if (await this.#media.appears(playbackId, { timeout: returnLook, signal })) return 'here';
      await pause(due, { clock: this.#clock, signal });
      if (this.#kit.signal.aborted) throw notLive();
      signal.throwIfAborted();
      location = await this.#locations.find(playbackId, { age: returnLook });
    }
  }
}

/** Serves what this node does not have at the moment. */
export interface EdgeProxy {
  /** Throws the Faults of playback. */
  serve(viewer: ViewerRequest): Promise<Response>;
}

/** From this node, where the broadcast came back. Fault `playback.not_live` if it did not. */
export async function serveHere(media: Pick<Media, 'serve'>, viewer: ViewerRequest): Promise<Response> {
  const served = media.serve(viewer);
  if (!served) throw notLive();
  return liveResponse(await served);
}

/** An answer of another node. All who get it share its bytes. */
interface Answer {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: Blob;
}

interface Asked {
  readonly playbackId: string;
  readonly file: string;
  /** Playback id and file. */
  readonly path: string;
  /** The same with the parameters that matter, normalised. */
  readonly key: string;
}

/** The request to another node; undefined when no node could have it. */
function askedBy({ playbackId, file, query }: ViewerRequest, beside: ReadonlySet<string>): Asked | undefined {
  const isFile = beside.has(file) || /^[0-9a-z_.]{1,64}\.(m3u8|mp4|vtt)$/.test(file);
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
  const path = `${playbackId}/${file}`;
  return { playbackId, file, path, key: parameters.size > 0 ? `${path}?${parameters}` : path };
}

function unreachable(cause?: unknown): Fault {
  return new Fault('node.unreachable', {
    status: 503,
    message: 'The node that has this broadcast did not answer correctly. Try again.',
    retryAfter: 1,
    cause,
  });
}

/** The node does not have the playlist. A 404 with another code is about a playlist that is there, such as one without a recording. */
async function isElsewhere({ status, body }: Answer): Promise<boolean> {
  if (status !== 404) return false;
  const { code } = await body.json().catch(() => ({}));
  return code === undefined || code === 'playback.not_live';
}

/** The headers that viewers get. */
const passedHeaders = [
  ...['content-type', 'cache-control', 'retry-after', 'etag'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
];

function count(
  { metrics }: Pick<StreamsKit, 'metrics'>,
  { cache, shared }: { cache: ByteLru<Answer>; shared: SingleFlight<unknown> },
) {
  metrics.reading('millrace_relay_held_bytes', {
    help: 'Bytes of answers of other nodes in memory for viewers of this node.',
    read: () => cache.bytes,
  });
  metrics.reading('millrace_relay_waiting_viewers', {
    help: 'Requests of viewers that wait for an answer of another node.',
    read: () => shared.waiting,
  });
  const served = 'Requests of viewers for media of another node.';
  const asked = 'Requests to other nodes for viewers of this node.';
  return {
    served: metrics.counter('millrace_relay_viewer_requests_total', served).with({}),
    asked: metrics.counter('millrace_relay_node_requests_total', asked).with({}),
  };
}
