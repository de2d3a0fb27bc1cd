import type { Clock } from '../../../core/ports/clock.ts';
import type { PublishGrant, PublishRefusal, PublishRequest, UrlRefusal } from '../../../core/ports/media.ts';
import type { MediaSink } from '../publish/sink.ts';
import { Inbound } from './inbound.ts';
import { messageType } from './message-writer.ts';
import { commandLimit, NetConnection, readMetadata } from './net-connection.ts';
import { ProtocolError } from './protocol-error.ts';
import { replies } from './replies.ts';
import { unauthorized, urlRefusal } from './url-refusal.ts';
import { WindowCount } from './window-count.ts';

/** The config keys `rtmp.*`. Milliseconds and bytes. */
export interface RtmpConfig {
  /** Most open connections; further ones are closed at once. */
  readonly connections: number;
  /** The same for one address, or one /64 of IPv6. */
  readonly connectionsPerAddress: number;
  /** From accept, or from the end of a publish, to the next publish command. */
  readonly publishTimeout: number;
  /** Longest silence during a publish. */
  readonly idleTimeout: number;
  /** Most bytes of one message of any type. */
  readonly messageBytes: number;
  /** No config: applications of plugins, beside `live`. */
  readonly apps?: readonly string[];
}

/** The reason when the peer closed the connection. */
export const leaving = 'the connection closed';

export interface RtmpSessionOptions {
  readonly handlers: PublishHandlers;
  readonly clock: Clock;
  readonly config: RtmpConfig;
  /** Id of this connection, and the peer's address without port: for `authorise`. */
  readonly connection: string;
  readonly address: string;
  /** Sends bytes; they are not changed afterwards. May call `disconnected`. */
  write(bytes: Uint8Array): void;
  /** Closes the transport after everything written was sent. Called at most once. */
  end(): void;
  /** Called once with the reason of the end. `error`: it was our fault, not the peer's. */
  onEnd(reason: string, error?: unknown): void;
}

/**
 * The server's side of one RTMP connection that may publish (RTMP 1.0), without sockets and timers: its owner feeds it bytes, calls
 * `sweep` regularly, and reports when the peer has disconnected.
 *
 *   ready → authorising → publishing → ready → …
 *
 * and from every phase to `closing`, in which a last status is sent and input is ignored, and `closed`.
 * No method throws: an error ends this session only.
 */
export class RtmpSession {
  readonly #options: RtmpSessionOptions;
  readonly #inbound: Inbound;
  #phase: 'ready' | 'authorising' | 'publishing' | 'closing' | 'closed' = 'ready';
  /** When the phase has lasted too long, epoch ms. Media moves it. */
  #deadline: number;
  /** Bytes came since the last `sweep`. Cheaper than reading the clock for each of them. */
  #heard = false;
  readonly #connection: NetConnection;
  readonly #metadata = new WindowCount(commandLimit);
  #publish: Publish | undefined;

