import { Fault } from '../../../core/base/fault.ts';
import { faultMaker, faultsOf } from '../../../core/plugin/fault-table.ts';

/** Errors of upload URLs, for PUT and tus. */
export const uploadFaults = {
  ...faultsOf(400, {
    'upload.invalid':
      'A tus header is missing or wrong, or belongs to an unsupported extension. Or `Content-Range` is wrong.',
    'upload.interrupted': 'A newer request of the same upload ended this one. The received bytes are kept.',
  }),
  ...faultsOf(403, {
    'upload.not_allowed':
      'A plugin of this server does not accept the file; the message gives the reason. Another file may be accepted.',
    'upload.altered': 'This is not an upload URL of ours, or it was altered.',
    'upload.expired': 'The upload URL has expired.',
    'upload.revoked': 'The API key that asked for the upload URL was deleted.',
  }),
  ...faultsOf(404, {
    'upload.not_found': 'The tus upload was terminated or refused, or its node is gone. Create another.',
  }),
  ...faultsOf(409, {
    'upload.accepted': 'A file was already accepted at this URL.',
    'upload.cancelled': 'The task of the upload was cancelled; retry it first.',
    'upload.busy': 'Too many uploads to this asset are running.',
    'upload.wrong_offset':
      '`Upload-Offset` is not the offset that HEAD returns, or `Content-Range` begins after the bytes in `Range`. Nothing was written.',
    'upload.other_file':
      '`Content-Range` has another length than the file whose pieces have arrived. Another file begins at byte 0.',
  }),
  ...faultsOf(410, { 'upload.ended': 'The tus upload has expired (`Upload-Expires`).' }),
  ...faultsOf(411, {
    'upload.length_required':
      'The upload is on another node, or the request has `Content-Range`, so it needs a `Content-Length`.',
  }),
  ...faultsOf(412, {
    'upload.wrong_version':
      '`Tus-Resumable` is missing, or is not the version in `Tus-Version` of the answer.',
  }),
  ...faultsOf(415, {
    'upload.wrong_type': 'The bytes of a tus upload must be `application/offset+octet-stream`.',
  }),
  ...faultsOf(416, { 'upload.wrong_range': '`Content-Range` names bytes behind the end of the file.' }),
  ...faultsOf(422, {
    'upload.refused':
      'The file is not an mp4 with H.264 video and AAC audio; the message gives the reason. Send another file to the same URL.',
  }),
  ...faultsOf(423, {
    'upload.locked':
      'Another request of the same tus upload has not ended yet. For HEAD also: the node of the upload does not answer. Try again.',
  }),
  ...faultsOf(429, {
    'upload.too_many': 'The account has too many running or unfinished uploads. Try again later.',
  }),
};

/** Codes of a route that receives a file: of the attempt, of the intake, and of storing the file. */
export const tryFaults = [
  ...['upload.accepted', 'upload.cancelled', 'upload.busy', 'upload.refused', 'upload.too_many'],
  ...['upload.not_allowed', 'account.limit', 'decision.unavailable', 'server.busy'],
];
export const intakeFaults = [
  ...['intake.broken', 'intake.silent', 'intake.slow', 'intake.full', 'intake.unavailable'],
];
export const storingFaults = [
  ...['inspection.unavailable', 'blobs.unavailable', 'blobs.full', 'blobs.denied', 'blobs.busy'],
  ...['blobs.closed', 'blobs.too_large', 'blobs.wrong_length'],
];

export const uploadFault = faultMaker(uploadFaults);

export const accepted = uploadFault('upload.accepted', 'A file was already accepted for this asset.');
export const cancelled = uploadFault(
  'upload.cancelled',
  'This upload was cancelled. Retry its task to upload a file after all.',
);
export const busy = uploadFault(
  'upload.busy',
  'Too many uploads to this asset are running. Wait until one ends.',
  { retryAfter: 5 },
);
/** For a request to the URL, and for a running upload. */
export const revoked = uploadFault(
  'upload.revoked',
  'The API key that asked for this upload URL was deleted. Ask for another URL with another key.',
);
export const deleted = new Fault('asset.not_found', {
  status: 404,
  message: 'The asset of this URL was deleted.',
});
export const stopping = new Fault('intake.unavailable', {
  status: 503,
  message: 'The server is stopping. Send the file again.',
  retryAfter: 5,
});
