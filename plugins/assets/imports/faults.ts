import { Fault } from '../../../core/base/fault.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';

/** Of imports. What happens while a file is fetched is told by its task: no request is answered with it. */
export const importFaults: FaultTable = {
  'import.bad_url': { status: 422, meaning: 'Nothing can be imported from this URL; the message says why.' },
  'import.failed': {
    status: 422,
    meaning: 'In the task: the file cannot be had from there, and it is no use to try the same again.',
  },
  'import.broken': { status: 503, meaning: 'In the task: the file could not be had; it is tried again.' },
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
