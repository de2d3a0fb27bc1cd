import { Fault } from '../../../core/base/fault.ts';

/** The client's module, which is loaded with the first connection. */
export type Redis = typeof import('redis');

/** Redis answered what only a mistake of ours can lead to. */
export class BadAnswer extends Error {}

/** What Redis itself says no to, by the first word of its answer. */
const troubles: Readonly<Record<string, { code: string; status: number; retryAfter?: number }>> = {
  OOM: { code: 'store.full', status: 507 },
  MISCONF: { code: 'store.full', status: 507 },
  ...words('WRONGPASS NOAUTH NOPERM', { code: 'store.refused', status: 500 }),
  ...words('LOADING READONLY BUSY MASTERDOWN NOREPLICAS CLUSTERDOWN TRYAGAIN', {
    ...{ code: 'store.unreachable', status: 503, retryAfter: 1 },
  }),
};

/** For an answer that is an error, after which nothing is written; undefined when there was no answer. */
export function refusalOf(error: Error, redis: Redis | undefined): Error | undefined {
  if (!redis || !(error instanceof redis.ErrorReply)) return undefined;
  const trouble = troubles[error.message.split(' ', 1)[0] ?? ''];
  if (!trouble) return new BadAnswer(`redis: ${error.message}`);
  if (trouble.code === 'store.refused') return refusedUrl(error);
  return new Fault(trouble.code, { ...trouble, message: `Redis refuses: ${error.message}` });
}

/**
 * The same for answers to what the client says first: user, password and database. Those are from the URL, so here a
 * plain `ERR` is no mistake of ours.
 */
export function greetingRefusalOf(error: Error, redis: Redis | undefined): Error | undefined {
  const refusal = refusalOf(error, redis);
  if (!(refusal instanceof BadAnswer)) return refusal;
  if (/\bmax number of clients\b/.test(error.message)) return unreachable(error.message);
  return refusedUrl(error);
}

/** For a connection over TLS that is not made because of whom the other side says to be. */
export function certificateRefusalOf(error: unknown): Fault | undefined {
  const text = `${(error as { code?: unknown }).code} ${textOf(error)}`;
  if (!/\bcertificate\b|CERT_/i.test(text)) return undefined;
  return new Fault('store.refused', {
    status: 500,
    message: `redis.tls.ca: the certificate of Redis is not accepted: ${textOf(error)}`,
  });
}

function refusedUrl({ message }: Error): Fault {
  return new Fault('store.refused', { status: 500, message: `redis.url: Redis refuses it: ${message}` });
}

/** For a command without an answer: a write may have happened. */
export function lossOf(error: Error, sent: { isWrite: boolean; redis: Redis | undefined }): Fault {
  const { isWrite, redis } = sent;
  const isUnsent =
    redis && (error instanceof redis.ClientOfflineError || error instanceof redis.ClientClosedError);
  if (!isWrite || isUnsent) return unreachable(textOf(error));
  const message = `Redis did not answer, the write may have happened: ${textOf(error)}`;
  return new Fault('store.unknown', { status: 503, message, retryAfter: 1 });
}

/** Nothing was sent, or only a question. */
export function unreachable(reason: string): Fault {
  const message = `Redis cannot be reached: ${reason}`;
  return new Fault('store.unreachable', { status: 503, message, retryAfter: 1 });
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

function words<T>(list: string, meaning: T): Record<string, T> {
  return Object.fromEntries(list.split(' ').map((word) => [word, meaning]));
}
