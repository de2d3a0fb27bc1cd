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
import { checkInspected, countConversion } from '../uploads/permission.ts';
import { folderOf } from './document.ts';

/**
 * Inspects a received file, and stores it and what playback needs as blobs. The names of the blobs contain the id of this attempt,
 * so attempts do not disturb each other. Fault `upload.refused` (422) for a file that is not accepted, `upload.not_allowed` (403) for
 * one that a plugin refuses. If it throws, it has deleted its blobs.
 *
 * @param options `storing`: called when the file is accepted and before it is stored; may throw to stop
 */
export async function accept(
  work: { readonly assetId: string; readonly workId: string; readonly name: string },
  options: {
    readonly file: ReceivedFile;
    readonly signal: AbortSignal;
    readonly kit: AssetsKit;
    /** A film that is not accepted may be converted: also collect what a converter needs. */
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
    await checkInspected(work.assetId, { size, spec: inspection.spec, kit });
    await storing(inspection.spec);
    const { spec, uncut } = inspection;
    const video = { key: keys.video, size, md5, sha256 };
    const metadata = Buffer.from(JSON.stringify({ name, ...specOf({ video, spec }) }));
    // A repeat writes the same bytes under the same name.
    await kit.blobs.put(keys.metadata, metadata);
    const put = await kit.blobs.adopt(video.key, path, { size, signal });
    if (put.outcome !== 'ok') throw new Error(`${video.key} is there already`);
    return {
      ...{ video, spec, ...played, metadata: { key: keys.metadata, size: metadata.length } },
      ...(uncut !== undefined && { uncut }),
    };
  } catch (error) {
    // The sweep finds what could not be deleted.
    await kit.blobs.delete(Object.values(keys)).catch(() => {});
    throw error;
  }
}

/** The Fault `upload.refused`. `foreign`: it is a film in another container or codec. */
class RefusedFile extends Fault {
  readonly reason: string;
  readonly foreign: ForeignFilm | undefined;

  /** @param hint a further sentence for the message */
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

/** The keys of all blobs of an attempt. */
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

/** Stores the received file beside the video that was made of it. If it throws, nothing was stored. */
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

/** Stores what playback needs. When it throws, no write is running any more. */
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

/** Like Promise.all, but waits for all promises even if one is rejected. */
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

/** Longest time without a byte from a conversion, including its time in the queue, ms. */
const conversionSilence = 24 * 3_600_000;

/** Whether films in other containers and codecs are accepted now. */
export async function isNormalised({ config, use }: Pick<AssetsKit, 'config' | 'use'>): Promise<boolean> {
  return config.normalise ?? use(services.converter).isAvailable();
}

/**
 * Like `accept`, but if `isNormalised`, a film in another container or codec is first converted to mp4, and the original is kept
 * beside it. Also throws the faults of the converter, and a fault if the result is clearly shorter than the original says it is.
 *
 * @param options `progress`: of the conversion, 0..1
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
    const account = await countConversion(work.assetId, { seconds: foreign.duration ?? 0, kit });
    const make = async (isAnew: boolean): Promise<AssetFile> => {
      const film = kit
        .use(services.converter)
        .normalise({ path, size, foreign }, { account, signal, isAnew, progress });
      const made = await received(film, { kit, signal });
      const storing = async (spec: VideoSpec) => {
        if (foreign.duration !== undefined) checkLength(spec.duration, foreign.duration);
        await options.storing(spec);
      };
      return await using(made, () => accept(work, { ...options, file: made, storing }));
    };
    // Tracks that were copied without encoding may still not be accepted.
    const made = await make(false).catch((trouble: unknown) => {
      if (trouble instanceof RefusedFile) return make(true);
      throw trouble;
    });
    try {
      return { ...made, original: await keepOriginal(work, { file, foreign, signal, kit }) };
    } catch (trouble) {
      // The sweep finds what could not be deleted.
      await kit.blobs.delete(keysOf(made)).catch(() => {});
      throw trouble;
    }
  }
}

/** The inspector does not know the converter: its reason names mp4 only. */
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
 * Writes a film that this node produces to disk. Throws the error of the film, Fault `conversion.refused` when the film becomes too
 * large, and faults of the intake that concern this node.
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
    // The error of the film itself.
    if (hasCode(error, 'intake.broken')) throw error.cause;
    if (!hasCode(error, 'intake.too_large')) throw error;
    const message = `The film is not converted: it becomes larger than ${maxUploadSize} (plugins.assets.maxUploadSize).`;
    throw new Fault('conversion.refused', { status: 422, message, retry: false });
  }
}

/** Progress when the file is an mp4 on this node, and when it is about to be stored. */
export const stage = { normalised: 0.95, storing: 0.97 };

/** Progress when all bytes have arrived. A conversion, if one is possible, gets half of the scale. */
export function comeStage(isNormalised: boolean): number {
  return isNormalised ? 0.5 : stage.normalised;
}
