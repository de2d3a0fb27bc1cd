import { Fault } from '../../../core/base/fault.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';

/** What the URL of an upload may answer. */
export const uploadFaults: FaultTable = {
  'upload.altered': { status: 403, meaning: 'This is not an upload URL of ours, or it was altered.' },
  'upload.expired': { status: 403, meaning: 'The upload URL has expired.' },
  'upload.revoked': { status: 403, meaning: 'The API key that asked for the upload URL was deleted.' },
  'upload.accepted': { status: 409, meaning: 'A file of this URL was accepted already, maybe meanwhile.' },
  'upload.cancelled': { status: 409, meaning: 'The task of the upload was cancelled; retry it first.' },
  'upload.busy': { status: 409, meaning: 'As many uploads to this asset run as may.' },
  'upload.refused': {
    status: 422,
    meaning:
      'It is not an mp4 with H.264 video and AAC audio; the message says what is wrong. Send another to the same URL.',
  },
  'upload.too_many': {
    status: 429,
    meaning: 'As many uploads of the account run, or are begun and not finished, as may. Try again.',
  },
  'upload.wrong_version': {
    status: 412,
    meaning: '`Tus-Resumable` is missing, or another version than `Tus-Version` of the answer.',
  },
  'upload.invalid': {
    status: 400,
    meaning: 'A header of tus is missing, wrong, or of an extension that is not supported.',
  },
  'upload.wrong_type': {
    status: 415,
    meaning: 'The bytes of a tus upload must be `application/offset+octet-stream`.',
  },
  'upload.wrong_offset': {
    status: 409,
    meaning: '`Upload-Offset` is not what HEAD tells. Nothing was taken.',
  },
  'upload.interrupted': {
    status: 400,
    meaning: 'A newer request of the same tus upload took the place of this one. What had come is kept.',
  },
  'upload.locked': {
    status: 423,
    meaning:
      'Another request of the same tus upload does not end yet, or, as answer to HEAD, its node does not answer now. Ask again.',
  },
  'upload.not_found': {
    status: 404,
    meaning:
      'There is no such tus upload any more: it was terminated or refused, or its node is gone. Create another.',
  },
  'upload.ended': { status: 410, meaning: 'The time of this tus upload is up (`Upload-Expires`).' },
  'upload.length_required': {
    status: 411,
    meaning: 'The bytes must be sent with `Content-Length` here: the upload is on another node.',
  },
};

export const accepted = new Fault('upload.accepted', {
  status: 409,
  message: 'A file was accepted for this asset already.',
});

export const cancelled = new Fault('upload.cancelled', {
  status: 409,
  message: 'This upload was cancelled. Retry its task to upload a file after all.',
});

export const busy = new Fault('upload.busy', {
  status: 409,
  message: 'Too many uploads to this asset run. Wait for their end.',
  retryAfter: 5,
});

export const deleted = new Fault('asset.not_found', {
  status: 404,
  message: 'The asset of this URL was deleted.',
});

export const stopping = new Fault('intake.unavailable', {
  status: 503,
  message: 'The server is about to end. Send the file again.',
  retryAfter: 5,
});
