import type { Log } from '../../../core/base/log.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  type Figures,
  type LiveAnswer,
  type LiveKeyFrame,
  type LiveReading,
  type Media,
  type MediaHandlers,
  type MediaTotals,
  noFigures,
  noVitals,
  type PublishGrant,
  type PublishRefusal,
  type PublishRequest,
  type ViewerRequest,
} from '../../../core/ports/media.ts';
import { readPem } from '../../base/read-pem.ts';
import type { OutputConfig } from '../live/config.ts';
import { BufferPool } from '../live/pool.ts';
import { Slabs, trimInterval } from '../live/slabs.ts';
import { Waiters } from '../live/waiters.ts';
import type { PluginMedia } from '../plugins/plugin-media.ts';
import { MemoryBudget, type MemoryShare } from '../publish/memory-budget.ts';
import { OwnDelay } from '../publish/own-delay.ts';
import type { MediaSink } from '../publish/sink.ts';
import type { PushRelay } from '../push/relay.ts';
import type { MediaRecorder } from '../recording/feed.ts';
import type { RenditionMaker } from '../renditions/ladder.ts';
import { RtmpListener } from '../rtmp/listener.ts';
import type { PublishEnd, RtmpConfig } from '../rtmp/session.ts';
import { Broadcast, type BroadcastAttachment } from './broadcast.ts';
import { Closings } from './closings.ts';
import { Numbers } from './numbers.ts';
import { Running } from './running.ts';
import { ViewerCount } from './viewer-count.ts';

/** Buffers in which parts are written, kept for reuse, bytes; further ones are freed at once. */
const idleBuffers = 8 * 1_048_576;
/** How often the figures of a running broadcast are reported, ms: after a crash those of the last time count. */
const progressInterval = 30_000;

/** The media of this process: an RTMP listener, and one packager and playlist for each stream on the air. */
export function inProcessMedia(options: InProcessMediaOptions): Media {
  return new InProcessMedia(options);
}

class InProcessMedia implements Media {
  readonly #options: InProcessMediaOptions;
  readonly #clock: Clock;
  readonly #config: Partial<OutputConfig>;
  readonly #pool = new BufferPool({ limit: idleBuffers });
  readonly #slabs = new Slabs();
  readonly #memory: MemoryBudget;
  readonly #outputs = new Map<string, Airing>();
  /** Ended, but the end of their renditions is still being encoded. */
  readonly #draining = new Set<Broadcast>();
  readonly #running = new Map<string, Running>();
  /** Viewers who wait for a playlist to appear. */
  readonly #arrivals: Waiters<boolean>;
  #isStopped = false;
  readonly #closings: Closings;
  readonly #numbers = new Numbers();
  readonly #delay: OwnDelay;
  #listener: RtmpListener | undefined;
  /** Bytes of publishes that have ended. */
  #endedBytes = 0;

  constructor(options: InProcessMediaOptions) {
    const { clock } = options;
    const { memory: limit, ...config } = options.hls;
    this.#options = options;
    this.#clock = clock;
    this.#memory = new MemoryBudget({ limit });
    this.#config = config;
    this.#arrivals = new Waiters(clock);
    this.#closings = new Closings(clock);
    this.#delay = new OwnDelay(clock);
  }

