import type { OutboundAnswer } from '../../../core/ports/outbound.ts';
import type { CidProfile } from '../../../core/ports/packer.ts';
import { blobSource, bytesSource, type FileSource } from '../file-source.ts';
import { refused, trouble, wrongAnswer } from './faults.ts';
import type { IpfsDriver, IpfsKit } from './ipfs-driver.ts';
import { formBody, mostNameCharacters } from './multipart.ts';
import { fileCid, objectOf, type Peer, post, said, textOf } from './peer.ts';

/** A Kubo node, by its RPC (https://docs.ipfs.tech/reference/kubo/rpc): it adds and pins. */
export function kubo(
  { blobs, clock, outbound }: Pick<IpfsKit, 'blobs' | 'clock' | 'outbound'>,
  { endpoint, profile }: { readonly endpoint: string; readonly profile: CidProfile },
): Pick<IpfsDriver, 'addFile' | 'addJson'> {
  const title = `The Kubo node at ${new URL(endpoint).origin}`;
  const reasonOf: Peer['reasonOf'] = (answer) => said(answer.Message);
  const peer: Peer = { title, endpoint, outbound, clock, headers: {}, reasonOf };
  const add = async (
    file: FileSource,
    { signal, progress }: { signal: AbortSignal; progress(fraction: number): void },
  ) => {
    await checkVersion(peer, signal);
    const query = new URLSearchParams({ ...settings[profile], ...common });
    // A bare name: one with a slash, or its escape, would be a folder.
    const pinName = file.name.slice(0, mostNameCharacters).trim();
    if (pinName !== '') query.set('pin-name', pinName);
    const body = formBody({ ...file, name: 'file' });
    const answer = await post(peer, { path: `/api/v0/add?${query}`, body, signal, progress });
    return addedBy(answer, { peer, profile });
  };
  return {
    addFile: (file, options) => add(blobSource(file, { blobs, signal: options.signal }), options),
    addJson(document, { name, signal }) {
      const bytes = Buffer.from(JSON.stringify(document));
      return add(bytesSource(bytes, name), { signal, progress() {} });
    },
  };
}

/** All that decides which CID it becomes is said: the node's own `Import` settings are of no account. */
const common = {
  hash: 'sha2-256',
  trickle: 'false',
  inline: 'false',
  pin: 'true',
  progress: 'false',
  'wrap-with-directory': 'false',
};

const settings: Readonly<Record<CidProfile, Readonly<Record<string, string>>>> = {
  'unixfs-v1-2025': {
    'cid-version': '1',
    'raw-leaves': 'true',
    chunker: 'size-1048576',
    'max-file-links': '1024',
  },
  'unixfs-v0-2015': {
    'cid-version': '0',
    'raw-leaves': 'false',
    chunker: 'size-262144',
    'max-file-links': '174',
  },
};

/** Older ones pass over `max-file-links` without a word, and a large file gets another CID. */
const leastVersion = [0, 35];

async function checkVersion(peer: Peer, signal: AbortSignal): Promise<void> {
  const answer = await post(peer, { path: '/api/v0/version', body: '', signal });
  const { Version: version } = objectOf(textOf(answer, peer)) ?? {};
  const [, major, minor] = (typeof version === 'string' && /^v?(\d{1,4})\.(\d{1,4})\./.exec(version)) || [];
  if (major === undefined) throw wrongAnswer(`${peer.title} does not say which version it is of.`);
  const [leastMajor, leastMinor] = leastVersion;
  if (Number(major) > leastMajor || Number(minor) >= leastMinor) return;
  throw refused(`${peer.title} is Kubo ${major}.${minor}; ${leastMajor}.${leastMinor} or later is needed.`);
}

/**
 * One line of JSON for the file. What fails later, as pinning may, comes in a trailer: the status was said before.
 */
function addedBy(
  answer: OutboundAnswer,
  { peer, profile }: { readonly peer: Peer; readonly profile: CidProfile },
): { cid: string } {
  const { title } = peer;
  const events = textOf(answer, peer)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(objectOf);
  const late = answer.trailers['x-stream-error'] ?? events.find((event) => event?.Type === 'error')?.Message;
  if (late !== undefined) throw trouble(`${title} failed: ${said(late)}.`);
  if (events.length === 0) throw trouble(`${title} ended its answer before it had added the file.`);
  const added = events.filter((event) => event?.Hash !== undefined && event.Hash !== '');
  const cid = added.length === 1 ? fileCid(added[0]?.Hash) : undefined;
  const isOurs = cid?.version === Number(settings[profile]['cid-version']) && cid.multihash.code === sha256;
  if (!cid || !isOurs)
    throw wrongAnswer(`${title} did not answer with the one CID of the file by ${profile}.`);
  return { cid: cid.toString() };
}

const sha256 = 0x12;