  constructor(options: RtmpSessionOptions) {
    const { config, clock } = options;
    this.#options = options;
    const write = (bytes: Uint8Array) => options.write(bytes);
    this.#inbound = new Inbound({
      messageBytes: config.messageBytes,
      write,
      onControl: this.#onControl.bind(this),
    });
    this.#connection = new NetConnection({
      clock,
      write,
      onPublish: (key, streamId) => this.#onPublish(key, streamId),
      onUnpublish: (streamId) => this.#onUnpublish(streamId),
      onPlay: (streamId) => this.#onPlay(streamId),
    });
    this.#deadline = clock.now() + config.publishTimeout;
  }

  /** Bytes from the peer, read during the call only. */
  feed(bytes: Uint8Array): void {
    this.#heard = true;
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    try {
      this.#inbound.feed(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Checks the deadlines and acknowledges received bytes. Called about every `SWEEP_INTERVAL`. */
  sweep(now: number): void {
    if (this.#phase === 'closed') return;
    const heard = this.#heard;
    this.#heard = false;
    if (heard && this.#phase !== 'closing') this.#inbound.sweep();
    if (this.#phase === 'publishing' && heard) this.#deadline = this.#idleDeadline(now);
    else if (now < this.#deadline) return;
    else if (this.#phase === 'closing') this.#close();
    else if (this.#phase === 'authorising') this.#answer(this.#publish as Publish, tooSlow);
    else if (this.#phase === 'publishing') this.#fail(new ProtocolError('nothing was received for too long'));
    else this.#fail(new ProtocolError('no publish came in time'));
  }

  /** The transport is gone. */
  disconnected(): void {
    if (this.#phase === 'closed') return;
    const isNews = this.#phase !== 'closing';
    this.#phase = 'closed';
    this.#release({ clean: false, by: 'encoder', reason: leaving });
    if (isNews) this.#options.onEnd(leaving);
  }

  /** The server ends the publish: sends `reason` to the encoder, then disconnects it. */
  endPublish(reason: string): void {
    const publish = this.#publish;
    if (publish === undefined) return;
    if (this.#phase === 'authorising')
      this.#answer(publish, { granted: false, reason: 'rejected', message: reason });
    if (this.#phase !== 'publishing') return;
    const { streamId } = publish;
    this.#linger(reason);
    this.#release({ clean: true, by: 'server', reason });
    this.#options.write(replies.failed(streamId, 'NetStream.Publish.Rejected', reason));
  }

  /** This process stops: ends everything at once. The publish may continue on another node. */
  stop(): void {
    if (this.#phase === 'closed') return;
    const reason = 'the server is stopping';
    this.#release({ clean: false, by: 'server', reason });
    this.#close();
  }

  #onControl(type: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    if (type === messageType.commandAmf0 || type === messageType.commandAmf3) {
      this.#connection.receive(type, streamId, bytes, start, end);
    } else if (type === messageType.dataAmf0 || type === messageType.dataAmf3) {
      if (!this.#metadata.admit(this.#options.clock.now())) return;
      const values = readMetadata(type, bytes, start, end);
      if (values !== undefined) this.#publish?.sink?.onMetadata(values);
    } else if (type === messageType.userControl) this.#connection.ping(bytes, start, end);
    else if (type === messageType.windowAckSize) this.#inbound.setWindow(bytes, start, end);
    else if (type === messageType.setPeerBandwidth) this.#connection.limit(bytes, start, end);
  }

  #onPublish(key: string, streamId: number): void {
    const { handlers, clock, connection, address } = this.#options;
    if (this.#publish !== undefined) {
      const message = 'This connection publishes already.';
      this.#options.write(replies.failed(streamId, 'NetStream.Publish.Rejected', message));
      return;
    }
    const publish = new Publish(streamId, handlers);
    this.#publish = publish;
    this.#phase = 'authorising';
    this.#deadline = clock.now() + AUTHORISE_TIMEOUT;
    this.#inbound.hold();
    const { isPush, encoder, app = '' } = this.#connection;
    const who = { connection, address, isPush, ...(encoder !== undefined && { encoder }) };
    const request = { ...who, app, key };
    const refusal = urlRefusal(request, this.#options.config.apps);
    if (refusal) {
      handlers.refused?.(request, refusal);
      this.#answer(publish, unauthorized(refusal));
      return;
    }
    publish.ask(request).then(
      (refusal) => this.#answer(publish, refusal),
      (error) => this.#fail(error),
    );
  }

  /** The answer to a publish is here, or took too long. */
  #answer(publish: Publish, refusal: PublishRefusal | undefined): void {
    if (this.#phase !== 'authorising' || this.#publish !== publish) return;
    if (refusal !== undefined) {
      this.#endUncleanly(`the publish was refused: ${refusal.reason}: ${refusal.message}`, publish.error);
      this.#options.write(replies.failed(publish.streamId, refusalCodes[refusal.reason], refusal.message));
    } else this.#begin(publish);
  }

  #begin(publish: Publish): void {
    if (publish.sink === undefined) {
      this.#fail(new ProtocolError('the publish ended before it began'));
      return;
    }
    try {
      this.#phase = 'publishing';
      this.#deadline = this.#idleDeadline(this.#options.clock.now());
      this.#inbound.attach(publish.sink, publish.streamId);
      this.#options.write(replies.published(publish.streamId, this.#connection.hasFcPublish));
      this.#inbound.resume();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The encoder has ended its publish by a command. It may publish again. */
  #onUnpublish(streamId: number | undefined): void {
    const publish = this.#publish;
    if (publish === undefined || (streamId !== undefined && streamId !== publish.streamId)) return;
    this.#phase = 'ready';
    this.#deadline = this.#options.clock.now() + this.#options.config.publishTimeout;
    this.#connection.hasFcPublish = false;
    this.#release({ clean: true, by: 'encoder', reason: 'the encoder ended the broadcast' });
    this.#options.write(replies.unpublished(publish.streamId));
  }

  #onPlay(streamId: number): void {
    this.#endUncleanly('this server takes broadcasts by RTMP and plays none');
    this.#options.write(replies.failed(streamId, 'NetStream.Play.Failed', 'Play this stream by HLS.'));
  }

  /** Ends the publish, if there is one. Nothing reaches its sink afterwards. */
  #release(end: PublishEnd): void {
    const publish = this.#publish;
    this.#publish = undefined;
    this.#inbound.detach();
    try {
      publish?.end(end);
    } catch (error) {
      this.#fail(error);
    }
  }

  #endUncleanly(reason: string, error?: unknown): void {
    this.#linger(reason, error);
    this.#release({ clean: false, by: 'server', reason });
  }

  /** The last byte is up to one sweep old, and the deadline is checked up to one sweep late. */
  #idleDeadline(now: number): number {
    return now + Math.max(SWEEP_INTERVAL, this.#options.config.idleTimeout - 2 * SWEEP_INTERVAL);
  }

  /** Gives the peer time to read what is written next. Its input is ignored. */
  #linger(reason: string, error?: unknown): void {
    this.#phase = 'closing';
    this.#deadline = this.#options.clock.now() + CLOSE_GRACE;
    this.#inbound.close();
    this.#options.onEnd(reason, error);
  }

  #fail(error: unknown): void {
    if (this.#phase === 'closed') return;
    const isPeer = error instanceof ProtocolError;
    const isNews = this.#phase !== 'closing';
    const reason = isPeer ? error.message : 'something went wrong in the server';
    const told = this.#phase === 'publishing' ? this.#publish?.streamId : undefined;
    this.#phase = 'closed';
    this.#inbound.close();
    this.#release({ clean: false, by: isPeer ? 'encoder' : 'server', reason });
    if (isNews || !isPeer) this.#options.onEnd(reason, isPeer ? undefined : error);
    // An encoder with a valid key made a mistake rather than an attack: it can show the reason.
    if (told !== undefined) this.#options.write(replies.failed(told, 'NetStream.Publish.Rejected', reason));
    this.#options.end();
  }

  #close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#options.end();
  }
}

/** How often deadlines are checked, ms. */
export const SWEEP_INTERVAL = 250;
/** How long the check of a stream key may take, ms. */
const AUTHORISE_TIMEOUT = 10_000;
/** Time for a refused or ended encoder to read the reason, ms. */
const CLOSE_GRACE = 2_000;

/** Encoders that know these codes stop after a refusal and try again after a failure. */
const refusalCodes: Readonly<Record<PublishRefusal['reason'], string>> = {
  unauthorized: 'NetStream.Publish.Unauthorized',
  rejected: 'NetStream.Publish.Rejected',
  unavailable: 'NetStream.Failed',
};

const tooSlow: PublishRefusal = {
  granted: false,
  reason: 'unavailable',
  message: 'The server took too long to answer. Try again.',
};

/** Decides about publishes and takes their media. The same for all sessions of a listener. */
export interface PublishHandlers {
  /** May this publish begin? Its media is not parsed before the answer. A throw is a no. */
  authorise(request: PublishRequest): Promise<PublishGrant | PublishRefusal>;
  /** One was refused without that question. */
  refused?(request: PublishRequest, refusal: UrlRefusal): void;
  /**
   * A granted publish begins; its media goes to the returned sink. A refusal (it was ended meanwhile) or a throw refuses it, and
   * `detached` follows.
   */
  attach(grant: PublishGrant, request: PublishRequest): MediaSink | PublishRefusal;
  /**
   * A granted publish is over. Called exactly once for each grant, after the last call of its sink; without `attach` before it if the
   * encoder had disconnected, or had waited too long.
   */
  detached(grant: PublishGrant, end: PublishEnd): void;
}

export interface PublishEnd {
  /** It was ended on purpose: by a command of the encoder, or by the server. */
  readonly clean: boolean;
  readonly by: 'encoder' | 'server';
  /** One plain phrase for the log. */
  readonly reason: string;
}

/** One publish, from the request to its end. Calls `detached` exactly once. */
class Publish {
  /** Message stream that carries its media. */
  readonly streamId: number;
  grant: PublishGrant | undefined;
  /** Set from the grant to the end. */
  sink: MediaSink | undefined;
  /** What the owner threw instead of an answer. */
  error: unknown;
  readonly #handlers: PublishHandlers;
  #end: PublishEnd | undefined;

  constructor(streamId: number, handlers: PublishHandlers) {
    this.streamId = streamId;
    this.#handlers = handlers;
  }

  /** Resolves undefined when granted, with `sink` set unless it has ended meanwhile. Never rejects. */
  async ask(request: PublishRequest): Promise<PublishRefusal | undefined> {
    const answer = await this.#authorise(request);
    if (!answer.granted) return answer;
    this.grant = answer;
    if (this.#end !== undefined) {
      this.#handlers.detached(answer, this.#end);
      return undefined;
    }
    try {
      const taken = this.#handlers.attach(answer, request);
      if ('granted' in taken) {
        this.end({ clean: false, by: 'server', reason: 'it was ended before it began' });
        return taken;
      }
      if (this.#end === undefined) this.sink = taken;
      return undefined;
    } catch (error) {
      this.error = error;
      this.end({ clean: false, by: 'server', reason: 'the packager did not start' });
      return failure;
    }
  }

  /** The first end counts. Later ones do nothing. */
  end(end: PublishEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.sink = undefined;
    if (this.grant !== undefined) this.#handlers.detached(this.grant, end);
  }

  async #authorise(request: PublishRequest): Promise<PublishGrant | PublishRefusal> {
    try {
      return await this.#handlers.authorise(request);
    } catch (error) {
      this.error = error;
      return failure;
    }
  }
}

const failure: PublishRefusal = {
  granted: false,
  reason: 'unavailable',
  message: 'The server could not take the broadcast. Try again.',
};
