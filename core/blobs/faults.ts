import { Fault } from '../base/fault.ts';

/** Nothing is known of a write; a read failed. */
export const unavailable = faultOf('unavailable', { status: 503, retryAfter: 5 });
export const full = faultOf('full', { status: 507 });
export const denied = faultOf('denied', { status: 503, retryAfter: 60 });
export const busy = faultOf('busy', { status: 503, retryAfter: 1 });
export const tooLarge = faultOf('too_large', { status: 413, retry: false });
export const wrongLength = faultOf('wrong_length', { status: 400, retry: false });
export const closed = () => faultOf('closed', { status: 503, retryAfter: 5 })('the blobs are closed');

function faultOf(code: string, options: { status: number; retryAfter?: number; retry?: boolean }) {
  return (message: string, cause?: unknown) => new Fault(`blobs.${code}`, { ...options, message, cause });
}

/** A problem that keeps the program from starting. */
export function startFault(code: `blobs.${StartCode}`, options: { message: string; cause?: unknown }): Fault {
  return new Fault(code, { status: code === 'blobs.unreachable' ? 503 : 500, ...options });
}

type StartCode =
  | 'folder'
  | 'unreachable'
  | 'endpoint'
  | 'credentials'
  | 'clock'
  | 'region'
  | 'bucket'
  | 'forbidden';

/** Under one name for drivers that plugins bring. */
export const blobFaults = { unavailable, full, denied, busy, tooLarge, wrongLength, closed } as const;
