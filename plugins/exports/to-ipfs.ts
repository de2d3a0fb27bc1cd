import { fileName } from '../../core/http/file-name.ts';
import type { AssetFile } from '../assets/contract.ts';
import type { TaskResult, TaskWork } from '../tasks/contract.ts';
import type { IpfsDriver } from './ipfs/ipfs-driver.ts';
import { metadataOf } from './metadata.ts';

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
