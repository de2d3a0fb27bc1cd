import type { Socket } from 'bun';
import { every } from '../../core/base/timing.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { Arena, type MediaSink } from '../../runtime/media/publish/sink.ts';
import { encodeAmf0 } from '../../runtime/media/rtmp/amf0.ts';
import { encodeMessage, messageType } from '../../runtime/media/rtmp/message-writer.ts';
import { type PublishEnd, RtmpSession, SWEEP_INTERVAL } from '../../runtime/media/rtmp/session.ts';
import { SocketWriter } from '../../runtime/media/rtmp/socket-writer.ts';
import { rtmpDefaults } from '../rtmp/kit.ts';
import type { Heard } from './heard.ts';

/** Somebody else's RTMP server, good or bad, that remembers what it hears. In this process. */
export interface FarSide extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  url(key: string): string;
  /** All that ever connected, in order; with `key` those that published it. */
  connections(key?: string): FarConnection[];
  /** How connections are treated from now on. */
  behave(behaviour: Behaviour): void;
}

/**
 * - `accepts`: takes what comes.
 * - `drops`: accepts, and resets the connection once it has heard so many ms of media.
 * - `silent`: accepts TCP and never says a word.
 * - `refuses`: answers the publish with an error that repeats the key. `refusesConnect`: answers `connect` with `_error`
 *   that repeats all it was sent.
 */
export type Behaviour =
  | { readonly kind: 'accepts' | 'silent' | 'refuses' | 'refusesConnect' }
  | { readonly kind: 'drops'; readonly afterMs: number };

export interface FarConnection {
  /** What it publishes, once it has said so. */
  readonly key: string | undefined;
  readonly isPublishing: boolean;
  readonly isClosed: boolean;
  /** How its publish ended. */
  readonly end: PublishEnd | undefined;
  /** Audio and video messages in their order. */
  readonly heard: readonly Heard[];
  /** What `onMetaData` said. */
  readonly metadata: readonly unknown[];
  /** Reads nothing more, until `resume`. Nothing is closed. */
  pause(): void;
  resume(): void;
  /** Resets the connection. */
  drop(): void;
}

export function startFarSide(options: {
  host: string;
  behaviour?: Behaviour;
  /** Certificate and key as PEM: `rtmps`. */
  tls?: { cert: string; key: string };
}): FarSide {
  const { host, tls } = options;
  const clock = systemClock();
  const all: Connection[] = [];
  let behaviour: Behaviour = options.behaviour ?? { kind: 'accepts' };
  const server = Bun.listen<Connection>({
    hostname: host,
    port: 0,
    ...(tls && { tls }),
    socket: {
      binaryType: 'uint8array',
      open(socket) {
        socket.data = new Connection(socket, { clock, behaviour });
        all.push(socket.data);
      },
      data: ({ data }, bytes) => data.feed(bytes as Uint8Array),
      drain: ({ data }) => data.writer.flush(),
      close: ({ data }) => data.closed(),
      error: (socket) => void socket.terminate(),
    },
  });
  const stopSweeping = every(SWEEP_INTERVAL, {
    clock,
    work: () => {
      for (const connection of all) connection.sweep(clock.now());
    },
  });
  return {
    host,
    port: server.port,
    url: (key) => `${tls ? 'rtmps' : 'rtmp'}://${host}:${server.port}/live/${key}`,
    connections: (key) => all.filter((one) => key === undefined || one.key === key),
    behave(next) {
      behaviour = next;
    },
    async [Symbol.asyncDispose]() {
      stopSweeping();
      server.stop(true);
    },
  };
}

class Connection implements FarConnection {
  readonly heard: Heard[] = [];
  readonly metadata: unknown[] = [];
  readonly writer: SocketWriter;
  key: string | undefined;
  end: PublishEnd | undefined;
  isPublishing = false;
  isClosed = false;
  #isPaused = false;
  readonly #socket: Socket<Connection>;
  readonly #session: RtmpSession;
  readonly #behaviour: Behaviour;
  /** Bytes before `connect` was refused. */
  #first: Buffer = Buffer.alloc(0);

