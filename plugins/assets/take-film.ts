import { uuid } from '../../core/base/ids.ts';
import { accept } from './accept.ts';
import type { FileOutput, TakeOptions } from './contract.ts';
import { assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { assetRow } from './lookup.ts';
import { received } from './received.ts';
import { settle } from './settle.ts';

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
