import type { Log } from '../../../core/base/log.ts';
import { every } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  type Figures,
  type Media,
  type MediaHandlers,
  noFigures,
  noVitals,
  type PublishGrant,
  type PublishRefusal,
  type PublishRequest,
} from '../../../core/ports/media.ts';
import { readPem } from '../../base/read-pem.ts';
import type { OutputConfig } from '../live/config.ts';
import { BufferPool } from '../live/pool.ts';
import { Waiters } from '../live/waiters.ts';
import { MemoryBudget } from '../publish/memory-budget.ts';
import { OwnDelay } from '../publish/own-delay.ts';
import type { MediaSink } from '../publish/sink.ts';
import type { PushRelay } from '../push/relay.ts';
import type { MediaRecorder } from '../recording/feed.ts';
import type { RenditionMaker } from '../renditions/ladder.ts';
import { type RtmpListener, rtmpListener } from '../rtmp/listener.ts';
import type { PublishEnd, RtmpConfig } from '../rtmp/session.ts';
import { Broadcast } from './broadcast.ts';
import { Closings } from './closings.ts';
import { Numbers } from './numbers.ts';
import { ViewerCount } from './viewer-count.ts';

/** Segment buffers kept for reuse, bytes; further ones are freed at once. */
const idleBuffers = 8 * 1_048_576;
/** How often the figures of a running broadcast are reported, ms: after a crash those of the last time count. */
const progressInterval = 30_000;

