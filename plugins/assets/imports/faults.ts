import { Fault } from '../../../core/base/fault.ts';
import { retryAfter } from '../../../core/base/http-date.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';
import type { OutboundFailure, OutboundReason, OutboundStream } from '../../../core/ports/outbound.ts';

/** The longest `Retry-After` of a server that the next try of a task obeys, ms. */
export const longestRetryAfter = 15 * 60_000;

/** Of imports. What happens while a file is fetched is told by its task: no request is answered with it. */
export const importFaults: FaultTable = {
  'import.bad_url': { status: 422, meaning: 'Nothing can be imported from this URL; the message says why.' },
  'import.failed': {
    status: 422,
    meaning: 'In the task: the file could not be fetched. There is no further attempt.',
  },
  'import.broken': {
    status: 503,
    meaning: 'In the task: the file could not be fetched. The import is tried again.',
  },
};

/** It is no use to try the same again. `message`: what follows "The file could not be fetched: ". */
export function failed(message: string): Fault {
  return new Fault('import.failed', { status: 422, message: sentence(message), retry: false });
}

/** Trouble on the way. `retryAfter`: seconds, as the other side said. */
export function broken(message: string, { retryAfter }: { retryAfter?: number } = {}): Fault {
  const after = retryAfter !== undefined && { retryAfter };
  return new Fault('import.broken', { status: 503, message: sentence(message), ...after });
}

export function tooLarge(most: number): Fault {
  return failed(`it is larger than ${most} bytes (plugins.assets.maxImportSize)`);
}

function sentence(message: string): string {
  return `The file could not be fetched: ${message}.`;
}

type Head = Pick<OutboundStream, 'status' | 'headers' | 'url'>;

/** What a request that was not answered means. */
export function faultOfFailure({ reason, message }: OutboundFailure, { most }: { most: number }): Fault {
  if (reason === 'too-large') return tooLarge(most);
  return hopeless.has(reason) ? failed(message) : broken(message);
}

/** What another status than the wanted one means; of 4xx nothing comes but by another request (RFC 9110 §15.5). */
export function faultOfStatus({ status, headers, url }: Head, { now }: { now: number }): Fault {
  const words = meanings[status];
  const message = `${new URL(url).origin} answered ${status}${words ? ` (${words})` : ''}`;
  const isPassing = status >= 500 || passing.has(status);
  if (!isPassing) return failed(message);
  const seconds = retryAfter(headers['retry-after'], { now, most: longestRetryAfter });
  return broken(message, seconds === undefined ? {} : { retryAfter: seconds });
}

/** Its address is closed, or it says what will be the same tomorrow. A name or a certificate may be mended within minutes. */
const hopeless: ReadonlySet<OutboundReason> = new Set([
  ...(['bad-url', 'bad-request', 'refused', 'redirects'] as const),
]);
/** Timeout, Too Early, Too Many Requests. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);
const meanings: Readonly<Record<number, string>> = {
  401: 'it wants a user and a password',
  403: 'it may not be read; a signed URL may have expired',
  404: 'there is no such file',
  410: 'the file is gone',
  429: 'too many requests',
};
