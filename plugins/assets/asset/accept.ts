import { bytesOf } from '../../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { services } from '../../../core/plugin/services.ts';
import type { BlobSource } from '../../../core/ports/blobs.ts';
import { checkLength } from '../../../core/ports/converter.ts';
import type { FilmPlayback, ForeignFilm } from '../../../core/ports/inspector.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { VideoSpec } from '../../../core/ports/recorder.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetFile, keysOf, type Original, specOf } from '../contract.ts';
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
class RefusedFile extends Fault {
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
async function keepOriginal(
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

/** How long no byte may come of a film that is being converted, also while it waits for its turn, ms. */
const conversionSilence = 24 * 3_600_000;

/** Whether films of other containers and codecs are taken here now. */
export async function isNormalised({ config, use }: Pick<AssetsKit, 'config' | 'use'>): Promise<boolean> {
  return config.normalise ?? use(services.converter).isAvailable();
}

/**
 * `accept`, and where that is so (`isNormalised`) also of films of other containers and codecs: an mp4 is made of them, and of that
 * everything is as if it had come. What came is kept beside it. Faults of the converter too, also when what came out is
 * clearly shorter than the file said it is.
 *
 * @param options `progress`: how much of that is done, 0..1
 */
export async function acceptAny(
  work: Parameters<typeof accept>[0],
  options: Parameters<typeof accept>[1] & { progress(fraction: number): void },
): Promise<AssetFile> {
  const { file, kit, signal, progress } = options;
  const isConverted = await isNormalised(kit);
  try {
    return await accept(work, { ...options, isConverted });
  } catch (error) {
    if (!(error instanceof RefusedFile)) throw error;
    if (!error.foreign) throw isConverted && isOther(error) ? new RefusedFile(error, taken) : error;
    if (!isConverted) throw new RefusedFile(error, couldBe);
    const { path, size } = file;
    const { foreign } = error;
    const make = async (isAnew: boolean): Promise<AssetFile> => {
      const film = kit
        .use(services.converter)
        .normalise({ path, size, foreign }, { signal, isAnew, progress });
      const made = await received(film, { kit, signal });
      const storing = async (spec: VideoSpec) => {
        if (foreign.duration !== undefined) checkLength(spec.duration, foreign.duration);
        await options.storing(spec);
      };
      return await using(made, () => accept(work, { ...options, file: made, storing }));
    };
    // Tracks that could be taken over as they are may still be what is not stored.
    const made = await make(false).catch((trouble: unknown) => {
      if (trouble instanceof RefusedFile) return make(true);
      throw trouble;
    });
    try {
      return { ...made, original: await keepOriginal(work, { file, foreign, signal, kit }) };
    } catch (trouble) {
      // What stays all the same the sweep finds.
      await kit.blobs.delete(keysOf(made)).catch(() => {});
      throw trouble;
    }
  }
}

/** The inspector, which knows nothing of converters, names what it reads. */
function isOther({ reason }: RefusedFile): boolean {
  return reason.endsWith('expected an mp4');
}

const taken = 'WebM, Matroska, MPEG-TS, MPEG-PS, FLV, AVI and QuickTime are taken too, and made an mp4.';
const couldBe =
  'A server that has ffmpeg makes an mp4 of such a film, unless its config forbids it (plugins.assets.normalise).';

async function using<T>(file: ReceivedFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await file.discard();
  }
}

/**
 * Writes a film down that is made on this node, as fast as it is made. Throws what the film throws, Fault `conversion.refused` when it
 * becomes too large, and those of the intake that tell of this node.
 */
export async function received(
  film: ReadableStream<Uint8Array>,
  { kit, signal }: { readonly kit: AssetsKit; readonly signal: AbortSignal },
): Promise<ReceivedFile> {
  const { maxUploadSize } = kit.config;
  try {
    const most = bytesOf(maxUploadSize);
    return await kit.use(services.intake).receive(film, { most, signal, silence: conversionSilence });
  } catch (error) {
    signal.throwIfAborted();
    // What ended the film.
    if (hasCode(error, 'intake.broken')) throw error.cause;
    if (!hasCode(error, 'intake.too_large')) throw error;
    const message = `The film is not converted: it becomes larger than ${maxUploadSize} (plugins.assets.maxUploadSize).`;
    throw new Fault('conversion.refused', { status: 422, message, retry: false });
  }
}

/** How much of the work at a file is done when it is an mp4 on this node, and when it is about to be stored. */
export const stage = { normalised: 0.95, storing: 0.97 };

/** And when it has come: what may have to be normalised first takes its time, and nobody knows before. */
export function comeStage(isNormalised: boolean): number {
  return isNormalised ? 0.5 : stage.normalised;
}
