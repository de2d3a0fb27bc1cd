import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault } from '../../core/base/fault.ts';
import { retryAfter } from '../../core/base/http-date.ts';
import type {
  OutboundAnswer,
  OutboundFailure,
  OutboundReason,
  OutboundSource,
} from '../../core/ports/outbound.ts';
import type { AssetFile } from '../assets/contract.ts';
import type { TaskResult, TaskWork } from '../tasks/contract.ts';
import type { CustomMethod, CustomSecret } from './body.ts';
import type { ExportsKit } from './config.ts';

/** Redirects that an export to a custom URL follows. */
export const mostRedirects = 3;
/** Bytes from which a file is sent only when the receiver wants it: `Expect: 100-continue`. */
export const asksFrom = 1_048_576;
/** Bytes that are read of an answer, for its error code. */
const mostAnswerBytes = 4096;
/** The longest `Retry-After` that is obeyed, ms. */
export const longestRetryAfter = 15 * 60_000;
/** Characters of an `ETag` that is kept. */
const mostEtagCharacters = 256;

/**
 * Sends the video to a URL of the caller's. Any 2xx to all of it is success. What a repeat may mend throws `export.trouble`: a
 * connection, 408, 425, 429 and 5xx. Everything else is the receiver's no, and final.
 *
 * Of redirects 307 and 308 are followed, as S3 has them for a bucket elsewhere, each to an address that is checked; to another
 * origin go no headers but the content type. Others lead to what would be read instead, and are a no.
 */
export async function exportToUrl(
  to: CustomSecret & { readonly method: CustomMethod },
  options: { readonly work: TaskWork; readonly video: AssetFile['video']; readonly kit: ExportsKit },
): Promise<TaskResult> {
  const { work, video, kit } = options;
  const { config, outbound } = kit;
  using source = videoSource(video, { work, kit });
  const answer = await outbound.request(to.url, {
    method: to.method,
    headers: withType(to.headers),
    body: source.body,
    redirects: mostRedirects,
    keepsBody: true,
    asksFirst: video.size > asksFrom,
    owner: work.account,
    // The whole is the time of a try at a task, by its signal.
    timeout: 0,
    idleTimeout: milliseconds(config.idleTimeout),
    maxBytes: mostAnswerBytes,
    signal: work.signal,
    onSent: source.onSent,
  });
  work.signal.throwIfAborted();
  if (!answer.ok) return unsent(answer, source.trouble);
  const { status } = answer;
  const host = hostOf(answer.url);
  if (status >= 200 && status < 300) {
    if (!source.isSent) throw trouble(`${host} answered ${status} before it had the whole file.`);
    return { outcome: 'done', output: { custom: { status, ...etagOf(answer) } } };
  }
  const said = `${host} answered ${status}${errorCodeOf(answer)}`;
  if (isPassing(status)) {
    const asked = { now: kit.clock.now(), most: longestRetryAfter };
    throw trouble(`${said}.`, retryAfter(answer.headers['retry-after'], asked));
  }
  if (status < 400) {
    const message = `${said}, which sends to another place than the file can follow to. Give the final URL.`;
    return { outcome: 'failed', message };
  }
  return { outcome: 'failed', message: `The export was refused: ${said}.` };
}

/** It was not sent, or got no answer. */
function unsent(failure: OutboundFailure, sourceTrouble: unknown): TaskResult {
  if (failure.reason === 'source' && sourceTrouble !== undefined) throw sourceTrouble;
  const message = `The file could not be sent: ${failure.message}.`;
  if (final.has(failure.reason)) return { outcome: 'failed', message };
  throw trouble(message);
}

/** What the same request would meet again. */
const final: ReadonlySet<OutboundReason> = new Set(['bad-url', 'bad-request', 'refused', 'redirects']);

/** Whether another try may be answered otherwise. Not for a method or a version of HTTP that the receiver does not know. */
function isPassing(status: number): boolean {
  if (status === 501 || status === 505) return false;
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

function trouble(message: string, seconds?: number): Fault {
  return new Fault('export.trouble', {
    status: 503,
    message,
    ...(seconds !== undefined && { retryAfter: seconds }),
  });
}

function withType(headers: Readonly<Record<string, string>>): Record<string, string> {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { ...(!hasType && { 'content-type': 'video/mp4' }), ...headers };
}

/**
 * `<Code>` of S3 and its kin, which says more than the status does. Nothing else of an answer is shown: it may repeat headers
 * and signatures, or be what somebody reads from an address that only this server reaches.
 */
function errorCodeOf({ body }: OutboundAnswer): string {
  const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(new TextDecoder('latin1').decode(body))?.[1];
  return code === undefined ? '' : ` (${code})`;
}

function etagOf({ headers }: OutboundAnswer): { etag?: string } {
  const { etag } = headers;
  return etag !== undefined && /^[!-~]+$/.test(etag) && etag.length <= mostEtagCharacters ? { etag } : {};
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** The file of an asset as the body of a request, which may be sent several times. Disposing ends what still reads. */
export interface VideoSource extends Disposable {
  readonly body: OutboundSource;
  /** Of the request: tells the task's progress. */
  readonly onSent: (bytes: number) => void;
  /** All of it was handed to the connection that was answered. */
  readonly isSent: boolean;
  /** Why it could not be read, if it could not: the request tells no more than that. */
  readonly trouble: unknown;
}

export function videoSource(
  video: AssetFile['video'],
  { work, kit }: { readonly work: TaskWork; readonly kit: Pick<ExportsKit, 'blobs'> },
): VideoSource {
  const { key, size } = video;
  const reading = new AbortController();
  const signal = AbortSignal.any([work.signal, reading.signal]);
  let sent = 0;
  let trouble: unknown;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    sent = 0;
    try {
      const found = await kit.blobs.get(key, { signal });
      if (found.outcome !== 'ok' || found.blob.size !== size) throw changed(found.outcome);
      const reader = found.body.getReader();
      try {
        for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
      } finally {
        await reader.cancel().catch(() => {});
      }
    } catch (error) {
      trouble = error;
      throw error;
    }
  }

  return {
    body: { length: size, chunks, canRepeat: true },
    onSent(bytes) {
      sent = bytes;
      work.progress(bytes / size);
    },
    get isSent() {
      return sent === size;
    },
    get trouble() {
      return trouble;
    },
    [Symbol.dispose]: () => reading.abort(),
  };
}

/** Another try finds out whether the asset is gone, or has another file. */
function changed(outcome: string): Fault {
  const what = outcome === 'ok' ? 'has another size' : 'is not there';
  return new Fault('export.trouble', { status: 503, message: `The stored file of the asset ${what}.` });
}
