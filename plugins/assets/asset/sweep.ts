import { milliseconds } from '../../../core/base/config-fields.ts';
import { regularly } from '../../../core/base/timing.ts';
import type { Stop } from '../../../core/plugin/plugin.ts';
import { countRemoved, Removed } from '../../../core/plugin/sweep-counts.ts';
import type { BlobFacts, UnfinishedUpload } from '../../../core/ports/blobs.ts';
import type { AssetsKit } from '../config.ts';
import { exportsFolder, keysOf, picturesFolder } from '../contract.ts';
import { type AssetDocument, assetFolder, assetOf, assetRow, blobPages } from './document.ts';
import { ownsBlobs } from './owner.ts';

/** Unused blobs that one sweep remembers for the next. */
const mostSuspects = 10_000;
/** Old unfinished uploads that one sweep checks. */
const mostUploads = 1000;
/** An old unfinished upload is aborted if it has not grown for so long, ms. */
const stillTime = 24 * 3_600_000;
/** Younger unused blobs are left alone, ms. */
const orphanAge = 3_600_000;
/** How long the blobs of a failed asset are kept, ms. */
const failedTime = 7 * 24 * 3_600_000;
/** Time between two sweeps, ms. */
const interval = 3_600_000;

/** Deletes blobs that no asset needs. Runs on one node at a time. */
export function sweeping(kit: AssetsKit): Stop {
  return regularly(interval, {
    clock: kit.clock,
    work: sweeper(kit),
    failed: (error) => kit.log.warn('assets could not be swept; it is tried again', { error }),
  });
}

/**
 * One sweep. A blob is deleted when two sweeps in a row found it unused. One could be wrong, for example while a restored store
 * catches up.
 */
function sweeper(kit: AssetsKit): (signal: AbortSignal) => Promise<void> {
  const { blobs, clock, log } = kit;
  let suspects: ReadonlySet<string> = new Set();
  let stills: ReadonlyMap<string, Still> = new Map();
  const count = { blobs: countRemoved(kit.metrics, 'blobs'), uploads: countRemoved(kit.metrics, 'uploads') };

  const blobsOfNone = async (erased: Removed, signal: AbortSignal): Promise<number> => {
    const next = new Set<string>();
    let looked = 0;
    for await (const page of blobPages(assetFolder, { blobs, signal })) {
      looked += page.length;
      const orphans = await orphansOf(page, kit);
      const proven = orphans.filter(({ key }) => suspects.has(key));
      if (proven.length > 0) await blobs.delete(proven.map(({ key }) => key));
      for (const { size } of proven) {
        erased.add(size);
        count.blobs({ count: 1, bytes: size });
      }
      for (const { key } of orphans) if (!suspects.has(key) && next.size < mostSuspects) next.add(key);
    }
    suspects = next;
    return looked;
  };

  const uploadsOfNone = async (aborted: Removed, signal: AbortSignal): Promise<void> => {
    const next = new Map<string, Still>();
    const before = clock.now() - milliseconds(kit.config.unfinishedFor);
    for (const upload of await blobs.uploads.unfinished({ before, limit: mostUploads })) {
      signal.throwIfAborted();
      const still = await stillOf(upload, { before: stills.get(upload.id), kit });
      if (!still) continue;
      if (clock.now() - still.since < stillTime) next.set(upload.id, still);
      else {
        await blobs.uploads.abort(upload);
        aborted.add(still.bytes);
        count.uploads({ count: 1, bytes: still.bytes });
      }
    }
    stills = next;
  };

  return async (signal) => {
    if (!(await ownsBlobs(kit))) {
      log.warn(
        'the blobs of assets belong to another deployment, or to a store that is gone: nothing of them is swept',
        { mark: `${assetFolder}owner.json` },
      );
      return;
    }
    const [erased, aborted] = [new Removed(), new Removed()];
    let looked = 0;
    try {
      looked = await blobsOfNone(erased, signal);
      await uploadsOfNone(aborted, signal);
    } finally {
      // Also when it fails half way: the blobs are deleted.
      const isQuiet = erased.count + aborted.count + suspects.size === 0;
      const removed = { blobs: erased, uploads: aborted };
      log[isQuiet ? 'debug' : 'info']('assets were swept', { looked, removed, suspected: suspects.size });
    }
  };
}

/** The size of an upload, and since when it has had this size. */
interface Still {
  readonly bytes: number;
  /** Epoch ms. */
  readonly since: number;
}

/** Old blobs that no asset uses. */
async function orphansOf(found: readonly BlobFacts[], kit: AssetsKit): Promise<BlobFacts[]> {
  const known = new Map<string, AssetDocument | undefined>();
  const old = found.filter(({ modified }) => kit.clock.now() - modified >= orphanAge);
  const orphans: BlobFacts[] = [];
  for (const blob of old) {
    const { key } = blob;
    const id = assetIn(key);
    if (id === undefined) continue;
    if (!known.has(id)) known.set(id, await documentOf(id, kit));
    if (!isNeeded(key, { document: known.get(id), now: kit.clock.now() })) orphans.push(blob);
  }
  return orphans;
}

function isNeeded(key: string, { document, now }: { document: AssetDocument | undefined; now: number }) {
  switch (document?.status) {
    case undefined:
      return false;
    // Its file is still being made, however long that takes.
    case 'waiting':
      return true;
    case 'failed':
      return now - document.updatedAt < failedTime;
    case 'ready':
      // People know an export by its CID. No row says when it is not needed any more.
      if (key.startsWith(exportsFolder(document.id))) return true;
      if (document.file && key.startsWith(`${picturesFolder(document.file.video.key)}`)) return true;
      return document.file !== null && keysOf(document.file).includes(key);
  }
}

/** Undefined: it must not be aborted, because it may still be completed. */
async function stillOf(
  upload: UnfinishedUpload,
  { before, kit }: { before: Still | undefined; kit: AssetsKit },
): Promise<Still | undefined> {
  const id = assetIn(upload.key);
  if (id === undefined || (await documentOf(id, kit))?.status === 'waiting') return undefined;
  const parts = await kit.blobs.uploads.parts(upload);
  if (parts === 'gone') return undefined;
  const bytes = parts.reduce((sum, { size }) => sum + size, 0);
  return before?.bytes === bytes ? before : { bytes, since: kit.clock.now() };
}

async function documentOf(id: string, kit: AssetsKit): Promise<AssetDocument | undefined> {
  const row = await assetRow(id, kit);
  return row && assetOf(row);
}

/** Id of the asset that a blob belongs to; undefined for a key of another shape. */
function assetIn(key: string): string | undefined {
  return shape.exec(key)?.[1];
}

const shape = /^assets\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//;