  constructor(
    socket: Socket<Connection>,
    options: { clock: ReturnType<typeof systemClock>; behaviour: Behaviour },
  ) {
    this.#socket = socket;
    this.#behaviour = options.behaviour;
    this.writer = new SocketWriter(socket, {
      limit: 65_536,
      onStalled: () => void socket.terminate(),
    });
    this.#session = new RtmpSession({
      clock: options.clock,
      config: rtmpDefaults,
      connection: crypto.randomUUID(),
      address: socket.remoteAddress,
      write: (bytes) => this.writer.write(bytes),
      end: () => this.writer.end(),
      onEnd: () => {},
      handlers: {
        authorise: async ({ key }) => {
          this.key = key;
          if (this.#behaviour.kind === 'refuses')
            return { granted: false, reason: 'unauthorized', message: `${key} is not known here, ${key}!` };
          return {
            ...{ granted: true, token: crypto.randomUUID(), streamId: key, sessionId: key, playbackId: key },
            ...{ mediaSequence: 0, discontinuitySequence: 0, targetDuration: 4 },
          };
        },
        attach: () => {
          this.isPublishing = true;
          return this.#sink();
        },
        detached: (_, end) => {
          this.isPublishing = false;
          this.end = end;
        },
      },
    });
  }

  feed(bytes: Uint8Array): void {
    const { kind } = this.#behaviour;
    if (kind === 'silent') return;
    if (kind === 'refusesConnect') this.#refuseConnect(bytes);
    else this.#session.feed(bytes);
  }

  sweep(now: number): void {
    // One that does not read is not to find itself idle.
    if (this.#behaviour.kind !== 'silent' && !this.#isPaused && !this.isClosed) this.#session.sweep(now);
    this.writer.sweep();
  }

  closed(): void {
    this.isClosed = true;
    this.writer.close();
    this.#session.disconnected();
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  drop(): void {
    this.#socket.terminate();
  }

  #sink(): MediaSink {
    const take = (type: 8 | 9, arena: Arena, start: number, end: number, timestamp: number) => {
      this.heard.push({ type, timestamp, body: arena.bytes.slice(start, end) });
      arena.release(end);
      const behaviour = this.#behaviour;
      if (behaviour.kind === 'drops' && timestamp - this.heard[0].timestamp >= behaviour.afterMs) this.drop();
    };
    const sink: MediaSink = {
      video: new Arena({ initial: 65_536, limit: 2 ** 25 }),
      audio: new Arena({ initial: 8192, limit: 2 ** 25 }),
      onVideo: (start, end, timestamp) => take(9, sink.video, start, end, timestamp),
      onAudio: (start, end, timestamp) => take(8, sink.audio, start, end, timestamp),
      onMetadata: (values) => void this.metadata.push(...values),
    };
    return sink;
  }

  /** S0 to S2 for C0 and C1, and `_error` for what comes behind C2 (RTMP 1.0, 5.2 and 7.2.1.1). */
  #refuseConnect(bytes: Uint8Array): void {
    const before = this.#first.length;
    this.#first = Buffer.concat([this.#first, bytes]);
    const hello = 1 + 1536;
    if (before < hello && this.#first.length >= hello) {
      const own = new Uint8Array(hello);
      own[0] = 3;
      this.writer.write(Buffer.concat([own, this.#first.subarray(1, hello)]));
    }
    const spoken = this.#first.subarray(hello + 1536);
    if (spoken.length === 0 || this.isClosed) return;
    const echo = spoken.toString('latin1').replace(/[^\x20-\x7e]+/g, ' ');
    const description = `[ AccessManager.Reject ] : [ code=403 need auth ] : ${echo}`;
    const info = { level: 'error', code: 'NetConnection.Connect.Rejected', description };
    const body = encodeAmf0(['_error', 1, null, info]);
    const { commandAmf0: type } = messageType;
    this.writer.write(
      encodeMessage({ type, chunkStream: 3, streamId: 0, timestamp: 0, body, chunkSize: 128 }),
    );
    this.writer.end();
  }
}
