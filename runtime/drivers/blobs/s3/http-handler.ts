import { cidr } from '../../../../core/base/cidr.ts';
import { pulledStream } from '../../../../core/base/pulled-stream.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type {
  OutboundFailure,
  OutboundMethod,
  OutboundSource,
  OutboundStream,
} from '../../../../core/ports/outbound.ts';
import { outboundClient } from '../../outbound/client.ts';

/** Times in ms. */
export const s3Limits = {
  /** Tries of one request that got no answer, 5xx or 429. A body that breaks off counts anew from each byte that arrived. */
  attempts: 5,
  /** Longest wait before the second attempt; it doubles with each, up to `longestWait`, and chance takes up to all of it away. */
  firstWait: 200,
  longestWait: 5_000,
  connectTimeout: 5_000,
  /** One attempt at a request that carries no bytes of a blob. */
  smallTimeout: 15_000,
  /** Longest time without a byte sent or received. */
  silence: 20_000,
};
export type S3Limits = Readonly<typeof s3Limits>;

/** Requests under way, with the bodies that are being read; beyond, they are tried again, then 503 `blobs.busy`. */
const requests = 512;
/** Bytes of an answer that is no blob: a page of a list. */
const answerBytes = 16 * 1_048_576;
/** Bytes that are handed to a socket in one call. */
export const sentPiece = 256 * 1024;

/** What is under way is bounded by this; `client.send` passes it through. */
export interface Exchange {
  readonly abortSignal?: AbortSignal;
  /** Ms in all; 0 is none. */
  readonly timeout?: number;
  /** Ms without a byte. */
  readonly silence?: number;
  /** Bytes of the answer. */
  readonly most?: number;
}

/** Bytes that are sent as they lie, in pieces, as often as it takes. */
export class SentBytes {
  readonly bytes: Uint8Array;
  #hash: Promise<string> | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** SHA-256 in hexadecimal, made by a thread of the pool. */
  hash(): Promise<string> {
    this.#hash ??= crypto.subtle
      .digest('SHA-256', this.bytes as Uint8Array<ArrayBuffer>)
      .then((hash) => Buffer.from(hash).toString('hex'));
    return this.#hash;
  }

  source(): OutboundSource {
    const { bytes } = this;
    return {
      length: bytes.length,
      canRepeat: true,
      async *chunks() {
        for (let at = 0; at < bytes.length; at += sentPiece) {
          yield bytes.subarray(at, at + sentPiece);
          // Where the network takes all of a part at once, others have their turn all the same.
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    };
  }
}

/** No answer came, or not all of it. */
export class TransportError extends Error {
  readonly reason: OutboundFailure['reason'];

  constructor({ reason, message }: OutboundFailure) {
    super(message);
    this.name = 'TransportError';
    this.reason = reason;
  }
}

export type HttpHandler = ReturnType<typeof httpHandler>;

/**
 * Carries the requests of the AWS client over the program's own HTTP/1.1 client instead of `node:http`, whose timeouts and
 * aborts under Bun are not those of Node: every phase has its bound, what is not read is not received, and an abort closes the
 * socket. All addresses are open, because the endpoint is the operator's choice.
 */
export function httpHandler({ clock, limits }: { clock: Clock; limits: S3Limits }) {
  const client = outboundClient({
    clock,
    allow: ['0.0.0.0/0', '::/0'].map((text) => cidr(text)).filter((block) => block !== undefined),
    limits: {
      requests,
      // The longest name of a bucket, a key, and the parameters of a list.
      urlLength: sentPiece,
    },
  });

  return {
    async handle(request: SdkRequest, given: Exchange = {}) {
      const { abortSignal, timeout = limits.smallTimeout, silence = limits.silence } = given;
      const { most = answerBytes } = given;
      const answer = await client.open(urlOf(request), {
        method: request.method as OutboundMethod,
        headers: Object.fromEntries(
          Object.entries(request.headers).filter(([name]) => !owned.has(name.toLowerCase())),
        ),
        ...(request.body !== undefined && { body: bodyOf(request.body) }),
        timeout,
        idleTimeout: silence,
        connectTimeout: limits.connectTimeout,
        maxBytes: most,
        repeatable: true,
        ...(abortSignal && { signal: abortSignal }),
      });
      if (!answer.ok) {
        abortSignal?.throwIfAborted();
        throw new TransportError(answer);
      }
      const { status, headers } = answer;
      return { response: { statusCode: status, headers, body: streamOf(answer.body, abortSignal) } };
    },
    destroy: () => client.close(),
    // The AWS client looks for these.
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

interface SdkRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What the client below says itself. */
const owned = new Set(['host', 'content-length', 'connection', 'expect', 'accept-encoding', 'te']);

function urlOf({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => (one === null ? escaped(name) : `${escaped(name)}=${escaped(one)}`)),
  );
  const host = hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname;
  return `${protocol}//${host}${port === undefined ? '' : `:${port}`}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

/** As it is signed: RFC 3986 leaves less than `encodeURIComponent`. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function bodyOf(body: unknown): string | Uint8Array | OutboundSource {
  if (body instanceof SentBytes) return body.source();
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('a request to S3 has a body of an unknown kind');
}

function streamOf(body: OutboundStream['body'], signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  return pulledStream({
    async next() {
      const next = await body.read();
      if (next === undefined || next instanceof Uint8Array) return next;
      signal?.throwIfAborted();
      throw new TransportError(next);
    },
    end: () => body.cancel(),
  });
}
