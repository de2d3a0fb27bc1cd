import { Fault } from '../../../core/base/fault.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';

/** What the URL of an upload may answer. */
export const uploadFaults: FaultTable = {
  'upload.altered': { status: 403, meaning: 'This is not an upload URL of ours, or it was altered.' },
  'upload.expired': { status: 403, meaning: 'The upload URL has expired.' },
  'upload.revoked': { status: 403, meaning: 'The API key that asked for the upload URL was deleted.' },
  'upload.accepted': { status: 409, meaning: 'A file was already accepted at this URL.' },
  'upload.cancelled': { status: 409, meaning: 'The task of the upload was cancelled; retry it first.' },
  'upload.busy': { status: 409, meaning: 'Too many uploads to this asset are running.' },
  'upload.refused': {
    status: 422,
    meaning:
      'The file is not an mp4 with H.264 video and AAC audio; the message gives the reason. Send another file to the same URL.',
  },
  'upload.too_many': {
    status: 429,
    meaning: 'The account has too many running or unfinished uploads. Try again later.',
  },
  'upload.wrong_version': {
    status: 412,
    meaning: '`Tus-Resumable` is missing, or is not the version in `Tus-Version` of the answer.',
  },
  'upload.invalid': {
    status: 400,
    meaning: 'A tus header is missing or wrong, or belongs to an unsupported extension.',
  },
  'upload.wrong_type': {
    status: 415,
    meaning: 'The bytes of a tus upload must be `application/offset+octet-stream`.',
  },
  'upload.wrong_offset': {
    status: 409,
    meaning: '`Upload-Offset` is not the offset that HEAD returns. Nothing was written.',
  },
  'upload.interrupted': {
    status: 400,
    meaning: 'A newer request of the same tus upload ended this one. The received bytes are kept.',
  },
  'upload.locked': {
    status: 423,
    meaning:
      'Another request of the same tus upload has not ended yet. For HEAD also: the node of the upload does not answer. Try again.',
  },
  'upload.not_found': {
    status: 404,
    meaning: 'The tus upload was terminated or refused, or its node is gone. Create another.',
  },
  'upload.ended': { status: 410, meaning: 'The tus upload has expired (`Upload-Expires`).' },
  'upload.length_required': {
    status: 411,
    meaning: 'The upload is on another node, so the request needs a `Content-Length`.',
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
