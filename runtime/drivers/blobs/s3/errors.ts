import { Fault } from '../../../../core/base/fault.ts';
import { busy, denied, full, tooLarge, unavailable } from '../../../../core/blobs/faults.ts';
import { TransportError } from './http-handler.ts';

/** What S3 answered, or that it did not. */
export interface S3Error {
  /** `NoSuchKey`, `AccessDenied`; of an answer without a body its status. Undefined: no answer. */
  readonly code: string | undefined;
  readonly status: number | undefined;
  /** The answer had no body in which S3 says what is wrong. */
  readonly isBare: boolean;
  /** For people: names no credentials. */
  readonly message: string;
}

/** Undefined for what is neither: a mistake of ours, an abort. */
export function s3Error(error: unknown): S3Error | undefined {
  if (error instanceof TransportError)
    return { code: undefined, status: undefined, isBare: true, message: error.message };
  const { name, message, $metadata: about } = (error ?? {}) as Partial<AwsError>;
  const status = about?.httpStatusCode;
  if (status === undefined) return undefined;
  const isNamed =
    name !== undefined && /^[A-Z]\w+$/.test(name) && name !== 'Unknown' && name !== 'UnknownError';
  const code = isNamed ? name : String(status);
  const isBare = !message || message === 'UnknownError';
  return { code, status, isBare, message: isBare ? code : `${code}: ${message.slice(0, 300)}` };
}

/** Whether trying the same again may help. */
export function isPassing(error: unknown): boolean {
  if (error instanceof TransportError) return error.reason !== 'bad-request' && error.reason !== 'bad-url';
  const { code = '', status = 0 } = s3Error(error) ?? {};
  return status >= 500 ? status !== 501 && status !== 507 : status === 429 || passing.has(code);
}

export function hasS3Code(error: unknown, ...codes: readonly string[]): boolean {
  const found = s3Error(error);
  return found !== undefined && (codes.includes(found.code ?? '') || codes.includes(String(found.status)));
}

/** The Fault for an error that is no answer to what was asked; what is no error of S3 stays what it is. */
export function faultOf(error: unknown, what: string): unknown {
  const found = s3Error(error);
  if (error instanceof Fault || found === undefined) return error;
  const { code = '', status, message } = found;
  const text = `${what}: ${message}`;
  if (error instanceof TransportError && error.reason === 'busy') return busy(text, error);
  if (status === 507 || fullCodes.has(code)) return full(text, error);
  if (status === 403 || status === 401) return denied(text, error);
  if (status === 413 || code === 'EntityTooLarge') return tooLarge(text, error);
  return unavailable(text, error);
}

interface AwsError {
  readonly name: string;
  readonly message: string;
  readonly $metadata: { readonly httpStatusCode?: number };
}

const passing = new Set([
  'RequestTimeout',
  'SlowDown',
  'Throttling',
  'OperationAborted',
  'ConditionalRequestConflict',
]);
const fullCodes = new Set([
  'XMinioStorageFull',
  'InsufficientStorage',
  'QuotaExceeded',
  'InsufficientCapacity',
]);
