import { checkLength } from '../../core/ports/converter.ts';
import type { ReceivedFile } from '../../core/ports/intake.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import { accept, RefusedFile } from './accept.ts';
import type { AssetFile } from './contract.ts';
import { received } from './received.ts';

/**
 * `accept`, and where the deployment allows it (`plugins.assets.normalise`) also of films of other containers and codecs: those are made
 * what is stored, and of that everything is as if it had come. The file that came is not kept. Faults of the converter too, also when
 * what came out is clearly shorter than the file said it is.
 *
 * @param options `progress`: how much of that is done, 0..1
 */
export async function acceptAny(
  work: Parameters<typeof accept>[0],
  options: Parameters<typeof accept>[1] & { progress(fraction: number): void },
): Promise<AssetFile> {
  const { file, kit, signal, progress } = options;
  try {
    return await accept(work, options);
  } catch (error) {
    if (!(error instanceof RefusedFile)) throw error;
    if (!error.foreign) throw kit.config.normalise && isOther(error) ? new RefusedFile(error, taken) : error;
    if (!kit.config.normalise) throw new RefusedFile(error, couldBe);
    const { path, size } = file;
    const source = { path, size, foreign: error.foreign };
    const make = async (isAnew: boolean): Promise<AssetFile> => {
      const film = kit.converter.normalise(source, { signal, isAnew, progress });
      const made = await received(film, { kit, signal });
      const storing = async (spec: VideoSpec) => {
        if (source.foreign.duration !== undefined) checkLength(spec.duration, source.foreign.duration);
        await options.storing(spec);
      };
      return await using(made, () => accept(work, { ...options, file: made, storing }));
    };
    // Tracks that could be taken over as they are may still be what is not stored.
    return await make(false).catch((trouble: unknown) => {
      if (trouble instanceof RefusedFile) return make(true);
      throw trouble;
    });
  }
}

/** The inspector, which knows nothing of converters, names what it reads. */
function isOther({ reason }: RefusedFile): boolean {
  return reason.endsWith('expected an mp4');
}

const taken = 'WebM, Matroska, MPEG-TS, MPEG-PS, FLV, AVI and QuickTime are taken too, and made an mp4.';
const couldBe =
  'A server whose config says so makes an mp4 of such a film before it is stored (plugins.assets.normalise).';

async function using<T>(file: ReceivedFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await file.discard();
  }
}
