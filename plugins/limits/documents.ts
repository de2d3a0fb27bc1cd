import { overLimit } from '../../core/http/account-limits.ts';
import { bodyBytes } from '../../core/http/body.ts';
import type { Asker } from '../../core/http/request-limits.ts';
import type { CountedLimits } from './accounts.ts';

/** Bytes of a change that an account may make beyond its limit: to suspend a stream, or to shorten what it has. */
const smallChange = 1024;
/** Its events are kept for a day. Beyond so many times its limit, even a small change waits until it has less. */
const mostBeyond = 1.25;

/**
 * Counts what a request brings to be stored: names, tags, parameters of tasks. What it replaces or does not store is counted too,
 * until the next sum of all that is stored. Rejects with 409 `account.limit`.
 */
export async function checkDocument(
  request: Request,
  { asker: { accountId }, limits }: { asker: Asker; limits: CountedLimits },
): Promise<void> {
  const limit = await limits.of(accountId, 'storedBytes');
  if (limit === null) return;
  const length = request.headers.get('content-length');
  const bytes = length === null ? (await bodyBytes(request)).byteLength : Number(length) || 0;
  if (bytes > 0 && (request.method === 'POST' || bytes > smallChange)) {
    await limits.store(accountId, { bytes, isTaken: true });
    return;
  }
  const used = await limits.stored.used(accountId);
  if (used > limit * mostBeyond) throw overLimit('storedBytes', { used, limit });
}
