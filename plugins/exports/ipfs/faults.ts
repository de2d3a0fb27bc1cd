import { Fault } from '../../../core/base/fault.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';

/** How an export to IPFS fails, which is the message of its task, and what `/ipfs/{cid}` is refused with. */
export const ipfsFaults: FaultTable = {
  'ipfs.refused': {
    status: 422,
    meaning: 'The pinning service or the Kubo node refuses the file. There is no further attempt.',
  },
  'ipfs.not_allowed': {
    status: 422,
    meaning:
      'The address of the service is not public and not in `outbound.allow`. There is no further attempt.',
  },
  'ipfs.answer': {
    status: 502,
    meaning: 'The answer is not that of a pinning service or a Kubo node. There is no further attempt.',
  },
  'ipfs.trouble': {
    status: 503,
    meaning: 'The service could not be reached, or failed. The export is tried again.',
  },
  'ipfs.not_found': { status: 404, meaning: 'No export on this server has this CID.' },
  'ipfs.bad_request': {
    status: 400,
    meaning: 'The CID is invalid, or the requested format is not supported.',
  },
  'ipfs.changed': {
    status: 409,
    meaning: 'The file was replaced or deleted during the export. The export is tried again.',
  },
};

export function refused(message: string): Fault {
  return new Fault('ipfs.refused', { status: 422, message, retry: false });
}

export function notAllowed(message: string): Fault {
  return new Fault('ipfs.not_allowed', { status: 422, message, retry: false });
}

export function wrongAnswer(message: string): Fault {
  return new Fault('ipfs.answer', { status: 502, message, retry: false });
}

export function trouble(message: string, options: { retryAfter?: number; cause?: unknown } = {}): Fault {
  return new Fault('ipfs.trouble', { status: 503, message, ...options });
}
