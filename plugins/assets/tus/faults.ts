import { Fault } from '../../../core/base/fault.ts';
import { uploadFault } from '../uploads/faults.ts';

/** Errors of tus requests. */
export const locked = uploadFault(
  'upload.locked',
  'Another request of this upload has not ended yet. Try again.',
  { retryAfter: 5 },
);
export const begunAnew = uploadFault(
  'upload.locked',
  'The upload was restarted. Resume at the offset in `Upload-Offset`.',
  { retryAfter: 1 },
);
export const interrupted = uploadFault(
  'upload.interrupted',
  'A newer request of this upload ended this one. The received bytes are kept.',
);
export const notFound = uploadFault(
  'upload.not_found',
  'This upload does not exist any more. Create another at the tus endpoint.',
);
export const noLength = uploadFault(
  'upload.length_required',
  'This upload is on another node: the request needs a Content-Length.',
);
export const wrongType = uploadFault(
  'upload.wrong_type',
  'Content-Type: expected application/offset+octet-stream.',
);

export const invalid = (message: string) => uploadFault('upload.invalid', message);

export function wrongVersion(given: string | null): Fault {
  const was = given === null ? 'it is missing' : 'it is another';
  return uploadFault('upload.wrong_version', `Tus-Resumable: expected 1.0.0, ${was}.`);
}

export function wrongOffset(offset: number): Fault {
  return uploadFault('upload.wrong_offset', `Upload-Offset: expected ${offset}, the bytes received so far.`);
}

export function tooMany(most: number): Fault {
  const message = `This account has ${most} unfinished uploads. Finish or terminate some.`;
  return uploadFault('upload.too_many', message, { retryAfter: 60 });
}

export function nodeIsFull(most: number): Fault {
  const message = `This node has ${most} unfinished uploads.`;
  return new Fault('server.busy', { status: 503, message, retryAfter: 60 });
}

export function fileTooLarge(most: number, header = 'Upload-Length'): Fault {
  const message = `${header}: expected at most ${most} bytes (plugins.assets.maxUploadSize).`;
  return new Fault('intake.too_large', { status: 413, message });
}