/** The media of this process: an RTMP listener, and one packager and playlist for each stream on the air. */
export function inProcessMedia(options: InProcessMediaOptions): Media {
  const { clock, log, pusher } = options;
  const pool = new BufferPool({ limit: idleBuffers });
  const { memory: limit, ...config } = options.hls;
  const memory = new MemoryBudget({ limit });
  const outputs = new Map<string, Airing>();
  /** Ended, but the end of their renditions is still being encoded. */
  const draining = new Set<Broadcast>();
  const running = new Map<string, Running>();
  /** Viewers who wait for a playlist to appear. */
  const arrivals = new Waiters<boolean>(clock);
  let isStopped = false;
  const closings = new Closings(clock);
  const numbers = new Numbers();
  const delay = new OwnDelay(clock);
  let listener: RtmpListener | undefined;
  /** Bytes of publishes that have ended. */
  let endedBytes = 0;

  const open = (grant: PublishGrant): Airing => {
    const broadcast = new Broadcast({
      clock,
      pool,
      memory: memory.open(),
      delay,
      relay: pusher?.relayFor(grant.playbackId),
      relayOf: pusher && ((profile) => pusher.relayFor(grant.playbackId, profile)),
      transcoder: options.transcoder,
      after: numbers.endOf(grant.playbackId),
      log: (line) => log.info(line, { streamId: grant.streamId }),
      config,
    });
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    const airing = { broadcast, publish: undefined, latest: grant, viewers: new ViewerCount({ seed }) };
    outputs.set(grant.playbackId, airing);
    return airing;
  };

  const attach = (
    granted: PublishGrant,
    { request, handlers }: { request: PublishRequest; handlers: MediaHandlers },
  ): MediaSink | PublishRefusal => {
    const closed = closings.take(granted.token);
    if (closed !== undefined) return rejected(closed);
    const current = outputs.get(granted.playbackId)?.publish;
    // Grants may arrive here in another order than they were given: the newest has the output.
    if (current !== undefined && current.discontinuitySequence > granted.discontinuitySequence)
      return rejected('Another broadcast with the same key took over.');
    const known = outputs.get(granted.playbackId);
    if (known === undefined && memory.isSpent) {
      log.warn('a broadcast was refused: live media holds all the memory it may (hls.memory)', {
        streamId: granted.streamId,
        held: memory.held,
      });
      return rejected('The server has no memory left for another broadcast. Try again later.');
    }
    const grant = numbers.raise(granted);
    const last = numbers.lastOf(granted.playbackId);
    const airing = known ?? open(grant);
    airing.publish = airing.latest = granted;
    const { recorder } = options;
    const sink = airing.broadcast.attach({
      grant,
      // A grant without a publish skips a number. While the playlist is still there, viewers must not jump forward because of that.
      isNext: known !== undefined || last === granted.discontinuitySequence - 1,
      ...(recorder &&
        grant.recording && {
          recording: {
            open: (rendition) => recorder.feed(grant, rendition),
            onTrouble: (error) =>
              log.error('a broadcast could not be handed to its recording', {
                streamId: grant.streamId,
                sessionId: grant.sessionId,
                error,
              }),
          },
        }),
      onPlayable() {
        publish.hasBegun = true;
        log.info('broadcast started', publish.fields());
        tell('playable', publish, handlers);
        arrivals.wake();
      },
      onTargetGrown: () => tell('progress', publish, handlers),
      onFatal: (reason) => listener?.close(grant.token, reason),
    });
    const { streamId, sessionId } = grant;
    const { connection, address } = request;
    const publish: Running = {
      ...{ grant: granted, told: 0, hasBegun: false },
      figures: () => sink.figures(),
      fields: () => ({
        ...{ streamId, sessionId, connection, address },
        ...{ encoder: sink.encoder, codecs: sink.codecs },
      }),
    };
    running.set(grant.token, publish);
    return sink;
  };

  const detached = (grant: PublishGrant, end: PublishEnd, handlers: MediaHandlers) => {
    const airing = outputs.get(grant.playbackId);
    airing?.broadcast.detach(grant.token);
    if (airing?.publish?.token === grant.token) airing.publish = undefined;
    const publish = running.get(grant.token);
    const figures = publish?.figures() ?? noFigures;
    if (publish !== undefined) {
      const { bytes, duration } = figures;
      const seconds = Math.round(duration * 10) / 10;
      const message = publish.hasBegun
        ? 'broadcast ended'
        : 'broadcast ended before anything could be played';
      log.info(message, { ...publish.fields(), seconds, bytes, reason: end.reason });
    }
    running.delete(grant.token);
    endedBytes += figures.bytes;
    const clean = end.clean && end.by === 'encoder';
    handlers.report({ type: 'closed', grant, clean, figures });
  };

  return {
    async accept(handlers) {
      const { rtmp, tls } = options;
      const secure =
        rtmp.tlsPort !== undefined && tls
          ? {
              tls: {
                port: rtmp.tlsPort,
                cert: await readPem('tls.cert', tls.cert),
                key: await readPem('tls.key', tls.key),
              },
            }
          : {};
      listener = rtmpListener({
        host: rtmp.host,
        port: rtmp.port,
        ...secure,
        clock,
        log,
        config: rtmp,
        handlers: {
          authorise: (request) => handlers.authorise(request),
          attach: (grant, request) => attach(grant, { request, handlers }),
          detached: (grant, end) => detached(grant, end, handlers),
        },
      });
      const stopProgress = every(progressInterval, {
        clock,
        work() {
          for (const publish of running.values())
            if (publish.figures().bytes > publish.told) tell('progress', publish, handlers);
        },
      });
      const stopWatching = delay.watch();
      return async () => {
        stopProgress();
        stopWatching();
        listener?.stop();
        // The process is about to go, and those that encode with it.
        for (const { broadcast } of outputs.values()) {
          draining.add(broadcast);
          void broadcast.end();
        }
        for (const broadcast of draining) void broadcast.end();
        draining.clear();
        outputs.clear();
        isStopped = true;
        arrivals.wake();
      };
    },
    close(token, reason) {
      if (running.has(token)) listener?.close(token, reason);
      else closings.add(token, reason);
    },
    retire(playbackId, { upTo = Number.POSITIVE_INFINITY } = {}) {
      const airing = outputs.get(playbackId);
      // The order is late: the running publish began after it, or it would have been closed before.
      if (airing === undefined || airing.publish !== undefined) return;
      if (airing.latest.discontinuitySequence > upTo) return;
      const { broadcast, latest } = airing;
      numbers.keep(latest, broadcast.output.reached);
      outputs.delete(playbackId);
      const drained = broadcast.end();
      if (drained === undefined) return;
      draining.add(broadcast);
      void drained.then(() => draining.delete(broadcast));
    },
    figures: (token) => running.get(token)?.figures(),
    readings: () =>
      [...outputs.values()].map(({ broadcast: { output }, publish, latest, viewers }) => ({
        grant: latest,
        isPublishing: publish !== undefined,
        isDelayed: delay.isRecent(clock.now()),
        figures: output.figures() ?? noFigures,
        vitals: output.vitals() ?? noVitals,
        viewers: viewers.count(clock.now()),
      })),
    totals() {
      let bytes = endedBytes;
      for (const publish of running.values()) bytes += publish.figures().bytes;
      let waitingViewers = arrivals.size;
      let viewers = 0;
      for (const airing of outputs.values()) {
        waitingViewers += airing.broadcast.output.waiting;
        viewers += airing.viewers.count(clock.now());
      }
      return { publishes: running.size, outputs: outputs.size, bytes, waitingViewers, viewers };
    },
    serve({ playbackId, file, query, signal, viewers }) {
      const airing = outputs.get(playbackId);
      // Until the first segment there is nothing to play, but it may come any moment.
      if (!airing?.broadcast.output.isPlayable) return undefined;
      // Players keep asking for the media playlist; who asks for the multivariant one alone only looks.
      if (viewers !== undefined && airing.broadcast.isWatched(file))
        for (const viewer of viewers) airing.viewers.saw(viewer, clock.now());
      return airing.broadcast.serve(file, query, signal);
    },
    keyFrame: (playbackId) => outputs.get(playbackId)?.broadcast.output.keyFrame(),
    async appears(playbackId, { timeout, signal }) {
      const attempt = () =>
        outputs.get(playbackId)?.broadcast.output.isPlayable || (isStopped ? false : undefined);
      return attempt() ?? arrivals.wait({ attempt, expire: () => false }, { timeout, signal });
    },
  };
}

/** One playlist, and who feeds it now. */
interface Airing {
  readonly broadcast: Broadcast;
  publish: PublishGrant | undefined;
  /** Of the publish that came last, running or not. */
  latest: PublishGrant;
  readonly viewers: ViewerCount;
}

/** A publish that has attached and not ended. */
interface Running {
  readonly grant: PublishGrant;
  /** Something of it can be watched. */
  hasBegun: boolean;
  figures(): Figures;
  /** For the log. Never the request itself: it holds the stream key. */
  fields(): Readonly<Record<string, unknown>>;
  /** Bytes in the last report. */
  told: number;
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
  /** Paths of PEM files. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly hls: Pick<OutputConfig, 'partTarget' | 'window' | 'waiterLimit'> & {
    /** Bytes that the windows and arenas of all broadcasts may hold together. */
    readonly memory: number;
  };
}

function tell(type: 'playable' | 'progress', publish: Running, handlers: MediaHandlers): void {
  const { grant } = publish;
  const figures = publish.figures();
  publish.told = figures.bytes;
  handlers.report({ type, grant, figures });
}

function rejected(message: string): PublishRefusal {
  return { granted: false, reason: 'rejected', message };
}
