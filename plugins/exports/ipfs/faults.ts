import { faultMaker, faultsOf } from '../../../core/plugin/fault-table.ts';

/** How an export to IPFS fails, which is the message of its task, and what `/ipfs/{cid}` is refused with. */
export const ipfsFaults = {
  ...faultsOf(422, {
    'ipfs.refused': 'The pinning service or the Kubo node refuses the file. There is no further attempt.',
    'ipfs.not_allowed':
      'The address of the service is not public and not in `outbound.allow`. There is no further attempt.',
  }),
  ...faultsOf(502, {
    'ipfs.answer': 'The answer is not that of a pinning service or a Kubo node. There is no further attempt.',
  }),
  ...faultsOf(503, {
    'ipfs.trouble': 'The service could not be reached, or failed. The export is tried again.',
  }),
  ...faultsOf(404, { 'ipfs.not_found': 'No export on this server has this CID.' }),
  ...faultsOf(400, { 'ipfs.bad_request': 'The CID is invalid, or the requested format is not supported.' }),
  ...faultsOf(409, {
    'ipfs.changed': 'The file was replaced or deleted during the export. The export is tried again.',
  }),
};

export const ipfsFault = faultMaker(ipfsFaults);

export const refused = (message: string) => ipfsFault('ipfs.refused', message, { retry: false });
export const notAllowed = (message: string) => ipfsFault('ipfs.not_allowed', message, { retry: false });
export const wrongAnswer = (message: string) => ipfsFault('ipfs.answer', message, { retry: false });
export const trouble = (message: string, options: { retryAfter?: number } = {}) =>
  ipfsFault('ipfs.trouble', message, options);
