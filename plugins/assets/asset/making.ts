import { hasCode, unlessRefused } from '../../../core/base/fault.ts';
import { newPlaybackId, uuid } from '../../../core/base/ids.ts';
import type { AssetsKit } from '../config.ts';
import {
  type AssetFile,
  type AssetReference,
  type Assets,
  type FileOutput,
  keysOf,
  outputOf,
  type TakeOptions,
} from '../contract.ts';
import { accept } from './accept.ts';
import { asset } from './asset.ts';
import { type AssetDocument, assetOf, assetRow, folderOf, watchedRow } from './document.ts';
import { received } from './normalise.ts';

/** Assets, for the plugins that make them. */
export function making(
  kit: AssetsKit,
): Omit<Assets, 'ready' | 'admit' | 'take' | 'schema' | 'show'> & OwnMaking {
  const { actors, resources, clock } = kit;
  return {
    async begin({ id, account, name, source, userTags = {}, createdByTokenName = null }) {
      const settings = {
        ...{ id, account, name, source, createdByTokenName },
        playbackId: resources.nameBeside(id, newPlaybackId),
        userTags,
        createdAt: clock.now(),
      };
      // Also of one that was deleted: whoever begins it again has not heard of that yet.
      await actors.spawn(asset, id, settings, { cause: `asset/${id}` }).catch((error: unknown) => {
        if (!hasCode(error, 'actor.exists')) throw error;
      });
    },
    async ready(id, file, { isFirst } = {}) {
      checkPlace(id, file);
      try {
        const first = isFirst && { isFirst };
        const { value, context } = await actors.ask(asset, id, { type: 'ready', file, ...first });
        if (!isKept(value)) return 'gone';
        return !isFirst || context.file?.video.key === file.video.key ? 'ok' : 'late';
      } catch (error) {
        if (hasCode(error, 'actor.not_found')) return 'gone';
        throw error;
      }
    },
    async awaitAnew(id) {
      try {
        await actors.ask(asset, id, { type: 'await' });
        return true;
      } catch (error) {
        unlessRefused(error);
        return false;
      }
    },
    async fail(id, message) {
      await actors.ask(asset, id, { type: 'fail', message }).catch((error: unknown) => {
        // Its file has come, or it was deleted.
        if (!hasCode(error, 'actor.not_possible') && !hasCode(error, 'actor.not_found')) throw error;
      });
    },
    async find(id) {
      const row = await assetRow(id, kit);
      return row && referenceOf(assetOf(row));
    },
    async findByPlaybackId(playbackId) {
      const row = await watchedRow(playbackId, kit);
      return row && { ...referenceOf(assetOf(row)), id: row.id };
    },
  };
}

/** What this plugin alone asks of assets. */
interface OwnMaking {
  /** `isFirst`: it does not take the place of another file. `late`: there is one, and the blobs of this are the caller's to delete. */
  ready(id: string, file: AssetFile, options?: { readonly isFirst?: true }): Promise<'ok' | 'gone' | 'late'>;
}

/** A file elsewhere would not be erased with its asset. */
function checkPlace(id: string, file: AssetFile): void {
  for (const key of keysOf(file)) {
    if (!key.startsWith(folderOf(id)))
      throw new RangeError(`${key} is not below ${folderOf(id)}, where the blobs of asset ${id} belong`);
  }
}

function isKept(value: unknown): boolean {
  return typeof value === 'object';
}

function referenceOf({ status, account, name, playbackId, file }: AssetDocument): AssetReference {
  return { status, account, name, playbackId, ...(file && { file }) };
}

/**
 * Gives a file to its asset, unless another try was faster: then that one's counts. What the asset does not take is removed. `gone`:
 * it was deleted.
 */
export async function settle(
  made: AssetFile,
  options: {
    readonly id: string;
    readonly name: string;
    readonly signal: AbortSignal;
    readonly kit: AssetsKit;
  },
): Promise<FileOutput | 'gone'> {
  const { id, signal, kit } = options;
  const remove = () => kit.blobs.delete(keysOf(made));
  if (signal.aborted) {
    await remove();
    throw signal.reason;
  }
  const outcome = await making(kit).ready(id, made, { isFirst: true });
  if (outcome === 'ok') return outputOf(made, options);
  await remove();
  const row = outcome === 'late' ? await assetRow(id, kit) : undefined;
  const { file } = row ? assetOf(row) : {};
  return file ? outputOf(file, options) : 'gone';
}

/** `Assets.take` of the contract. */
export async function takeFilm(
  id: string,
  options: TakeOptions & { readonly film: ReadableStream<Uint8Array>; readonly kit: AssetsKit },
): Promise<FileOutput | 'gone'> {
  const { film, signal, kit, check } = options;
  const file = await received(film, { kit, signal });
  try {
    const row = await assetRow(id, kit);
    if (!row) return 'gone';
    const { name } = assetOf(row);
    const work = { assetId: id, workId: uuid(), name };
    const made = await accept(work, { file, signal, kit, storing: check });
    return await settle(made, { id, name, signal, kit });
  } finally {
    await file.discard();
  }
}
