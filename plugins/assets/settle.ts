import { type AssetFile, type FileOutput, keysOf, outputOf } from './contract.ts';
import { assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { assetRow } from './lookup.ts';
import { making } from './making.ts';

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
