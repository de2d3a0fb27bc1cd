import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Outbound, OutboundFailure, OutboundStream } from '../../../core/ports/outbound.ts';
import { broken, faultOfFailure, faultOfStatus, tooLarge } from './faults.ts';
import type { Source } from './source.ts';

export interface TransferOptions {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The account of the import. */
  readonly account: string;
  /** Most bytes of the file, as sent. */
  readonly most: number;
  readonly limits: TransferLimits;
}

/** Times in ms. */
export const transferLimits = {
  /** How long the server may send nothing before the connection counts as broken. */
  importSilence: 20_000,
  /** Connections that may break in one attempt. */
  importBreaks: 20,
  /** Wait before the next connection; doubles while no bytes come, up to `importPause`. */
  importFirstPause: 250,
  /** If the server asks for a longer wait (`Retry-After`), the next attempt of the task continues. */
  importPause: 8000,
  /** After so much time of waiting for bytes, at least `importLeast` must have come: 17 kB/s. */
  importLook: 60_000,
  importLeast: 1_048_576,
};
export type TransferLimits = Readonly<typeof transferLimits>;

/**
 * Reads a file of another server, over several connections if needed. After a break the next connection continues at the missing
 * byte if the file is still the same; otherwise `Anew` says that it starts again.
 *
 * Faults: `import.failed`, `import.broken`. The reason of an aborted signal is thrown unchanged.
 */
export class Transfer {
  readonly #source: Source;
  readonly #options: TransferOptions;
  #answer: OutboundStream;
  #remote: Remote;
  #at = 0;
  #breaks = 0;
  /** Connections in a row without a byte. */
  #barren = 0;

  private constructor(
    source: Source,
    { answer, options }: { answer: OutboundStream; options: TransferOptions },
  ) {
    this.#source = source;
    this.#options = options;
    this.#answer = answer;
    this.#remote = remoteOf(answer);
  }

  /** Sends the first request, without retries: those are made by the task. */
  static async begin(source: Source, options: TransferOptions): Promise<Transfer> {
    const answer = await opened(source, { headers: {}, at: 0, options });
    if (!answer.ok) throw faultOfFailure(answer, options);
    if (answer.status === 200) return new Transfer(source, { answer, options });
    answer.body.cancel();
    throw faultOfStatus(answer, { now: options.clock.now() });
  }

  /** May differ after `Anew`. */
  get remote(): Remote {
    return this.#remote;
  }

  /** Bytes read so far. */
  get at(): number {
    return this.#at;
  }

  /** The next bytes, undefined at the end. After `Anew` they are the first of the file. One call at a time. */
  async read(): Promise<Uint8Array | undefined> {
    const { signal, most } = this.#options;
    for (;;) {
      const next = await this.#answer.body.read();
      signal.throwIfAborted();
      if (next instanceof Uint8Array) {
        this.#at += next.length;
        this.#barren = 0;
        return next;
      }
      const wrong = next ?? this.#wrongEnd();
      if (wrong === undefined) return undefined;
      if (wrong.reason === 'too-large') throw tooLarge(most);
      await this.#goOn(wrong.message);
    }
  }

  cancel(): void {
    this.#answer.body.cancel();
  }

  /** The HTTP client checks the length of an answer, but not that of the whole file. */
  #wrongEnd(): Pick<OutboundFailure, 'reason' | 'message'> | undefined {
    const { length } = this.#remote;
    if (length === undefined || this.#at === length) return undefined;
    return { reason: 'protocol', message: `${this.#at} bytes came, and it has ${length}` };
  }

