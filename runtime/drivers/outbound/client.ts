import type { Socket } from 'node:net';
import { unlessAborted } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  failure,
  type Outbound,
  type OutboundAnswer,
  type OutboundFailure,
  type OutboundRequest,
  type OutboundStream,
} from '../../../core/ports/outbound.ts';
import { Connection, Pool } from './connection.ts';
import { Exchange, type ExchangeHead } from './exchange.ts';
import { type OutboundLimits, outboundLimits } from './limits.ts';
import { type Allowed, openingFor } from './openings.ts';
import { reach } from './reach.ts';
import { isSource, redirect, requestProblem } from './request-head.ts';
import { hostProblem, type Lookup, type Resolver, resolver } from './resolver.ts';
import { type Target, target } from './target.ts';

/** Of a request that names no bounds of its own: ms for all of it, ms for connecting, bytes of the answer. */
const defaults = { timeout: 10_000, connectTimeout: 5_000, maxBytes: 64 * 1024 };

/**
 * The Outbound port over sockets of this process. It speaks HTTP/1.1 itself, because no client that Bun has connects
 * to an address that was checked before and still bounds every part of an answer. Proxies in the environment
 * (`HTTP_PROXY`) are not used: a proxy would resolve names by itself.
 */
export function outboundClient(options: OutboundOptions): Outbound {
  return new Client(options);
}

class Client implements Outbound {
  readonly #options: OutboundOptions;
  readonly #clock: Clock;
  readonly #limits: OutboundLimits;
  readonly #names: Resolver;
  readonly #pool: Pool;
  readonly #running = new Set<AbortController>();
  /** Used and unused. */
  readonly #open = new Set<Connection>();
  #isClosed = false;

  constructor(options: OutboundOptions) {
    const { allow, clock, lookup } = options;
    const limits = { ...outboundLimits, ...options.limits };
    this.#options = options;
    this.#clock = clock;
    this.#limits = limits;
    this.#names = resolver({ allow, clock, limits, lookup });
    this.#pool = new Pool({ clock, limits });
  }

