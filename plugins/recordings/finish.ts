import { Fault } from '../../core/base/fault.ts';
import { valuesOf } from '../../core/base/limit-table.ts';
import type { Attempt } from '../../core/plugin/effect.ts';
import { effect } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { FinishedRecording, FinishedRendition } from '../../core/ports/recorder.ts';
import type { Abandon, Finish, Finished, Recording } from '../../machines/recording.ts';
import { type AssetFile, assets, keysOf } from '../assets/contract.ts';
import { streams } from '../streams/contract.ts';
import type { config } from './config.ts';
import { finishCounts } from './finish-counts.ts';
import { finishTask } from './finish-task.ts';
import type { RecordingsKit } from './kit.ts';
import { recordingLimitTable } from './limits.ts';
import { folderOf, linksOf } from './names.ts';
import { noteReady, noteStatus } from './stream-status.ts';
import { dropTake, finishTakes, type NodeTake } from './takes.ts';
import { issuesOf } from './told.ts';

const { finishing, finishTime, attempts, renditionShare } = valuesOf(recordingLimitTable);
const shared = { concurrency: finishing, timeout: finishTime, attempts };

/**
 * Makes the asset of a session that is over. Nothing that a repeat needs is removed by it, so it may die at any line: the takes
 * stay until `recording.clear`, and an asset that has its file keeps it.
 *
 * A node that cannot be had fails it, but for the last time: then its part is missing.
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
      // What is broken off, because the server ends, is no trouble.
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
  const { takes, missing } = await finishTakes(sessionId, { nodes, signal, kit });
  const asset = await kit.use(assets).find(assetId);
  const isMade = asset?.status === 'ready';
  if (missing.length > 0 && !isLast && !isMade) throw missing[0].error;
  for (const { node, error } of missing) {
    kit.log.warn('a part of a recording could not be had', { sessionId, node, error });
  }
  if (takes.length === 0 && asset && !isMade) return { outcome: 'failed', message: nothingOf(missing) };
  if (!asset) {
    await free(takes, { sessionId, signal, kit });
    return { outcome: 'gone' };
  }
  if (!isMade) {
    const file = await joined(takes, { sessionId, signal, kit });
    if ((await kit.use(assets).ready(assetId, file)) === 'gone') {
      await kit.blobs.delete(keysOf(file));
      await free(takes, { sessionId, signal, kit });
      return { outcome: 'gone' };
    }
  }
  const links = linksOf(sessionId, { baseUrl: kit.deployment.publicUrl });
  const notes = {
    missing: missing.map(({ node }) => node),
    gaps: takes.reduce((sum, { take }) => sum + take.gaps, 0),
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

/** Removes what a recording whose asset is ready has left: takes on nodes, and their blobs where several became one. */
export const clearEffect = effect<Recording, null, typeof config>({
  ...shared,
  async run({ input: { sessionId, assetId }, signal }, kit) {
    const nodes = (await kit.use(streams).describe(sessionId))?.nodes ?? [];
    const { takes, missing } = await finishTakes(sessionId, { nodes, signal, kit });
    const asset = await kit.use(assets).find(assetId);
    await free(takes, { sessionId, signal, kit, ...(asset?.file && { keep: asset.file }) });
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
  takes: readonly NodeTake[],
  { sessionId, signal, kit }: { sessionId: string; signal: AbortSignal; kit: RecordingsKit },
): Promise<AssetFile> {
  const [first, second] = takes;
  const whole: FinishedRecording = second
    ? await kit.use(services.recorder).join(
        takes.map(({ take }) => take),
        { folder: folderOf(sessionId), signal },
      )
    : first.take;
  const { video, head, index, spec, renditions: all = [] } = whole;
  const isPlayed = ({ share }: FinishedRendition) => share * 100 >= renditionShare;
  // What was joined nobody knows but we; of a single take they go with it.
  const unplayed = all.filter((one) => !isPlayed(one)).flatMap((one) => [one.video.key, one.index.key]);
  if (second && unplayed.length > 0) await kit.blobs.delete(unplayed);
  const renditions = all.filter(isPlayed).map(({ share: _, ...rendition }) => rendition);
  return { video, head, index, spec, ...(renditions.length > 0 && { renditions }) };
}

/** Removes takes, and first those of their blobs that are not in `keep`: afterwards nobody would know them. */
async function free(
  takes: readonly NodeTake[],
  {
    sessionId,
    keep,
    signal,
    kit,
  }: { sessionId: string; keep?: AssetFile; signal: AbortSignal; kit: RecordingsKit },
): Promise<void> {
  const kept = new Set(keep && keysOf(keep));
  const keys = takes.flatMap(({ take }) => keysOf(take)).filter((key) => !kept.has(key));
  if (keys.length > 0) await kit.blobs.delete(keys);
  await Promise.all(takes.map(({ node }) => dropTake(sessionId, { node, signal, kit })));
}

function nothingOf(missing: readonly { readonly node: string; readonly error: unknown }[]): string {
  if (missing.length === 0) return 'Nothing of the broadcast was written down.';
  const causes = missing.map(({ node, error }) => `node "${node}": ${reasonOf(error)}`);
  return `Nothing of the broadcast could be had. ${causes.join('; ')}`;
}

/** Only a Fault says what outsiders may read. */
function reasonOf(error: unknown): string {
  return error instanceof Fault ? error.message : 'it did not answer as it should';
}
