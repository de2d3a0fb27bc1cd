import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault } from '../../core/base/fault.ts';
import { finalReasons, isTemporary, type OutboundAnswer, retryAfterOf } from '../../core/ports/outbound.ts';
import type { AssetFile } from '../assets/contract.ts';
import type { TaskResult, TaskWork } from '../tasks/contract.ts';
import type { CustomMethod, CustomSecret } from './body.ts';
import type { ExportsKit } from './config.ts';
import { blobSource } from './file-source.ts';

/** Redirects that an export to a custom URL follows. */
export const mostRedirects = 3;
/** Bytes from which a file is sent only when the receiver wants it: `Expect: 100-continue`. */
export const asksFrom = 1_048_576;
/** Bytes that are read of an answer, for its error code. */
const mostAnswerBytes = 4096;
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
  const { blobs, clock, config, outbound } = kit;
  const file = blobSource({ ...video, name: work.name }, { blobs, signal: work.signal });
  let sent = 0;
  const answer = await outbound.request(to.url, {
    method: to.method,
    headers: withType(to.headers),
    body: { length: file.size, chunks: file.read, canRepeat: true },
    redirects: mostRedirects,
    keepsBody: true,
    asksFirst: video.size > asksFrom,
    owner: work.account,
    // The whole is the time of a try at a task, by its signal.
    timeout: 0,
    idleTimeout: milliseconds(config.idleTimeout),
    maxBytes: mostAnswerBytes,
    signal: work.signal,
    onSent(bytes) {
      sent = bytes;
      work.progress(bytes / file.size);
    },
  });
  work.signal.throwIfAborted();
  if (!answer.ok) {
    if (answer.reason === 'source' && file.problem() !== undefined) throw file.problem();
    const message = `The file could not be sent: ${answer.message}.`;
    if (finalReasons.has(answer.reason)) return { outcome: 'failed', message };
    throw trouble(message);
  }
  const { status } = answer;
  const host = hostOf(answer.url);
  if (status >= 200 && status < 300) {
    if (sent < file.size) throw trouble(`${host} answered ${status} before it had the whole file.`);
    return { outcome: 'done', output: { custom: { status, ...etagOf(answer) } } };
  }
  const said = `${host} answered ${status}${errorCodeOf(answer)}`;
  if (isTemporary(status)) throw trouble(`${said}.`, retryAfterOf(answer, { now: clock.now() }));
  if (status < 400) {
    const message = `${said}, which sends to another place than the file can follow to. Give the final URL.`;
    return { outcome: 'failed', message };
  }
  return { outcome: 'failed', message: `The export was refused: ${said}.` };
}

function trouble(message: string, options: { retryAfter?: number } = {}): Fault {
  return new Fault('export.trouble', { status: 503, message, ...options });
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
