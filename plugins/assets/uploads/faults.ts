import { Fault } from '../../../core/fault.ts';
import type { FaultTable } from '../../../core/plugin.ts';

/** What the URL of an upload may answer. */
export const uploadFaults: FaultTable = {
  'upload.altered': { status: 403, meaning: 'This is not an upload URL of ours, or it was altered.' },
  'upload.expired': { status: 403, meaning: 'The upload URL has expired.' },
  'upload.accepted': { status: 409, meaning: 'A file of this URL was accepted already, maybe meanwhile.' },
  'upload.cancelled': { status: 409, meaning: 'The task of the upload was cancelled; retry it first.' },
  'upload.busy': { status: 409, meaning: 'As many PUTs of this URL run as may.' },
  'upload.refused': {
    status: 422,
    meaning:
      'It is not an mp4 with H.264 video and AAC audio; the message says what is wrong. Send another to the same URL.',
  },
  'upload.too_many': {
    status: 429,
    meaning: 'As many uploads of the account run as may. Try again.',
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
  message: 'Too many PUTs of this URL run. Wait for their end.',
  retryAfter: 5,
});
