import { Fault } from '../../../../core/fault.ts';

/** What an answer of Redis that is an error means, by its first word. Other ones are mistakes of ours. */
const troubles: Readonly<Record<string, { code: string; status: number }>> = {
  OOM: { code: 'store.full', status: 507 },
  MISCONF: { code: 'store.full', status: 507 },
  ...Object.fromEntries(
    ['LOADING', 'READONLY', 'BUSY', 'MASTERDOWN', 'NOREPLICAS', 'CLUSTERDOWN', 'TRYAGAIN'].map((word) => [
      word,
      { code: 'store.unreachable', status: 503 },
    ]),
  ),
};

/** A refusal of Redis, which wrote nothing. */
export function refusalOf(error: Error): Error {
  if (/^(NOAUTH|NOPERM)/.test(error.message)) return absenceOf(error.message);
  const trouble = troubles[error.message.split(' ', 1)[0] ?? ''];
  if (!trouble) return new Error(`redis: ${error.message}`);
  const retry = trouble.status === 503 && { retryAfter: 1 };
  return new Fault(trouble.code, { ...trouble, ...retry, message: `Redis refuses: ${error.message}` });
}

/** No answer. A write may have happened. */
export function lossOf(isWrite: boolean, reason: string): Fault {
  if (!isWrite) return unreachable(reason);
  const message = `Redis did not answer, the write may have happened: ${reason}`;
  return new Fault('store.unknown', { status: 503, message, retryAfter: 1 });
}

/** Nothing was sent. */
export function unreachable(reason: string): Fault {
  const message = `Redis cannot be reached: ${reason}`;
  return new Fault('store.unreachable', { status: 503, message, retryAfter: 1 });
}

/** A connection could not be made. */
export function absenceOf(reason: string): Fault {
  if (!/^(WRONGPASS|NOAUTH|NOPERM|ERR (AUTH|invalid password|DB index))/i.test(reason))
    return unreachable(reason);
  return new Fault('store.refused', { status: 500, message: `Redis does not let us in: ${reason}` });
}
