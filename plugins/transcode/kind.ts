import { Fault, hasCode } from '../../core/base/fault.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { beyondConversion, checkLength } from '../../core/ports/converter.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import type { RenditionProfile } from '../../core/ports/transcoder.ts';
import { type AssetReference, assets, outputOf } from '../assets/contract.ts';
import type { TaskKind, TaskResult, TaskWork } from '../tasks/contract.ts';

/** ms that a transcode may wait for its turn: a week. A retry waits anew. */
const maxWait = 7 * 24 * 3_600_000;

/** Tasks of the type `transcode`. A repeat makes the film again, unless its asset has it already. */
export function transcodeKind(kit: Kit): TaskKind {
  return {
    type: 'transcode',
    async renew(task) {
      if (!(await filmOf(task, kit))) throw impossible(gone);
      const { outputAssetId: id } = task;
      const isThere = id !== null && (await kit.use(assets).awaitAnew(id));
      if (!isThere) throw impossible('The asset of this transcode was deleted, or has its file already.');
      return { deadline: deadlineOf(kit) };
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
  const { outputAssetId: id, signal } = work;
  if (id === null) throw new TypeError(`transcode ${work.id} is of no asset`);
  const output = await assetOfWork(work, { id, kit });
  if (!output) return { outcome: 'failed', message: deleted };
  // An earlier try got so far, but its end was lost.
  if (output.file) return { outcome: 'done', output: { ...outputOf(output.file, output) } };
  const film = await filmOf(work, kit);
  if (!film) return { outcome: 'failed', message: gone };
  const problem = problemOf(film.spec);
  if (problem !== undefined) return { outcome: 'failed', message: problem };
  // It was checked when the request came.
  const { profile } = work.params as { profile: RenditionProfile };
  const progress = (fraction: number) => work.progress(fraction * converted);
  const made = kit.use(services.converter).transcode(film, { profile, signal, progress });
  const taken = await kit.use(assets).take(id, made, {
    signal,
    check: ({ duration }) => checkLength(duration, film.spec.duration - intervalOf(profile)),
  });
  if (taken === 'gone') return { outcome: 'failed', message: deleted };
  return { outcome: 'done', output: { ...taken } };
}

/** Seconds that may be missing at the end, where pictures are left out. */
function intervalOf({ fps, fpsDen = 1 }: RenditionProfile): number {
  return fps > 0 ? fpsDen / fps : 0;
}

/** The asset that is made. Undefined: it was deleted. */
async function assetOfWork(
  work: TaskWork,
  { id, kit }: { id: string; kit: Kit },
): Promise<AssetReference | undefined> {
  const { account, name, inputAssetId } = work;
  const made = kit.use(assets);
  const found = await made.find(id);
  // The event of its failure may have overtaken that of the renewed task.
  if (found?.status === 'failed') await made.awaitAnew(id);
  if (found || inputAssetId === null) return found;
  // The task is made before the asset, and the request may be slower than this, or dead.
  const more = JSON.parse((work.secret as { asset: string }).asset) as { createdByTokenName: string };
  await made.begin({ id, account, name, source: { type: 'transcode', inputAssetId }, ...more });
  return made.find(id);
}

/** Undefined: it was deleted. */
async function filmOf({ inputAssetId, account }: Pick<TaskWork, 'inputAssetId' | 'account'>, kit: Kit) {
  const input = inputAssetId === null ? undefined : await kit.use(assets).find(inputAssetId);
  return input?.account === account && input.status === 'ready' ? input.file : undefined;
}

/** What the task needs to make the asset in place of the request. One string, as secrets are cut out of logs and answers. */
export function secretOf(asset: { readonly createdByTokenName: string }): { asset: string } {
  return { asset: JSON.stringify(asset) };
}

/** When a task that begins now must have had its turn, epoch ms. */
export function deadlineOf({ clock }: Kit): number {
  return clock.now() + maxWait;
}

export const lateMessage = 'The transcode was not started within a week.';

const gone = 'The source asset was deleted.';
const deleted = 'The asset of this transcode was deleted.';
/** Progress when the film is made but not stored. */
const converted = 0.97;

function impossible(message: string): Fault {
  return new Fault('task.not_possible', { status: 409, message });
}

/** Why a film is not transcoded, as a sentence; undefined when it is. */
export function problemOf(spec: VideoSpec): string | undefined {
  const why = beyondConversion(spec);
  return why === undefined ? undefined : `The asset cannot be transcoded: ${why}.`;
}
