import { Fault } from '../../../core/base/fault.ts';

/** How tus requests are refused; their codes are in the table of uploads/faults.ts. */
export const locked = new Fault('upload.locked', {
  status: 423,
  message: 'Another request of this upload does not end yet. Ask again.',
  retryAfter: 5,
});

export const interrupted = new Fault('upload.interrupted', {
  status: 400,
  message: 'A newer request of this upload took the place of this one. What had come is kept.',
});

export const begunAnew = new Fault('upload.locked', {
  status: 423,
  message: 'The task of this upload was begun anew meanwhile. Go on from where it is.',
  retryAfter: 1,
});

export const notFound = new Fault('upload.not_found', {
  status: 404,
  message: 'There is no such upload any more. Create another at the tus endpoint.',
});

export const noLength = new Fault('upload.length_required', {
  status: 411,
  message: 'This upload is on another node, to which the bytes can be handed on with Content-Length alone.',
});

export const wrongType = new Fault('upload.wrong_type', {
  status: 415,
  message: 'Content-Type: expected application/offset+octet-stream.',
});

export function invalid(message: string): Fault {
  return new Fault('upload.invalid', { status: 400, message });
}

export function wrongVersion(given: string | null): Fault {
  const was = given === null ? 'it is missing' : 'it is another';
  return new Fault('upload.wrong_version', {
    status: 412,
    message: `Tus-Resumable: expected 1.0.0, ${was}.`,
  });
}

export function wrongOffset(offset: number): Fault {
  return new Fault('upload.wrong_offset', {
    status: 409,
    message: `Upload-Offset: expected ${offset}, which is how much has come.`,
  });
}

export function tooMany(most: number): Fault {
  const message = `${most} tus uploads of this account are begun and not finished. Finish or terminate some.`;
  return new Fault('upload.too_many', { status: 429, message, retryAfter: 60 });
}

export function nodeIsFull(most: number): Fault {
  const message = `${most} tus uploads are begun on this node and not finished.`;
  return new Fault('server.busy', { status: 503, message, retryAfter: 60 });
}

export function fileTooLarge(most: number): Fault {
  const message = `Upload-Length: the file is larger than ${most} bytes, which is the most that is taken (plugins.assets.maxUploadSize).`;
  return new Fault('intake.too_large', { status: 413, message });
}
