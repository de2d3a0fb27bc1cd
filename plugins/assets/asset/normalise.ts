import { bytesOf } from '../../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { services } from '../../../core/plugin/services.ts';
import { checkLength } from '../../../core/ports/converter.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { VideoSpec } from '../../../core/ports/recorder.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetFile, keysOf } from '../contract.ts';
import { accept, keepOriginal, RefusedFile } from './accept.ts';

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