  /** Continues over another connection, or returns `Anew`. */
  async #goOn(wrong: string): Promise<void> {
    this.#answer.body.cancel();
    const answer = await this.#reopened(wrong);
    this.#answer = answer;
    if (answer.status === 206) return;
    this.#at = 0;
    this.#remote = remoteOf(answer);
    throw new Anew();
  }

  /** The next usable answer: the rest of the file, or the whole. */
  async #reopened(wrong: string): Promise<OutboundStream> {
    const { clock, limits } = this.#options;
    let why = wrong;
    let wait = 0;
    for (let at = this.#at; ; ) {
      await this.#pause(why, wait);
      wait = 0;
      const headers = restHeaders(this.#remote, at);
      const answer = await opened(this.#source, { headers, at: this.#at, options: this.#options });
      if (answer.ok) {
        if (answer.status === 200 || (at > 0 && isRest(answer, { of: this.#remote, at }))) return answer;
        answer.body.cancel();
      }
      if (answer.ok && (answer.status === 206 || answer.status === 416)) {
        at = 0;
        why = 'what was sent is not the rest of the file';
        continue;
      }
      const fault = answer.ok
        ? faultOfStatus(answer, { now: clock.now() })
        : faultOfFailure(answer, this.#options);
      wait = (fault.retryAfter ?? 0) * 1000;
      if (!fault.retry || wait > limits.importPause) throw fault;
      why = answer.ok ? `${new URL(answer.url).origin} answered ${answer.status}` : answer.message;
    }
  }

  /** Longer after each connection without a byte. */
  async #pause(why: string, least: number): Promise<void> {
    const { clock, signal, limits } = this.#options;
    if (this.#breaks >= limits.importBreaks)
      throw broken(`it broke off ${this.#breaks + 1} times, at last: ${why}`);
    const wait = Math.min(limits.importFirstPause * 2 ** this.#barren, limits.importPause);
    this.#breaks += 1;
    this.#barren += 1;
    await pause(clock.now() + Math.max(wait, least), { clock, signal });
    signal.throwIfAborted();
  }
}

/** The received bytes are useless: the file has changed, or the server sends no ranges. */
export class Anew extends Error {}

async function opened(
  source: Source,
  {
    headers,
    at,
    options,
  }: { headers: Readonly<Record<string, string>>; at: number; options: TransferOptions },
): Promise<OutboundStream | OutboundFailure> {
  const { outbound, signal, account, most, limits } = options;
  const isWhole = headers.range === undefined;
  const answer = await outbound.open(source.url, {
    headers: { accept: '*/*', ...source.headers, ...headers },
    ...{ redirects, timeout: 0, idleTimeout: limits.importSilence, owner: account, signal },
    maxBytes: isWhole ? most : Math.max(1, most - at),
  });
  if (signal.aborted) {
    if (answer.ok) answer.body.cancel();
    throw signal.reason;
  }
  return answer;
}

const redirects = 3;

type Headers = OutboundStream['headers'];

/** A file of another server, as its first answer describes it. */
interface Remote {
  /** Bytes as sent; undefined if unknown. */
  readonly length: number | undefined;
  /** `Content-Encoding` in lower case; may be empty. */
  readonly encoding: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** Value for `If-Range` that identifies exactly these bytes; undefined if there is none. */
  readonly validator: string | undefined;
}

function remoteOf({ headers, length }: Pick<OutboundStream, 'headers' | 'length'>): Remote {
  const { etag, 'last-modified': lastModified } = headers;
  return { length, encoding: encodingOf(headers), etag, lastModified, validator: validatorOf(headers) };
}

/** Headers that request the rest from byte `at` on, or the whole file if it has changed (RFC 9110 §13.1.5). */
function restHeaders({ validator }: Remote, at: number): Record<string, string> {
  return validator === undefined || at === 0 ? {} : { range: `bytes=${at}-`, 'if-range': validator };
}

/**
 * The length of the whole file if the answer is the rest of the same file; otherwise undefined. `at: 0`: the whole is requested.
 * Everything that both answers say must be equal, whatever the server does with `If-Range`.
 */
function isRest(
  { status, headers }: Pick<OutboundStream, 'status' | 'headers'>,
  { of: remote, at }: { of: Remote; at: number },
): boolean {
  if (status !== 206) return false;
  const range = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(headers['content-range'] ?? '');
  if (!range || Number(range[1]) !== at) return false;
  const total = range[3] === '*' ? undefined : Number(range[3]);
  return (
    (total ?? remote.length) === (remote.length ?? total) &&
    (headers.etag ?? remote.etag) === remote.etag &&
    (headers['last-modified'] ?? remote.lastModified) === remote.lastModified &&
    encodingOf(headers) === remote.encoding
  );
}

function encodingOf(headers: Headers): string {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  return encoding === 'identity' ? '' : encoding;
}

/**
 * A strong ETag, or the date of a file that had not changed for a second when it was sent (RFC 9110 §8.8.2.2). The RFC allows no
 * date beside a weak tag. But then servers that send weak tags for files, such as Express, would have to send everything again, and
 * `isRest` also compares tag, date and length.
 */
function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (etag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(etag)) return etag;
  if (modified === undefined || date === undefined) return undefined;
  return Date.parse(date) - Date.parse(modified) >= 1000 ? modified : undefined;
}
