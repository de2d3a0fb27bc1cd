import { Fault, hasCode } from '../../core/base/fault.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { beyondConversion, checkLength } from '../../core/ports/converter.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import type { RenditionProfile } from '../../core/ports/transcoder.ts';
import { assets, outputOf } from '../assets/contract.ts';
import type { TaskKind, TaskResult, TaskWork } from '../tasks/contract.ts';

/** Tasks of the type `transcode`. A repeat makes the film again, unless its asset has it already. */
export function transcodeKind(kit: Kit): TaskKind {
  return {
    type: 'transcode',
    async renew(task) {
      const input = await kit.use(assets).inputOf(task);
      if (!input) throw new Fault('task.not_possible', { status: 409, message: gone });
      await kit.use(assets).renew(task);
      return {};
    },
    async run(work) {
      try {
        return await run(work, kit);
      } catch (error) {
        // What ffmpeg made was refused: another try would make the same.
        if (hasCode(error, 'upload.refused')) return { outcome: 'failed', message: error.message };
        throw error;
      }
    },
  };
}

async function run(work: TaskWork, kit: Kit): Promise<TaskResult> {
  const { inputAssetId, signal } = work;
  if (inputAssetId === null) throw new TypeError(`transcode ${work.id} is of no asset`);
  const made = kit.use(assets);
  const output = await made.ofWork(work, { type: 'transcode', inputAssetId });
  if (!output) return { outcome: 'failed', message: deleted };
  // An earlier try got so far, but its end was lost.
  if (output.file) return { outcome: 'done', output: outputOf(output.file, output) };
  const film = await made.inputOf(work);
  if (!film) return { outcome: 'failed', message: gone };
  const problem = problemOf(film.spec);
  if (problem !== undefined) return { outcome: 'failed', message: problem };
  // It was checked when the request came.
  const { profile } = work.params as { profile: RenditionProfile };
  const progress = (fraction: number) => work.progress(fraction * converted);
  const converting = kit.use(services.converter).transcode(film, { profile, signal, progress });
  const taken = await made.take(output.id, converting, {
    signal,
    check: ({ duration }) => checkLength(duration, film.spec.duration - intervalOf(profile)),
  });
  if (taken === 'gone') return { outcome: 'failed', message: deleted };
  return { outcome: 'done', output: taken };
}

/** Seconds that may be missing at the end, where pictures are left out. */
function intervalOf({ fps, fpsDen = 1 }: RenditionProfile): number {
  return fps > 0 ? fpsDen / fps : 0;
}

const gone = 'The source asset was deleted.';
const deleted = 'The asset of this transcode was deleted.';
/** Progress when the film is made but not stored. */
const converted = 0.97;

/** Why a film is not transcoded, as a sentence; undefined when it is. */
export function problemOf(spec: VideoSpec): string | undefined {
  const why = beyondConversion(spec);
  return why === undefined ? undefined : `The asset cannot be transcoded: ${why}.`;
}
