import { Fault } from '../../../core/base/fault.ts';
import { services } from '../../../core/plugin/services.ts';
import type { BlobSource } from '../../../core/ports/blobs.ts';
import type { FilmPlayback, ForeignFilm } from '../../../core/ports/inspector.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { VideoSpec } from '../../../core/ports/recorder.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetFile, type Original, specOf } from '../contract.ts';
import { folderOf } from './document.ts';

/**
 * Looks into a file that came, and makes blobs of it and of what playback needs, named by this try: whichever try becomes the
 * asset's file, the others are in nobody's way. Fault `upload.refused` (422) when it is none that is taken. Whatever it throws,
 * nothing of it stays.
 *
 * @param options `storing`: called when the file is known to be good; what it throws ends it
 */
export async function accept(
  work: { readonly assetId: string; readonly workId: string; readonly name: string },
  options: {
    readonly file: ReceivedFile;
    readonly signal: AbortSignal;
    readonly kit: AssetsKit;
    /** What a converter needs is made too, of a film of another kind. */
    readonly isConverted?: boolean;
    storing(spec: VideoSpec): Promise<void> | void;
  },
): Promise<AssetFile> {
  const { file, signal, kit, storing, isConverted = false } = options;
  const { name } = work;
  const { path, size, md5, sha256 } = file;
  const keys = blobKeys(work);
  let played: Pick<AssetFile, 'index' | 'heads' | 'head'> = {};
  try {
    const inspection = await kit.use(services.inspector).inspect(
      { path },
      {
        signal,
        isConverted,
        async keep(playback) {
          played = await kept(playback, { keys, signal, kit });
        },
      },
    );
    if (!inspection.ok) throw new RefusedFile(inspection);
    await storing(inspection.spec);
    const { spec, uncut } = inspection;
    const video = { key: keys.video, size, md5, sha256 };
    const metadata = Buffer.from(JSON.stringify({ name, ...specOf({ video, spec }) }));
    // As often as it is tried, it is the same bytes under this name.
    await kit.blobs.put(keys.metadata, metadata);
    const put = await kit.blobs.adopt(video.key, path, { size, signal });
    if (put.outcome !== 'ok') throw new Error(`${video.key} is there already`);
    return {
      ...{ video, spec, ...played, metadata: { key: keys.metadata, size: metadata.length } },
      ...(uncut !== undefined && { uncut }),
    };
  } catch (error) {
    // What stays all the same the sweep finds.
    await kit.blobs.delete(Object.values(keys)).catch(() => {});
    throw error;
  }
}

/** The Fault `upload.refused`. `foreign`: a film, but of another kind than is stored. */
export class RefusedFile extends Fault {
  readonly reason: string;
  readonly foreign: ForeignFilm | undefined;

  /** @param hint a sentence more */
  constructor(file: { readonly reason: string; readonly foreign?: ForeignFilm }, hint?: string) {
    const message = [`The file was refused: ${file.reason}.`, ...(hint === undefined ? [] : [hint])].join(
      ' ',
    );
    super('upload.refused', { status: 422, message });
    this.reason = file.reason;
    this.foreign = file.foreign;
  }
}

function placeOf({ assetId, workId }: { readonly assetId: string; readonly workId: string }): string {
  return `${folderOf(assetId)}${workId}`;
}

/** Where all of a try lies. */
function blobKeys({ assetId, workId }: { readonly assetId: string; readonly workId: string }) {
  const place = placeOf({ assetId, workId });
  return {
    video: `${place}.mp4`,
    metadata: `${place}.json`,
    index: `${place}.index.bin`,
    heads: `${place}.heads.bin`,
    head: `${place}.head.mp4`,
  };
}

/** Makes a blob of the file that came, where another one was made of it to be played. What it throws leaves nothing. */
export async function keepOriginal(
  work: { readonly assetId: string; readonly workId: string },
  options: {
    readonly file: ReceivedFile;
    readonly foreign: ForeignFilm;
    signal: AbortSignal;
    kit: AssetsKit;
  },
): Promise<Original> {
  const { file, foreign, signal, kit } = options;
  const { path, size, sha256 } = file;
  const key = `${placeOf(work)}.original`;
  const { outcome } = await kit.blobs.adopt(key, path, { size, signal });
  if (outcome !== 'ok') throw new Error(`${key} is there already`);
  return { key, size, sha256, format: foreign.isQuickTime ? 'mov' : foreign.container };
}

/** Blobs of what playback needs. When it throws, none of them is being put any more. */
async function kept(
  { hls, head }: FilmPlayback,
  options: { keys: ReturnType<typeof blobKeys>; signal: AbortSignal; kit: AssetsKit },
): Promise<Pick<AssetFile, 'index' | 'heads' | 'head'>> {
  const { keys, signal, kit } = options;
  const put = async (key: string, source: BlobSource, size: number) => {
    await kit.blobs.put(key, source, { size, signal });
    return { key, size };
  };
  const [index, heads, front] = await allOf([
    hls && put(keys.index, hls.index, hls.index.length),
    hls && put(keys.heads, each(hls.heads), lengthOf(hls.heads)),
    head && put(keys.head, each(head.parts), lengthOf(head.parts)),
  ]);
  return {
    ...(index && { index }),
    ...(heads && { heads }),
    ...(front && head && { head: { ...front, from: head.from, to: head.to } }),
  };
}

/** As Promise.all, but it waits for the others also when one of them failed. */
async function allOf<T>(works: readonly (Promise<T> | undefined)[]): Promise<(T | undefined)[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

async function* each(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
