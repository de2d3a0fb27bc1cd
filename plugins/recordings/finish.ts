import { Fault, hasCode } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Attempt } from '../../core/plugin/effect.ts';
import { effect } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { FinishedRecording, FinishedRendition } from '../../core/ports/recorder.ts';
import type { Abandon, Finish, Finished, Recording } from '../../machines/recording.ts';
import { type AssetFile, assets, keysOf, specOf } from '../assets/contract.ts';
import { streams } from '../streams/contract.ts';
import { type TaskKind, tasks } from '../tasks/contract.ts';
import type { config, RecordingsKit } from './config.ts';
import { issuesOf } from './derived-fields.ts';
import { folderOf, linksOf } from './recording.ts';
import { dropFile, finishFiles, type NodeFile } from './recording-files.ts';
import { noteReady, noteStatus } from './stream-status.ts';

/** After three attempts, some seconds apart, the recording waits for the machine's pause. */
const shared = { concurrency: 4, timeout: 2 * 3_600_000, attempts: 3 };
/** Percent of a recording, by time, that a rendition must have to be played with it: below, viewers would mostly get the source. */
const renditionShare = 50;

/**
 * Makes the asset of an ended session. It removes nothing that a repeat needs, so it may die at any line: the recording files
 * stay until `recording.clear`, and an asset that has its file keeps it.
 *
 * An unreachable node fails it, except the last time: then its part is missing.
 */
export const finishEffect = effect<Finish, Finished, typeof config>({
  ...shared,
  async run(job, kit) {
    const { sessionId, assetId } = job.input;
    const count = finishCounts(kit.metrics);
    const shown = finishTask(job.input, kit);
    try {
      await shown.begin();
      const finished = await finish(job, kit);
      const { outcome } = finished;
      if (outcome === 'ready') {
        const asset = await kit.use(assets).find(assetId);
        if (asset?.file) await shown.complete(asset.file);
      }
      count(outcome);
      const level = outcome === 'failed' ? 'warn' : 'info';
      kit.log[level]('a recording was finished', { sessionId, assetId, outcome, ...told(finished) });
      return finished;
    } catch (error) {
      // An attempt that the stop of the server ended did not fail.
      if (!job.signal.aborted) count('trouble');
      throw error;
    }
  },
});

function told(finished: Finished): Readonly<Record<string, unknown>> {
  if (finished.outcome === 'failed') return { why: finished.message };
  return finished.outcome === 'ready' ? { gaps: finished.gaps, missing: finished.missing } : {};
}

async function finish({ input, signal }: Attempt<Finish>, kit: RecordingsKit): Promise<Finished> {
  const { sessionId, assetId, account, name, createdByTokenName, isLast } = input;
  const source = { type: 'recording', sessionId } as const;
  await kit.use(assets).begin({ id: assetId, account, name, source, createdByTokenName });
  const session = await kit.use(streams).describe(sessionId);
  const nodes = session?.nodes ?? [];
  const { files, missing } = await finishFiles(sessionId, { nodes, signal, kit });
  const asset = await kit.use(assets).find(assetId);
  const isMade = asset?.status === 'ready';
  if (missing.length > 0 && !isLast && !isMade) throw missing[0].error;
  for (const { node, error } of missing) {
    kit.log.warn('a part of a recording could not be fetched', { sessionId, node, error });
  }
  if (files.length === 0 && asset && !isMade) return { outcome: 'failed', message: nothingOf(missing) };
  if (!asset) {
    await free(files, { sessionId, signal, kit });
    return { outcome: 'gone' };
  }
  if (!isMade) {
    const file = await joined(files, { sessionId, signal, kit });
    if ((await kit.use(assets).ready(assetId, file)) === 'gone') {
      await kit.blobs.delete(keysOf(file));
      await free(files, { sessionId, signal, kit });
      return { outcome: 'gone' };
    }
  }
  const links = linksOf(sessionId, { baseUrl: kit.deployment.publicUrl });
  const notes = {
    missing: missing.map(({ node }) => node),
    gaps: files.reduce((sum, { file }) => sum + file.gaps, 0),
  };
  const issues = [
    ...((session?.body.issues as readonly string[] | undefined) ?? []),
    ...issuesOf({ status: 'ready', problem: '', ...notes }),
  ];
  const playbackUrl = links.recordingUrl;
  const shown = { ...session?.body, issues, recordingStatus: 'ready', ...links, playbackUrl };
  const stream = await noteReady(input, kit);
  return { outcome: 'ready', ...notes, stream, payload: { ...links, session: shown, assetId } };
}

/** Removes what a ready recording has left: recording files on nodes, and their blobs where several became one. */
export const clearEffect = effect<Recording, null, typeof config>({
  ...shared,
  async run({ input: { sessionId, assetId }, signal }, kit) {
    const nodes = (await kit.use(streams).describe(sessionId))?.nodes ?? [];
    const { files, missing } = await finishFiles(sessionId, { nodes, signal, kit });
    const asset = await kit.use(assets).find(assetId);
    await free(files, { sessionId, signal, kit, ...(asset?.file && { keep: asset.file }) });
    if (missing.length > 0) throw missing[0].error;
    return null;
  },
});