  problem(url: string, request: OutboundRequest = {}): OutboundFailure | undefined {
    const to = target(url, this.#limits);
    if (!to.ok) return to;
    return hostProblem(to, openingFor(this.#options.allow, request.owner)) ?? requestProblem(request);
  }

  async request(url: string, request: OutboundRequest = {}): Promise<OutboundFailure | OutboundAnswer> {
    const begun = await this.#begin(url, request);
    if (!begun.ok) return begun;
    try {
      return await wholeAnswer(begun, { most: request.maxBytes ?? defaults.maxBytes });
    } finally {
      begun.run.discard();
      begun.finish();
    }
  }

  async open(url: string, request: OutboundRequest = {}): Promise<OutboundFailure | OutboundStream> {
    const begun = await this.#begin(url, request);
    if (!begun.ok) return begun;
    return answerStream(begun, { most: request.maxBytes ?? defaults.maxBytes });
  }

  close(): void {
    this.#isClosed = true;
    for (const one of [...this.#running]) one.abort(failure('aborted', 'the server is stopping'));
    this.#pool.close();
    for (const connection of [...this.#open]) connection.close();
  }

  /** A connection to an address that was checked just now, or, for what may be sent twice, not long ago. */
  async #connectionTo(
    to: Target,
    { request, signal, mayReuse }: { request: OutboundRequest; signal: AbortSignal; mayReuse: boolean },
  ): Promise<Connection | OutboundFailure> {
    const now = this.#clock.now();
    const place = placeOf(to, request);
    const fresh =
      mayReuse && this.#pool.take(place, (one) => now - one.checkedAt < this.#limits.recheckAfter);
    if (fresh) return fresh;
    const resolved = unlessAborted(this.#names.resolve(to, request.owner), signal);
    const addresses = await resolved.catch(() => signal.reason as OutboundFailure);
    if ('ok' in addresses) return addresses;
    const known = mayReuse && this.#pool.take(place, (one) => addresses.includes(one.address));
    if (known) {
      known.checkedAt = this.#clock.now();
      return known;
    }
    const { ca } = this.#options;
    const { addressTimeout } = this.#limits;
    return reach(to, {
      ...{ addresses, signal, clock: this.#clock, addressTimeout, ca },
      timeout: request.connectTimeout ?? defaults.connectTimeout,
      protocols: ['http/1.1'],
      take: (socket, address) => this.#keep(socket, address),
    });
  }

  #keep(socket: Socket, address: string): Connection {
    const onGone = () => this.#open.delete(connection);
    const connection: Connection = new Connection(socket, { address, checkedAt: this.#clock.now(), onGone });
    this.#open.add(connection);
    return connection;
  }

  /** One request to one origin; sent again when a connection that was used before turns out to be closed. */
  async #send(
    to: Target,
    { request: given, signal }: { request: OutboundRequest; signal: AbortSignal },
  ): Promise<Answered | OutboundFailure> {
    const isRepeatable = canRepeat(given);
    let request = given;
    for (let mayReuse = isRepeatable; ; mayReuse = false) {
      const connection = await this.#connectionTo(to, { request, signal, mayReuse });
      if ('ok' in connection) return connection;
      const { wasUsed } = connection;
      const onFree = (free: Connection) =>
        this.#isClosed ? free.close() : this.#pool.keep(free, placeOf(to, request));
      const run = new Exchange(connection, {
        ...{ to, request, signal, onFree },
        ...{ clock: this.#clock, limits: this.#limits },
      });
      const head = await run.head;
      if (head.ok && head.status === 417 && request.asksFirst) {
        // It does not know how to be asked (RFC 9110 §10.1.1).
        run.discard();
        request = { ...request, asksFirst: false };
        continue;
      }
      if (head.ok) return { ok: true, run, head };
      if (!(wasUsed && mayReuse && head.reason === 'closed' && !run.hasAnswer)) return head;
    }
  }

  /** The request and its redirects, each to an address that is checked for itself. */
  async #follow(
    first: Target,
    { given, signal }: { given: OutboundRequest; signal: AbortSignal },
  ): Promise<Omit<Followed, 'finish'> | OutboundFailure> {
    let to = first;
    let request = given;
    for (let redirects = 0; ; redirects++) {
      const answered = await this.#send(to, { request, signal });
      if (!answered.ok) return answered;
      const { urlLength } = this.#limits;
      const next = redirect(answered.head, { from: to, request, followed: redirects, urlLength });
      if (!next) return { ...answered, url: to.url, redirects };
      answered.run.discard();
      if ('ok' in next) return { ...next, status: answered.head.status };
      to = next.to;
      request = next.request;
    }
  }

  /** Starts a request that `finish` must end. */
  async #begin(url: string, request: OutboundRequest): Promise<Followed | OutboundFailure> {
    const to = target(url, this.#limits);
    if (!to.ok) return to;
    const wrong = requestProblem(request);
    if (wrong) return wrong;
    if (this.#isClosed) return failure('aborted', 'the server is stopping');
    if (this.#running.size >= this.#limits.requests) {
      return failure('busy', `more than ${this.#limits.requests} outbound requests are under way`);
    }
    const timeout = request.timeout ?? defaults.timeout;
    // Its reason is an OutboundFailure, whatever ends it.
    const own = new AbortController();
    const onAbort = () => own.abort(failure('aborted', `the request to ${to.origin} was given up`));
    const onTimeout = () =>
      own.abort(failure('timeout', `${to.origin} did not answer completely within ${timeout} ms`));
    const cancel = timeout === 0 ? () => {} : this.#clock.at(this.#clock.now() + timeout, onTimeout);
    request.signal?.addEventListener('abort', onAbort);
    if (request.signal?.aborted) onAbort();
    this.#running.add(own);
    const finish = () => {
      cancel();
      request.signal?.removeEventListener('abort', onAbort);
      this.#running.delete(own);
    };
    try {
      const given = { ...request, onStart: once(request.onStart) };
      const followed = await this.#follow(to, { given, signal: own.signal });
      if (!followed.ok) finish();
      return followed.ok ? { ...followed, finish } : followed;
    } catch (error) {
      finish();
      throw error;
    }
  }
}

export interface OutboundOptions {
  /** Blocks that are open although they are not public. */
  readonly allow: Allowed;
  readonly clock: Clock;
  /** Default: the system's. */
  readonly lookup?: Lookup;
  readonly limits?: Partial<OutboundLimits>;
  /** Certificates trusted in place of the built-in ones, PEM. For tests; a deployment sets NODE_EXTRA_CA_CERTS. */
  readonly ca?: readonly string[];
}

interface Answered {
  readonly ok: true;
  readonly run: Exchange;
  readonly head: ExchangeHead;
}

interface Followed extends Answered {
  readonly url: string;
  readonly redirects: number;
  /** The request is over. Harmless when repeated. */
  finish(): void;
}

async function wholeAnswer(
  { run, head, url, redirects }: Followed,
  { most }: { most: number },
): Promise<OutboundAnswer | OutboundFailure> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  while (bytes <= most) {
    const next = await run.read();
    if (next === undefined) break;
    if ('ok' in next) return next;
    chunks.push(next);
    bytes += next.length;
  }
  const { status, headers } = head;
  const body = Buffer.concat(chunks, Math.min(bytes, most));
  const { trailers } = run;
  return { ok: true, status, headers, trailers, url, redirects, body, isCut: bytes > most };
}

function answerStream(
  { run, head, url, redirects, finish }: Followed,
  { most }: { most: number },
): OutboundStream | OutboundFailure {
  const { status, headers, length } = head;
  const tooLarge: OutboundFailure = {
    ...failure('too-large', `the answer of ${new URL(url).origin} is larger than ${most} bytes`),
    status,
  };
  let received = 0;
  let outcome: OutboundFailure | 'end' | undefined;
  const end = (how: OutboundFailure | 'end') => {
    outcome ??= how;
    run.discard();
    finish();
  };
  if (length !== undefined && length > most) {
    end(tooLarge);
    return tooLarge;
  }
  const body = {
    async read() {
      const next = outcome === undefined ? await run.read() : undefined;
      if (outcome !== undefined) return outcome === 'end' ? undefined : outcome;
      if (next === undefined || 'ok' in next) {
        end(next ?? 'end');
        return next;
      }
      received += next.length;
      if (received <= most) return next;
      end(tooLarge);
      return tooLarge;
    },
    cancel: () => end(failure('aborted', 'the rest of the answer was not wanted')),
  };
  return { ok: true, status, headers, url, redirects, length, body };
}

/** Where in the pool its connections are. */
function placeOf({ origin }: Target, { owner = '' }: OutboundRequest): string {
  return `${origin} ${owner}`;
}

/** Sent again and redirected requests start once. */
function once(call: () => void = () => {}): () => void {
  let isCalled = false;
  return () => {
    if (!isCalled) call();
    isCalled = true;
  };
}

function canRepeat(request: OutboundRequest): boolean {
  const { method = 'GET', body } = request;
  if (isSource(body) && !body.canRepeat) return false;
  return request.repeatable ?? (method !== 'POST' && method !== 'PATCH');
}
