import { Fault } from '../../../core/base/fault.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';

/** How an export to IPFS fails, which is the message of its task, and what `/ipfs/{cid}` is refused with. */
export const ipfsFaults: FaultTable = {
  'ipfs.refused': {
    status: 422,
    meaning: 'The pinning service or the Kubo node does not take it: it is not tried again.',
  },
  'ipfs.not_allowed': {
    status: 422,
    meaning: 'Its address is not public, and `outbound.allow` does not open it: it is not tried again.',
  },
  'ipfs.answer': {
    status: 502,
    meaning: 'What it answered is no answer of a pinning service or a Kubo node: it is not tried again.',
  },
  'ipfs.trouble': { status: 503, meaning: 'It could not be reached, or failed. It is tried again.' },
  'ipfs.not_found': { status: 404, meaning: 'Nothing that was exported and is kept here has this CID.' },
  'ipfs.bad_request': {
    status: 400,
    meaning: 'This is no CID, or no form in which files of IPFS are answered.',
  },
  'ipfs.changed': { status: 409, meaning: 'The file was replaced or deleted meanwhile. It is tried again.' },
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

export function changed(): Fault {
  const message = 'The file was replaced or deleted while it was about to be sent to IPFS.';
  return new Fault('ipfs.changed', { status: 409, message });
}
