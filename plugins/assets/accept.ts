import { Fault } from '../../core/fault.ts';
import type { ReceivedFile } from '../../core/ports/intake.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import type { AssetFile } from './contract.ts';
import { folderOf } from './document.ts';
import type { AssetsKit } from './kit.ts';

/** What is known of an accepted file, as tasks show it and as it lies beside the video. */
export interface FileOutput {
  readonly assetSpec: Readonly<Record<string, unknown>>;
  /** Keys of blobs. */
  readonly videoFilePath: string;
  readonly metadataFilePath: string;
}

/**
 * Looks into a file that came. Fault `upload.refused` (422) when it is none that is taken.
 */
export async function looked(
  file: ReceivedFile,
  { signal, kit }: { signal: AbortSignal; kit: AssetsKit },
): Promise<VideoSpec> {
  const inspection = await kit.inspector.inspect({ path: file.path }, { signal });
  if (inspection.ok) return inspection.spec;
  throw new Fault('upload.refused', { status: 422, message: `The file was refused: ${inspection.reason}.` });
}

/** Makes blobs of it, named by this try: whichever try becomes the asset's file, the others are in nobody's way. */
export async function stored(
  work: { readonly assetId: string; readonly workId: string; readonly name: string },
  options: { file: ReceivedFile; spec: VideoSpec; kit: AssetsKit; signal?: AbortSignal },
): Promise<AssetFile> {
  const { assetId, workId, name } = work;
  const { file, spec, kit, signal } = options;
  const { md5, sha256, size } = file;
  const video = { key: `${folderOf(assetId)}${workId}.mp4`, size, md5, sha256 };
  const key = `${folderOf(assetId)}${workId}.json`;
  const bytes = Buffer.from(JSON.stringify({ name, ...specOf({ video, spec }) }));
  try {
    // As often as it is tried, it is the same bytes under this name.
    await kit.blobs.put(key, bytes);
    const put = await kit.blobs.adopt(video.key, file.path, { size, ...(signal && { signal }) });
    if (put.outcome !== 'ok') throw new Error(`${video.key} is there already`);
  } catch (error) {
    await kit.blobs.delete([key]).catch(() => {});
    throw error;
  }
  return { video, spec, metadata: { key, size: bytes.length } };
}

/** `output` of the task of an asset's file, under the name of its type. */
export function outputOf(file: AssetFile, { name }: { name: string }): FileOutput {
  return {
    assetSpec: { name, ...specOf(file) },
    videoFilePath: file.video.key,
    metadataFilePath: file.metadata?.key ?? '',
  };
}

function specOf({ video, spec }: Pick<AssetFile, 'video' | 'spec'>) {
  const { size, md5, sha256 } = video;
  const hash = [
    { hash: md5, algorithm: 'md5' },
    { hash: sha256, algorithm: 'sha256' },
  ];
  return { type: 'video', size, hash, videoSpec: spec };
}
