import { fileName } from '../../core/http/file-name.ts';
import type { AssetFile } from '../assets/contract.ts';
import type { TaskResult, TaskWork } from '../tasks/contract.ts';
import type { IpfsDriver } from './ipfs/ipfs-driver.ts';

/** What the metadata is of the whole: it is small. */
const afterVideo = 0.99;

/** The video, then what describes it as a token. */
export async function exportToIpfs(
  video: AssetFile['video'],
  options: {
    readonly work: TaskWork;
    readonly driver: IpfsDriver;
    readonly metadata: Readonly<Record<string, unknown>> | undefined;
  },
): Promise<TaskResult> {
  const { work, driver, metadata } = options;
  const { name, signal } = work;
  const { key, size } = video;
  const file = await driver.addFile(
    { key, size, name: fileName(name, 'mp4') },
    { signal, progress: (fraction) => work.progress(fraction * afterVideo) },
  );
  signal.throwIfAborted();
  const document = metadataOf({ name, url: `ipfs://${file.cid}` }, metadata);
  const described = await driver.addJson(document, { name: fileName(name, 'json'), signal });
  signal.throwIfAborted();
  const links = (prefix: string, cid: string) => ({
    [`${prefix}Cid`]: cid,
    [`${prefix}Url`]: `ipfs://${cid}`,
    [`${prefix}GatewayUrl`]: driver.gatewayUrl(cid),
  });
  return {
    outcome: 'done',
    output: {
      ipfs: {
        ...links('videoFile', file.cid),
        ...links('erc1155Metadata', described.cid),
        // The name of older clients.
        ...links('nftMetadata', described.cid),
      },
    },
  };
}

/**
 * What describes a video as an ERC-1155 token (EIP-1155, "Metadata"): a document of our own, changed by what the caller says
 * as by a JSON Merge Patch (RFC 7396): objects merge, `null` deletes, everything else replaces. Arrays are not merged.
 */
export function metadataOf(
  video: { readonly name: string; readonly url: string },
  given: Readonly<Record<string, unknown>> = {},
): unknown {
  const { name, url } = video;
  const own = { name, description: `Video: ${name}`, animation_url: url, properties: { video: url } };
  return merged(own, given);
}

/** No key is ever assigned to: `__proto__` in a document is a key like any other. */
function merged(base: unknown, change: unknown): unknown {
  if (!isObject(change)) return change;
  const result = new Map(isObject(base) ? Object.entries(base) : []);
  for (const [key, value] of Object.entries(change)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
