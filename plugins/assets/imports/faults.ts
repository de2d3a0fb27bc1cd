import { Fault } from '../../../core/base/fault.ts';
import { faultMaker, faultsOf } from '../../../core/plugin/fault-table.ts';
import {
  finalReasons,
  isTemporary,
  type OutboundFailure,
  type OutboundStream,
  retryAfterOf,
} from '../../../core/ports/outbound.ts';

/** Errors of imports. Those of the download are shown by the task, not by a request. */
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

/** A final error. `message`: what follows "The file could not be fetched: ". */
export function failed(message: string): Fault {
  return fault('import.failed', sentence(message), { retry: false });
}

/** A temporary error. `retryAfter`: seconds, as the server said. */
export function broken(message: string, options: { retryAfter?: number } = {}): Fault {
  return fault('import.broken', sentence(message), options);
}

/** The Fault `import.failed` of a file that is larger than it may be. */
export class TooLargeFile extends Fault {
  constructor(most: number) {
    const message = sentence(`it is larger than ${most} bytes (plugins.assets.maxImportSize)`);
    super('import.failed', { status: importFaults['import.failed'].status, message, retry: false });
  }
}

export function tooLarge(most: number): Fault {
  return new TooLargeFile(most);
}

function sentence(message: string): string {
  return `The file could not be fetched: ${message}.`;
}

/** The fault for a request without an answer. */
export function faultOfFailure({ reason, message }: OutboundFailure, { most }: { most: number }): Fault {
  if (reason === 'too-large') return tooLarge(most);
  return finalReasons.has(reason) ? failed(message) : broken(message);
}

/** The fault for an unexpected status. */
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
