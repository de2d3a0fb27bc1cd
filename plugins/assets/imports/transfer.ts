import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Outbound, OutboundFailure, OutboundStream } from '../../../core/ports/outbound.ts';
import { broken, faultOfFailure, faultOfStatus, tooLarge } from './faults.ts';
import type { Source } from './source.ts';

export interface TransferOptions {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whose import it is. */
  readonly account: string;
  /** Bytes that the file may have, as they are sent. */
  readonly most: number;
  readonly limits: TransferLimits;
}

/** Times in ms. */
export const transferLimits = {
  /** How long the server may send nothing before the connection counts as broken. */
  importSilence: 20_000,
  /** Connections that may break while one try fetches the file. */
  importBreaks: 20,
  /** Wait before the next connection; it doubles while nothing comes, up to `importPause`. */
  importFirstPause: 250,
  /** A server that names a longer wait (`Retry-After`) is left to the next try of the task. */
  importPause: 8000,
  /** Time spent on waiting for bytes after which it is checked that at least `importLeast` bytes came: 17 kB/s. */
  importLook: 60_000,
  importLeast: 1_048_576,
};
export type TransferLimits = Readonly<typeof transferLimits>;

/**
 * The bytes of a file of another server, over as many connections as it takes. Where one breaks off, the next begins with the byte
 * that is missing, provided that the file is the same; otherwise `Anew` says that all comes again.
 *
 * Faults: `import.failed`, `import.broken`. The reason of an aborted signal is thrown as it is.
 */
export class Transfer {
  readonly #source: Source;
  readonly #options: TransferOptions;
  #answer: OutboundStream;
  #remote: Remote;
  #at = 0;
  #breaks = 0;
  /** Breaks in a row that brought nothing. */
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

  /** Asks for it, once: what is not there at all is for a later try. */
  static async begin(source: Source, options: TransferOptions): Promise<Transfer> {
    const answer = await opened(source, { headers: {}, at: 0, options });
    if (!answer.ok) throw faultOfFailure(answer, options);
    if (answer.status === 200) return new Transfer(source, { answer, options });
    answer.body.cancel();
    throw faultOfStatus(answer, { now: options.clock.now() });
  }

  /** After `Anew` it may be another. */
  get remote(): Remote {
    return this.#remote;
  }

  /** Bytes that were read. */
  get at(): number {
    return this.#at;
  }

  /** The next bytes, undefined at the end. After `Anew` the next are the first. One call at a time. */
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

  /** The client vouches for the length of an answer, not for that of the file of which it is the rest. */
  #wrongEnd(): Pick<OutboundFailure, 'reason' | 'message'> | undefined {
    const { length } = this.#remote;
    if (length === undefined || this.#at === length) return undefined;
    return { reason: 'protocol', message: `${this.#at} bytes came, and it has ${length}` };
  }

  /** Over another connection: from the present byte on, or `Anew`. */
  async #goOn(wrong: string): Promise<void> {
    this.#answer.body.cancel();
    const answer = await this.#reopened(wrong);
    this.#answer = answer;
    if (answer.status === 206) return;
    this.#at = 0;
    this.#remote = remoteOf(answer);
    throw new Anew();
  }

  /** The next answer that is of use: the rest of the file, or the whole. */
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

  /** Longer each time that nothing came. */
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

/** The bytes so far are worth nothing: the file has changed, or cannot be had in pieces. */
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

/** A file of another server as its first answer described it. */
interface Remote {
  /** Bytes, as they are sent; undefined when it was not said. */
  readonly length: number | undefined;
  /** `Content-Encoding`, in lower case; empty for none. */
  readonly encoding: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** What names exactly these bytes in `If-Range`; undefined when nothing does. */
  readonly validator: string | undefined;
}

function remoteOf({ headers, length }: Pick<OutboundStream, 'headers' | 'length'>): Remote {
  const { etag, 'last-modified': lastModified } = headers;
  return { length, encoding: encodingOf(headers), etag, lastModified, validator: validatorOf(headers) };
}

/** What asks for the rest of it from byte `at` on, or for all of it when it has changed (RFC 9110 §13.1.5). */
function restHeaders({ validator }: Remote, at: number): Record<string, string> {
  return validator === undefined || at === 0 ? {} : { range: `bytes=${at}-`, 'if-range': validator };
}

/**
 * Length of the whole when an answer to that is the rest of the same file, undefined when it is not. `at: 0` asks for the whole.
 * What a server says twice must be the same twice, whatever it made of `If-Range`.
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
 * A strong ETag, or the date of a file that had not changed for a second when it was sent (RFC 9110 §8.8.2.2). That section wants no
 * date where there is a weak tag; but the servers that send weak tags for files (Express for one) would then have to send all of
 * it again, and `isRest` compares tag, date and length besides.
 */
function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (etag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(etag)) return etag;
  if (modified === undefined || date === undefined) return undefined;
  return Date.parse(date) - Date.parse(modified) >= 1000 ? modified : undefined;
}
