import type { OutboundAnswer } from '../../../core/ports/outbound.ts';
import type { PinningCredentials } from '../../tasks/contract.ts';
import { blobSource } from '../file-source.ts';
import { wrongAnswer } from './faults.ts';
import type { IpfsDriver, IpfsKit } from './ipfs-driver.ts';
import { formBody, mostNameCharacters } from './multipart.ts';
import { fileCid, objectOf, type Peer, post, said, textOf } from './peer.ts';

/**
 * A pinning service, by the calls that Pinata has and others took over: `pinFileToIPFS` and `pinJSONToIPFS`
 * (https://docs.pinata.cloud/api-reference). CIDv1 is asked for; how it cuts a file is its own matter.
 */
export function pinning(
  { blobs, clock, outbound }: Pick<IpfsKit, 'blobs' | 'clock' | 'outbound'>,
  { endpoint, credentials }: { readonly endpoint: string; readonly credentials: PinningCredentials },
): Pick<IpfsDriver, 'addFile' | 'addJson'> {
  const title = `The pinning service at ${new URL(endpoint).origin}`;
  const peer: Peer = { title, endpoint, outbound, clock, headers: headersOf(credentials), reasonOf };
  return {
    async addFile(file, { signal, progress }) {
      const fields = {
        pinataMetadata: JSON.stringify(metadataOf(file.name)),
        pinataOptions: JSON.stringify(options),
      };
      const body = formBody(blobSource(file, { blobs, signal }), fields);
      return pinnedBy(await post(peer, { path: '/pinning/pinFileToIPFS', body, signal, progress }), peer);
    },
    async addJson(document, { name, signal }) {
      const body = JSON.stringify({
        pinataContent: document,
        pinataMetadata: metadataOf(name),
        pinataOptions: options,
      });
      return pinnedBy(await post(peer, { path: '/pinning/pinJSONToIPFS', body, signal }), peer);
    },
  };
}

const options = { cidVersion: 1 };

function metadataOf(name: string) {
  return { name: name.slice(0, mostNameCharacters) };
}

function headersOf(credentials: PinningCredentials): Record<string, string> {
  if ('jwt' in credentials) return { authorization: `Bearer ${credentials.jwt}` };
  const { apiKey, apiSecret } = credentials;
  return { pinning_api_key: apiKey, pinning_secret_api_key: apiSecret };
}

/** `INVALID_CREDENTIALS` and the like; its other words may repeat what it was sent. */
function reasonOf({ error }: Readonly<Record<string, unknown>>): string {
  const reason = typeof error === 'object' && error !== null && 'reason' in error ? error.reason : undefined;
  return typeof reason === 'string' && /^[A-Z]+(_[A-Z]+){1,6}$/.test(reason) ? said(reason) : '';
}

function pinnedBy(answer: OutboundAnswer, peer: Peer): { cid: string } {
  const cid = fileCid(objectOf(textOf(answer, peer))?.IpfsHash);
  if (cid) return { cid: cid.toString() };
  throw wrongAnswer(`${peer.title} answered ${answer.status} without the CID of a file as IpfsHash.`);
}
