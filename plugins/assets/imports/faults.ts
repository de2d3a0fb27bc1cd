import type { Fault } from '../../../core/base/fault.ts';
import { faultMaker, faultsOf } from '../../../core/plugin/fault-table.ts';
import {
  finalReasons,
  isTemporary,
  type OutboundFailure,
  type OutboundStream,
  retryAfterOf,
} from '../../../core/ports/outbound.ts';

/** Of imports. What happens while a file is fetched is told by its task: no request is answered with it. */
export const importFaults = {
  ...faultsOf(422, {
    'import.bad_url': 'Nothing can be imported from this URL; the message says why.',
    'import.failed': 'In the task: the file could not be fetched. There is no further attempt.',
  }),
  ...faultsOf(503, {
    'import.broken': 'In the task: the file could not be fetched. The import is tried again.',
  }),
};
const fault = faultMaker(importFaults);

/** It is no use to try the same again. `message`: what follows "The file could not be fetched: ". */
export function failed(message: string): Fault {
  return fault('import.failed', sentence(message), { retry: false });
}

/** Trouble on the way. `retryAfter`: seconds, as the other side said. */
export function broken(message: string, options: { retryAfter?: number } = {}): Fault {
  return fault('import.broken', sentence(message), options);
}

export function tooLarge(most: number): Fault {
  return failed(`it is larger than ${most} bytes (plugins.assets.maxImportSize)`);
}

function sentence(message: string): string {
  return `The file could not be fetched: ${message}.`;
}

/** What a request that was not answered means. */
export function faultOfFailure({ reason, message }: OutboundFailure, { most }: { most: number }): Fault {
  if (reason === 'too-large') return tooLarge(most);
  return finalReasons.has(reason) ? failed(message) : broken(message);
}

/** What another status than the wanted one means. */
export function faultOfStatus(answer: OutboundStream, { now }: { now: number }): Fault {
  const { status, url } = answer;
  const words = meanings[status];
  const message = `${new URL(url).origin} answered ${status}${words ? ` (${words})` : ''}`;
  return isTemporary(status) ? broken(message, retryAfterOf(answer, { now })) : failed(message);
}

const meanings: Readonly<Record<number, string>> = {
  401: 'it wants a user and a password',
  403: 'it may not be read; a signed URL may have expired',
  404: 'there is no such file',
  410: 'the file is gone',
  429: 'too many requests',
};
