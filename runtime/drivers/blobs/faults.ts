import { Fault } from '../../../core/base/fault.ts';

/** Nothing is known of a write; a read failed. */
export function unavailable(message: string, cause?: unknown): Fault {
  return new Fault('blobs.unavailable', { status: 503, message, retryAfter: 5, cause });
}

export function full(message: string, cause?: unknown): Fault {
  return new Fault('blobs.full', { status: 507, message, cause });
}

export function denied(message: string, cause?: unknown): Fault {
  return new Fault('blobs.denied', { status: 503, message, retryAfter: 60, cause });
}

export function busy(message: string, cause?: unknown): Fault {
  return new Fault('blobs.busy', { status: 503, message, retryAfter: 1, cause });
}

export function tooLarge(message: string, cause?: unknown): Fault {
  return new Fault('blobs.too_large', { status: 413, message, retry: false, cause });
}

export function wrongLength(message: string): Fault {
  return new Fault('blobs.wrong_length', { status: 400, message, retry: false });
}

export function closed(): Fault {
  return new Fault('blobs.closed', { status: 503, message: 'the blobs are closed', retryAfter: 5 });
}

/** A problem that keeps the program from starting. */
export function startFault(code: `blobs.${StartCode}`, options: { message: string; cause?: unknown }): Fault {
  return new Fault(code, { status: code === 'blobs.unreachable' ? 503 : 500, ...options });
}

type StartCode =
  | 'folder'
  | 'config'
  | 'unreachable'
  | 'endpoint'
  | 'credentials'
  | 'clock'
  | 'region'
  | 'bucket'
  | 'forbidden';