  async accept(handlers: MediaHandlers): Promise<() => Promise<void>> {
    const { clock, log, rtmp } = this.#options;
    this.#listener = new RtmpListener({
      host: rtmp.host,
      port: rtmp.port,
      ...(await this.#secure()),
      clock,
      log,
      config: rtmp,
      handlers: {
        authorise: (request) => handlers.authorise(request),
        refused: (request, refusal) => handlers.refused?.(request, refusal),
        attach: (grant, request) => this.#attach(grant, { request, handlers }),
        detached: (grant, end) => this.#detached(grant, end, handlers),
      },
    });
    const stopProgress = every(progressInterval, {
      clock,
      work: () => {
        for (const publish of this.#running.values()) if (publish.hasNews) publish.report('progress');
      },
    });
    const stopTrimming = every(trimInterval, { clock, work: () => this.#slabs.trim() });
    const stopWatching = this.#delay.watch();
    return async () => {
      stopProgress();
      stopTrimming();
      stopWatching();
      this.#stop();
    };
  }

  close(token: string, reason: string): void {
    if (this.#running.has(token)) this.#listener?.close(token, reason);
    else this.#closings.add(token, reason);
  }

  retire(playbackId: string, { upTo = Number.POSITIVE_INFINITY }: { upTo?: number } = {}): void {
    const airing = this.#outputs.get(playbackId);
    // The order is late: the running publish began after it, or it would have been closed before.
    if (airing === undefined || airing.publish !== undefined) return;
    if (airing.latest.discontinuitySequence > upTo) return;
    const { broadcast, latest } = airing;
    this.#numbers.keep(latest, broadcast.output.reached);
    this.#outputs.delete(playbackId);
    const drained = broadcast.end();
    if (drained === undefined) return;
    this.#draining.add(broadcast);
    void drained.then(() => this.#draining.delete(broadcast));
  }

  figures(token: string): Figures | undefined {
    return this.#running.get(token)?.figures;
  }

  readings(): LiveReading[] {
    return [...this.#outputs.values()].map(({ broadcast: { output }, publish, latest, viewers, memory }) => ({
      grant: latest,
      isPublishing: publish !== undefined,
      isDelayed: this.#delay.isRecent(this.#clock.now()),
      figures: output.figures() ?? noFigures,
      vitals: output.vitals() ?? noVitals,
      viewers: viewers.count(this.#clock.now()),
      memory: memory.held,
    }));
  }

  totals(): MediaTotals {
    let bytes = this.#endedBytes;
    for (const publish of this.#running.values()) bytes += publish.figures.bytes;
    let waitingViewers = this.#arrivals.size;
    let viewers = 0;
    for (const airing of this.#outputs.values()) {
      waitingViewers += airing.broadcast.output.waiting;
      viewers += airing.viewers.count(this.#clock.now());
    }
    return { publishes: this.#running.size, outputs: this.#outputs.size, bytes, waitingViewers, viewers };
  }

  serve({
    playbackId,
    file,
    query,
    signal,
    viewers,
  }: ViewerRequest): LiveAnswer | Promise<LiveAnswer> | undefined {
    const airing = this.#outputs.get(playbackId);
    // Until the first segment there is nothing to play, but it may come any moment.
    if (!airing?.broadcast.output.isPlayable) return undefined;
    // Players keep asking for the media playlist; who asks for the multivariant one alone only looks.
    if (viewers !== undefined && airing.broadcast.isWatched(file))
      for (const viewer of viewers) airing.viewers.saw(viewer, this.#clock.now());
    return airing.broadcast.serve(file, query, signal);
  }

  keyFrame(playbackId: string): LiveKeyFrame | 'none' | undefined {
    return this.#outputs.get(playbackId)?.broadcast.output.keyFrame();
  }

  async appears(
    playbackId: string,
    { timeout, signal }: { timeout: number; signal: AbortSignal },
  ): Promise<boolean> {
    const attempt = () =>
      this.#outputs.get(playbackId)?.broadcast.output.isPlayable || (this.#isStopped ? false : undefined);
    return attempt() ?? this.#arrivals.wait({ attempt, expire: () => false }, { timeout, signal });
  }

  async #secure() {
    const { rtmp, tls } = this.#options;
    if (rtmp.tlsPort === undefined || !tls) return {};
    const cert = await readPem('tls.cert', tls.cert);
    return { tls: { port: rtmp.tlsPort, cert, key: await readPem('tls.key', tls.key) } };
  }

  #stop(): void {
    this.#listener?.stop();
    // The process is about to go, and those that encode with it.
    for (const { broadcast } of this.#outputs.values()) {
      this.#draining.add(broadcast);
      void broadcast.end();
    }
    for (const broadcast of this.#draining) void broadcast.end();
    this.#draining.clear();
    this.#outputs.clear();
    this.#isStopped = true;
    this.#arrivals.wake();
  }

  #open(grant: PublishGrant): Airing {
    const { clock, log, pusher, transcoder, plugins } = this.#options;
    const memory = this.#memory.open(grant.account);
    const broadcast = new Broadcast({
      clock,
      pool: this.#pool,
      slabs: this.#slabs,
      memory,
      delay: this.#delay,
      relay: pusher?.relayFor(grant.playbackId),
      relayOf: pusher && ((profile) => pusher.relayFor(grant.playbackId, profile)),
      transcoder,
      plugins,
      after: this.#numbers.endOf(grant.playbackId),
      log: (line) => log.info(line, { streamId: grant.streamId }),
      config: this.#config,
    });
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const viewers = new ViewerCount({ seed });
    const airing: Airing = { broadcast, publish: undefined, latest: grant, viewers, memory };
    memory.onEvicted = () => this.#evict(airing);
    this.#outputs.set(grant.playbackId, airing);
    return airing;
  }

  #attach(
    granted: PublishGrant,
    { request, handlers }: { request: PublishRequest; handlers: MediaHandlers },
  ): MediaSink | PublishRefusal {
    const known = this.#outputs.get(granted.playbackId);
    const refused = this.#refusal(granted, known);
    if (refused !== undefined) return rejected(refused);
    const { log } = this.#options;
    const grant = this.#numbers.raise(granted);
    const last = this.#numbers.lastOf(granted.playbackId);
    const airing = known ?? this.#open(grant);
    airing.publish = airing.latest = granted;
    if (granted.account !== undefined) this.#memory.bound(granted.account, granted.liveBytes);
    const sink = airing.broadcast.attach({
      grant,
      // A grant without a publish skips a number. While the playlist is still there, viewers must not jump forward because of that.
      isNext: known !== undefined || last === granted.discontinuitySequence - 1,
      ...this.#recordingOf(grant),
      onPlayable: () => {
        publish.hasBegun = true;
        log.info('broadcast started', publish.fields());
        publish.report('playable');
        this.#arrivals.wake();
      },
      onTargetGrown: () => publish.report('progress'),
      onFatal: (reason) => this.#listener?.close(grant.token, reason),
    });
    const publish = new Running(granted, { sink, request, handlers });
    this.#running.set(grant.token, publish);
    return sink;
  }

  /** Why a publish may not begin. */
  #refusal(granted: PublishGrant, known: Airing | undefined): string | undefined {
    const closed = this.#closings.take(granted.token);
    if (closed !== undefined) return closed;
    const current = known?.publish;
    // Grants may arrive here in another order than they were given: the newest has the output.
    if (current !== undefined && current.discontinuitySequence > granted.discontinuitySequence)
      return 'Another broadcast with the same key took over.';
    if (known !== undefined || this.#memory.mayBegin(granted.account, granted.liveBytes)) return undefined;
    if (!this.#memory.isSpent)
      return `The account has used up its live memory (liveBytes). End another broadcast first.`;
    this.#options.log.warn('a broadcast was refused: live media holds all the memory it may (hls.memory)', {
      streamId: granted.streamId,
      held: this.#memory.held,
    });
    return 'The server has no memory left for another broadcast. Try again later.';
  }

  /** Ends a broadcast at once, with its playlist: another one needs its memory. */
  #evict({ broadcast, publish, latest, memory }: Airing): void {
    const { streamId, account, playbackId, token } = latest;
    const { held } = memory;
    this.#options.log.warn(
      'a broadcast was ended: it was the largest of an account that holds too much live memory',
      {
        ...{ streamId, account, held },
      },
    );
    this.#numbers.keep(latest, broadcast.output.reached);
    this.#outputs.delete(playbackId);
    // The second call does not wait for renditions: the memory is needed now.
    void broadcast.end();
    void broadcast.end();
    if (publish) this.#listener?.close(token, evicted);
  }

  #recordingOf(grant: PublishGrant): Pick<BroadcastAttachment, 'recording'> {
    const { log, recorder } = this.#options;
    if (!recorder || !grant.recording) return {};
    const { streamId, sessionId } = grant;
    return {
      recording: {
        open: (rendition) => recorder.feed(grant, rendition),
        onTrouble: (error) =>
          log.error('a broadcast could not be handed to its recording', { streamId, sessionId, error }),
      },
    };
  }

