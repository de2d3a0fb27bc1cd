import { bytesOf as bytesIn, milliseconds } from '../../../core/base/config-fields.ts';
import { isAccepted } from '../../../core/base/fault.ts';
import { regularly } from '../../../core/base/timing.ts';
import type { Stop } from '../../../core/plugin/plugin.ts';
import { rowPages } from '../../../core/plugin/row-pages.ts';
import { type Amount, Removed } from '../../../core/plugin/sweep-counts.ts';
import { endedAt } from '../../../machines/asset.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetSource, bytesOf } from '../contract.ts';
import { asset } from './asset.ts';
import { type AssetDocument, assetKind, assetOf } from './document.ts';

/** Assets read at a time. */
export const pageSize = 100;
/** Time between two checks, ms. */
const interval = 600_000;

/**
 * Deletes assets beyond the configured age, and the oldest assets of accounts beyond the configured bytes. Runs on one node at a
 * time. Does nothing without such a limit in the config.
 */
export function retaining(kit: AssetsKit): Stop {
  const bounds = boundsOf(kit);
  if (bounds.length === 0) return () => {};
  const count = counting(kit, bounds);
  return regularly(interval, {
    clock: kit.clock,
    work: (signal) => look(bounds, { kit, signal, count }),
    failed: (error) =>
      kit.log.warn('assets that are kept no longer could not be deleted; it is tried again', { error }),
  });
}

/** Names in the config, and in `source.type` of assets. */
const sourceOf = {
  recording: 'recording',
  upload: 'directUpload',
  import: 'url',
  transcode: 'transcode',
} as const;
type Kind = keyof typeof sourceOf;

interface Bounds {
  readonly kind: Kind;
  /** ms */
  readonly age: number | undefined;
  readonly bytes: number | undefined;
}

function boundsOf({ config: { retention } }: AssetsKit): Bounds[] {
  return (Object.keys(sourceOf) as Kind[])
    .map((kind) => {
      const { age, bytes } = retention[kind];
      return {
        kind,
        age: age === undefined ? undefined : milliseconds(age),
        bytes: bytes === undefined ? undefined : bytesIn(bytes),
      };
    })
    .filter(({ age, bytes }) => age !== undefined || bytes !== undefined);
}

interface Look {
  readonly kit: AssetsKit;
  readonly signal: AbortSignal;
  count(kind: Kind, bytes: number): void;
}

/** One check. Logs what was deleted, also when it fails half way. */
async function look(bounds: readonly Bounds[], { kit, signal, count }: Look): Promise<void> {
  const done = new Map<Kind, Removed>();
  const drop = async (kind: Kind, document: AssetDocument) => {
    const size = sizeOf(document);
    if (!(await dropped(document, kit))) return;
    const removed = done.get(kind) ?? new Removed();
    removed.add(size);
    done.set(kind, removed);
    count(kind, size);
  };
  try {
    for (const { kind, age, bytes } of bounds) {
      if (age !== undefined) await dropOld(kind, { age, kit, signal, drop });
      if (bytes !== undefined) await dropBeyond(kind, { bytes, kit, signal, drop });
    }
  } finally {
    const told: Record<string, Amount> = {};
    for (const [kind, removed] of done) told[kind] = removed;
    if (done.size > 0) kit.log.info('assets that are kept no longer were deleted', told);
  }
}

interface Walk {
  readonly kit: AssetsKit;
  readonly signal: AbortSignal;
  drop(kind: Kind, document: AssetDocument): Promise<void>;
}

async function dropOld(kind: Kind, { age, ...walk }: Walk & { age: number }): Promise<void> {
  const before = walk.kit.clock.now() - age;
  for await (const document of assetsOf(kind, { ...walk, descending: false })) {
    // An asset ends after it was created, so all that follow are younger.
    if (document.createdAt > before) return;
    const end = endedAt(document);
    if (end !== undefined && end <= before) await walk.drop(kind, document);
  }
}

/** Keeps the newest assets of each account that fit. Everything older than the first that does not fit is deleted. */
async function dropBeyond(kind: Kind, { bytes, ...walk }: Walk & { bytes: number }): Promise<void> {
  /** Bytes by account. */
  const taken = new Map<string, number>();
  for await (const document of assetsOf(kind, { ...walk, descending: true })) {
    const size = sizeOf(document);
    if (size === 0) continue;
    const sum = (taken.get(document.account) ?? 0) + size;
    taken.set(document.account, sum);
    if (sum > bytes) await walk.drop(kind, document);
  }
}

/** In the order of creation, a page at a time. */
async function* assetsOf(
  kind: Kind,
  { kit, signal, descending }: Omit<Walk, 'drop'> & { descending: boolean },
): AsyncGenerator<AssetDocument> {
  const type: AssetSource['type'] = sourceOf[kind];
  const query = {
    filters: [{ path: ['source', 'type'], is: { contains: type } }],
    order: [{ by: 'createdAt', descending }],
  } as const;
  const { resources } = kit;
  for await (const rows of rowPages(assetKind, { ...query, page: pageSize, resources }))
    for (const row of rows) {
      signal.throwIfAborted();
      const document = assetOf(row);
      if (document.source.type === type) yield document;
    }
}

/** False: it has changed, or was deleted. An asset that waits for its file is never deleted. */
async function dropped(document: AssetDocument, { actors }: AssetsKit): Promise<boolean> {
  const end = endedAt(document);
  return end !== undefined && isAccepted(actors.ask(asset, document.id, { type: 'delete', endedAt: end }));
}

/** Bytes of all its blobs. */
function sizeOf({ file }: AssetDocument): number {
  return file ? bytesOf(file) : 0;
}

function counting({ metrics }: AssetsKit, bounds: readonly Bounds[]): Look['count'] {
  const assets = metrics.counter(
    'millrace_retention_deleted_total',
    'Assets that were kept no longer, by kind.',
  );
  const bytes = metrics.counter('millrace_retention_deleted_bytes_total', 'Bytes that those took.');
  // Kinds with a limit are shown from the start, as 0.
  for (const { kind } of bounds) for (const family of [assets, bytes]) family.with({ kind });
  return (kind, size) => {
    assets.with({ kind }).add();
    bytes.with({ kind }).add(size);
  };
}
