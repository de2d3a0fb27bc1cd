import { retryAfter } from '../base/http-date.ts';

/**
 * The one way in which the program calls addresses that its users chose: webhooks, imports, exports. It never
 * connects to an address that the deployment does not allow (decisions.md, "Outbound requests"), and every request
 * ends within its limits. Nothing here throws: whatever goes wrong is an outcome.
 */
export interface Outbound {
  /**
   * What is wrong with a request as far as text can tell, without asking DNS: for a 422 when somebody configures it.
   * A name may still turn out to stand for a refused address later.
   */
  problem(url: string, options?: OutboundRequest): OutboundFailure | undefined;
  /** Sends it and reads the answer's first `maxBytes` bytes. */
  request(url: string, options?: OutboundRequest): Promise<OutboundAnswer | OutboundFailure>;
  /** Sends it and gives the answer's body as it arrives. Read it to the end or cancel it. */
  open(url: string, options?: OutboundRequest): Promise<OutboundStream | OutboundFailure>;
  /** Ends every request as `aborted` and closes every connection. Later requests are `aborted` too. */
  close(): void;
}

export interface OutboundRequest {
  /** Default GET. */
  readonly method?: OutboundMethod;
  /**
   * Those that decide where a message goes and where it ends belong to the client and are refused: Host,
   * Content-Length, Transfer-Encoding, Connection, Accept-Encoding and the like.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with Content-Length. A source must give exactly `length` bytes; it is read only as fast as the peer reads. */
  readonly body?: string | Uint8Array | OutboundSource;
  /** Redirects followed, 0 to 3, default 0: then a redirect is an answer like any other. */
  readonly redirects?: number;
  /**
   * Follows only redirects that have the same sent to another place, 307 and 308 (RFC 9110 §15.4): any other is an answer.
   * For a body that must arrive: the page that somebody is sent on to is no sign of it.
   */
  readonly keepsBody?: true;
  /**
   * Asks before a long body is sent whether it is wanted (`Expect: 100-continue`, RFC 9110 §10.1.1), and waits a second for the
   * answer. So a refusal is received: while a body is sent, a peer that refuses and closes often looks like a broken connection.
   */
  readonly asksFirst?: boolean;
  /**
   * Whether sending it twice is harmless. Then it may use a connection that was used before, and is sent again when
   * the peer closed that one meanwhile. Default: true for GET, HEAD, PUT and DELETE.
   */
  readonly repeatable?: boolean;
  /**
   * On whose behalf it is sent. Kept connections are not shared between owners: a peer that answers ahead of what it is
   * asked on a connection spoils requests of its own owner alone. Default: nobody's.
   */
  readonly owner?: string;
  /**
   * Whole request with its redirects and its body, ms. Default 10 s; 0 is none, for long transfers: `idleTimeout`
   * and `maxBytes` still hold.
   */
  readonly timeout?: number;
  /** Longest time without a byte sent or received, ms. Default 10 s. */
  readonly idleTimeout?: number;
  /** TCP and TLS together, for each redirect, ms. Default 5 s. */
  readonly connectTimeout?: number;
  /** `request`: bytes kept, the rest is cut. `open`: more is a failure `too-large`. Default 64 KiB. */
  readonly maxBytes?: number;
  /** Ends it as `aborted`. */
  readonly signal?: AbortSignal;
  /** Called after each piece: bytes of the body handed to the socket so far. Starts again when it is sent again. */
  readonly onSent?: (bytes: number) => void;
  /** Called once, when the request's first byte is handed to the socket. For measurements. */
  readonly onStart?: () => void;
}

export type OutboundMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface OutboundSource {
  /** Bytes, known before it is sent. */
  readonly length: number;
  /** Called once for each time it is sent. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Whether `chunks` can be called again; without it nothing is ever sent twice. */
  readonly canRepeat?: boolean;
}

interface OutboundHead {
  readonly ok: true;
  /** 200 to 599. */
  readonly status: number;
  /** Names in lower case; lines of one name are joined with `, `, but Set-Cookie is dropped. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the answer came from, after redirects. May hold secrets of its query: not for logs. */
  readonly url: string;
  /** Redirects that were followed. */
  readonly redirects: number;
}

export interface OutboundAnswer extends OutboundHead {
  /** As sent: never decompressed. Compression is not asked for. */
  readonly body: Uint8Array;
  /** There was more than `maxBytes`. */
  readonly isCut: boolean;
  /** What was sent behind a chunked body (RFC 9110 §6.5), names in lower case; of a cut one there may be none. */
  readonly trailers: Readonly<Record<string, string>>;
}

export interface OutboundStream extends OutboundHead {
  /** What Content-Length says; undefined when the answer does not say. */
  readonly length: number | undefined;
  readonly body: {
    /** The next bytes, `undefined` at the end, or why it broke off. One call at a time. */
    read(): Promise<Uint8Array | OutboundFailure | undefined>;
    /** No more of it is wanted. Harmless when repeated. */
    cancel(): void;
  };
}

export interface OutboundFailure {
  readonly ok: false;
  readonly reason: OutboundReason;
  /** For people: names the culprit as scheme, host and port; never path, query, headers or credentials. */
  readonly message: string;
  /** Status of the answer when it broke off after its head. */
  readonly status?: number;
}

/**
 * - `bad-url`, `bad-request`: nobody could send it so.
 * - `refused`: its address, or that of a redirect, is not allowed here.
 * - `busy`: too many requests or lookups are under way in this process.
 * - `dns`, `connect`, `tls`: it could not be reached.
 * - `timeout`, `closed`, `protocol`, `too-large`: it was reached and did not answer as it should.
 * - `redirects`: too many of them, or one that must not be followed.
 * - `source`: the body to send failed or had another length.
 */
export type OutboundReason =
  | 'bad-url'
  | 'bad-request'
  | 'refused'
  | 'busy'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'closed'
  | 'protocol'
  | 'too-large'
  | 'redirects'
  | 'source'
  | 'aborted';

/** The longest `Retry-After` that is obeyed, ms. */
export const longestRetryAfter = 15 * 60_000;

/** Seconds after which an answer asks for a repeat, as an option of a Fault. */
export function retryAfterOf(
  { headers }: Pick<OutboundHead, 'headers'>,
  { now }: { now: number },
): { retryAfter?: number } {
  const seconds = retryAfter(headers['retry-after'], { now, most: longestRetryAfter });
  return seconds === undefined ? {} : { retryAfter: seconds };
}

/**
 * Whether a repeat may be answered otherwise: Request Timeout, Too Early, Too Many Requests, and 5xx but for a method or a version
 * of HTTP that is not known. Of other 4xx nothing comes but by another request (RFC 9110 §15.5).
 */
export function isTemporary(status: number): boolean {
  return (status >= 500 && status !== 501 && status !== 505) || [408, 425, 429].includes(status);
}

/** What the same request meets again. A name, a certificate or a connection may be mended within minutes. */
export const finalReasons: ReadonlySet<OutboundReason> = new Set([
  ...(['bad-url', 'bad-request', 'refused', 'redirects'] as const),
]);

/** A failure as a value. The message is shown to users and kept in logs: see OutboundFailure. */
export function failure(reason: OutboundReason, message: string): OutboundFailure {
  return { ok: false, reason, message };
}