  #detached(grant: PublishGrant, end: PublishEnd, handlers: MediaHandlers): void {
    const airing = this.#outputs.get(grant.playbackId);
    airing?.broadcast.detach(grant.token);
    if (airing?.publish?.token === grant.token) airing.publish = undefined;
    const publish = this.#running.get(grant.token);
    const figures = publish?.figures ?? noFigures;
    if (publish !== undefined) {
      const { bytes, duration } = figures;
      const seconds = Math.round(duration * 10) / 10;
      const message = publish.hasBegun
        ? 'broadcast ended'
        : 'broadcast ended before anything could be played';
      this.#options.log.info(message, { ...publish.fields(), seconds, bytes, reason: end.reason });
    }
    this.#running.delete(grant.token);
    this.#endedBytes += figures.bytes;
    const clean = end.clean && end.by === 'encoder';
    handlers.report({ type: 'closed', grant, clean, figures });
  }
}

/** One playlist, and who feeds it now. */
interface Airing {
  readonly broadcast: Broadcast;
  publish: PublishGrant | undefined;
  /** Of the publish that came last, running or not. */
  latest: PublishGrant;
  readonly viewers: ViewerCount;
  readonly memory: MemoryShare;
}

export interface InProcessMediaOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly rtmp: RtmpConfig & {
    readonly host: string;
    readonly port: number;
    readonly tlsPort?: number;
  };
  /** Where publishes that are granted with `recording` are written down; without one they are not. */
  readonly recorder?: MediaRecorder;
  /** What makes the renditions that grants want; without one there are none. */
  readonly transcoder?: RenditionMaker;
  /** What pushes playlists on to other servers; without one none is. */
  readonly pusher?: { relayFor(playbackId: string, profile?: string): PushRelay };
  /** Plugins that see broadcasts; without it none does. */
  readonly plugins?: PluginMedia | undefined;
  /** Paths of PEM files. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly hls: Pick<OutputConfig, 'partTarget' | 'window' | 'waiterLimit'> & {
    /** Bytes that the windows and arenas of all broadcasts may hold together. */
    readonly memory: number;
  };
}

/** What the encoder is told. */
const evicted =
  'The account holds more live memory than its share, and this was its largest broadcast. Lower the bitrate, or end another broadcast.';

function rejected(message: string): PublishRefusal {
  return { granted: false, reason: 'rejected', message };
}