/** Tells the asset of a recording that failed. What lies on nodes is swept there. */
export const abandonEffect = effect<Abandon, null, typeof config>({
  ...shared,
  async run({ input }, kit) {
    const { assetId, message } = input;
    await noteStatus(input, { status: 'none', kit });
    await kit.use(assets).fail(assetId, message);
    await finishTask(input, kit).fail(message);
    return null;
  },
});

/** The file of the asset: what the one node has, or what several have as one. */
async function joined(
  files: readonly NodeFile[],
  { sessionId, signal, kit }: { sessionId: string; signal: AbortSignal; kit: RecordingsKit },
): Promise<AssetFile> {
  const [first, second] = files;
  const whole: FinishedRecording = second
    ? await kit.use(services.recorder).join(
        files.map(({ file }) => file),
        { folder: folderOf(sessionId), signal },
      )
    : first.file;
  const { video, head, index, spec, renditions: all = [] } = whole;
  const isPlayed = ({ share }: FinishedRendition) => share * 100 >= renditionShare;
  // What was joined nobody knows but we; of a single take they go with it.
  const unplayed = all.filter((one) => !isPlayed(one)).flatMap((one) => [one.video.key, one.index.key]);
  if (second && unplayed.length > 0) await kit.blobs.delete(unplayed);
  const renditions = all.filter(isPlayed).map(({ share: _, ...rendition }) => rendition);
  return { video, head, index, spec, ...(renditions.length > 0 && { renditions }) };
}

/** Removes recording files, and first those of their blobs that are not in `keep`: afterwards nobody would know them. */
async function free(
  files: readonly NodeFile[],
  {
    sessionId,
    keep,
    signal,
    kit,
  }: { sessionId: string; keep?: AssetFile; signal: AbortSignal; kit: RecordingsKit },
): Promise<void> {
  const kept = new Set(keep && keysOf(keep));
  const keys = files.flatMap(({ file }) => keysOf(file)).filter((key) => !kept.has(key));
  if (keys.length > 0) await kit.blobs.delete(keys);
  await Promise.all(files.map(({ node }) => dropFile(sessionId, { node, signal, kit })));
}

function nothingOf(missing: readonly { readonly node: string; readonly error: unknown }[]): string {
  if (missing.length === 0) return 'Nothing of the broadcast was recorded.';
  const causes = missing.map(({ node, error }) => `node "${node}": ${reasonOf(error)}`);
  return `Nothing of the broadcast could be fetched. ${causes.join('; ')}`;
}

/** Only a Fault says what outsiders may read. */
function reasonOf(error: unknown): string {
  return error instanceof Fault ? error.message : 'it did not answer as it should';
}

/** Counts attempts at finishing recordings on this node, by how they ended. */
export function finishCounts(metrics: Metrics): (outcome: Finished['outcome'] | 'trouble') => void {
  const family = metrics.counter(
    'millrace_recordings_finished_total',
    'Attempts at finishing a recording, by outcome. After the outcome trouble, the attempt is repeated.',
  );
  for (const outcome of ['ready', 'failed', 'gone', 'trouble']) family.with({ outcome });
  return (outcome) => family.with({ outcome }).add();
}

/** How long after `giveUp` the task of a recording waits for its end, ms: the recording may have ended without an event. */
const taskWait = 3_600_000;

/**
 * The finishing of a recording, shown as a task. It follows what the recording does and decides nothing: a recording is finished
 * also where its account has as many tasks as it may have, and when its task was cancelled. It runs until it ends, also between
 * tries: they go on for a day, and nobody wants to hear of each.
 */
function finishTask(recording: Recording, kit: RecordingsKit) {
  const { sessionId, account, name, assetId: outputAssetId, createdByTokenName, giveUp } = recording;
  const id = taskIdOf(sessionId);
  const all = kit.use(tasks);
  const spawn = async (): Promise<void> => {
    const deadline = kit.clock.now() + giveUp + taskWait;
    const lateMessage = 'The recording was not finished in time.';
    const by = createdByTokenName === '' ? {} : { createdByTokenName };
    const params = { sessionId };
    const given = { id, account, type: 'recording' as const, name, outputAssetId, params, ...by };
    await all.spawn({ ...given, deadline, lateMessage }).catch((error: unknown) => {
      if (!hasCode(error, 'task.too_many')) throw error;
    });
  };
  return {
    /** Repeating it is harmless, as with all of these. */
    async begin() {
      await spawn();
      await all.begin(id, workId);
    },
    async fail(message: string) {
      // It may be that nobody could begin it so far.
      await all.begin(id, workId);
      await all.fail(id, { workId, message });
    },
    complete(file: AssetFile) {
      const output = { assetSpec: { name, ...specOf(file) }, videoFilePath: file.video.key };
      return all.complete(id, output);
    },
  };
}

/** Nobody but the recording itself tries again. */
export const recordingTasks: TaskKind = {
  type: 'recording',
  async renew() {
    const message = 'A recording is tried to be finished for as long as there is hope; it cannot be retried.';
    throw new Fault('task.not_possible', { status: 409, message });
  },
};

export function taskIdOf(sessionId: string): string {
  return derivedId(`recording of session ${sessionId}`);
}

/** One job at a time finishes a recording. */
const workId = 'finish';
