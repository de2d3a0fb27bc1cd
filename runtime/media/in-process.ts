import { readFile } from 'node:fs/promises';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Figures, Media, MediaHandlers, PublishGrant } from '../../core/ports/media.ts';
import { LiveOutput } from './hls/output.ts';
import { BufferPool } from './hls/pool.ts';
import { type RtmpListener, rtmpListener } from './rtmp/listener.ts';
import type { PublishEnd } from './rtmp/publish.ts';

/** How often a running publish reports its figures, ms. */
const progressInterval = 30_000;
/** Bytes of segment buffers kept for reuse when broadcasts end. */
const idleBuffers = 64 * 1_048_576;

/** The media of this process: an RTMP listener, and one packager and playlist for each stream on the air. */
export function inProcessMedia(options: InProcessMediaOptions): Media {
  const { clock, log } = options;
  const pool = new BufferPool({ limit: idleBuffers });
  const outputs = new Map<string, LiveOutput>();
  const running = new Map<string, { grant: PublishGrant; figures(): Figures }>();
  const arrivals = new Arrivals(clock);
  let listener: RtmpListener | undefined;

  const attach = (grant: PublishGrant, handlers: MediaHandlers) => {
    let output = outputs.get(grant.playbackId);
    if (!output) {
      output = new LiveOutput({
        clock,
        pool,
        log: (line) => log.info(line, { streamId: grant.streamId }),
        config: { window: options.hls.window / 1000, waiterLimit: options.hls.waitingRequests },
      });
      outputs.set(grant.playbackId, output);
    }
    const sink = output.attach({
      grant,
      onPlayable() {
        handlers.report({ type: 'playable', grant, figures: sink.figures() });
        arrivals.announce(grant.playbackId);
      },
      onFatal: (reason) => listener?.close(grant.token, reason),
    });
    running.set(grant.token, { grant, figures: () => sink.figures() });
    return sink;
  };

  const detached = (grant: PublishGrant, end: PublishEnd, handlers: MediaHandlers) => {
    outputs.get(grant.playbackId)?.detach(grant.token);
    const figures = running.get(grant.token)?.figures() ?? nothing;
    running.delete(grant.token);
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
      try {
        listener = rtmpListener({
          host: rtmp.host,
          port: rtmp.port,
          ...secure,
          clock,
          log,
          limits: { connections: rtmp.connections, connectionsPerAddress: rtmp.connectionsPerAddress },
          handlers: {
            authorise: (request) => handlers.authorise(request),
            attach: (grant) => attach(grant, handlers),
            detached: (grant, end) => detached(grant, end, handlers),
          },
        });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
        throw new Fault('rtmp.port_in_use', {
          status: 500,
          message: `Port ${rtmp.port} (rtmp.port) is in use by another program.`,
        });
      }
      const stopProgress = every(progressInterval, {
        clock,
        work() {
          for (const { grant, figures } of running.values()) {
            handlers.report({ type: 'progress', grant, figures: figures() });
          }
        },
      });
      return async () => {
        stopProgress();
        listener?.stop();
        for (const output of outputs.values()) output.end();
        outputs.clear();
      };
    },
    close: (token, reason) => listener?.close(token, reason),
    retire(playbackId) {
      outputs.get(playbackId)?.end();
      outputs.delete(playbackId);
    },
    figures: (token) => running.get(token)?.figures(),
    serve({ playbackId, file, query, signal }) {
      const output = outputs.get(playbackId);
      // Until the first segment there is nothing to play, but it may come any moment.
      return output?.isPlayable ? output.serve(file, query, signal) : undefined;
    },
    appears: (playbackId, { timeout, signal }) =>
      outputs.get(playbackId)?.isPlayable
        ? Promise.resolve(true)
        : arrivals.wait(playbackId, { timeout, signal }),
  };
}

export interface InProcessMediaOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly rtmp: {
    readonly host: string;
    readonly port: number;
    readonly tlsPort?: number;
    readonly connections: number;
    readonly connectionsPerAddress: number;
  };
  /** Paths of PEM files. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly hls: {
    /** ms */
    readonly window: number;
    readonly waitingRequests: number;
  };
}

/** Who waits for a playlist to appear. */
class Arrivals {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<(came: boolean) => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  announce(playbackId: string): void {
    for (const settle of this.#waiting.get(playbackId) ?? []) settle(true);
  }

  wait(playbackId: string, options: { timeout: number; signal: AbortSignal }): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(playbackId) ?? new Set();
      const onAbort = () => settle(false);
      const cancel = this.#clock.at(this.#clock.now() + options.timeout, () => settle(false));
      const settle = (came: boolean) => {
        cancel();
        options.signal.removeEventListener('abort', onAbort);
        waiting.delete(settle);
        if (waiting.size === 0) this.#waiting.delete(playbackId);
        resolve(came);
      };
      options.signal.addEventListener('abort', onAbort);
      waiting.add(settle);
      this.#waiting.set(playbackId, waiting);
    });
  }
}

function every(interval: number, options: { clock: Clock; work: () => void }): () => void {
  const { clock, work } = options;
  let cancel = () => {};
  const schedule = () => {
    cancel = clock.at(clock.now() + interval, () => {
      work();
      schedule();
    });
  };
  schedule();
  return () => cancel();
}

async function readPem(name: string, path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: Error) => {
    throw new Fault('config.invalid', { status: 500, message: `${name}: ${error.message}` });
  });
}

const nothing: Figures = {
  bytes: 0,
  segments: 0,
  duration: 0,
  ingestRate: 0,
  lastMediaAt: 0,
  targetDuration: 0,
  issues: [],
};
