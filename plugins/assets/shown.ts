import { type TObject, Type } from '@sinclair/typebox';
import type { Caller } from '../../core/http/caller.ts';
import { assetResource } from './contract.ts';
import type { AssetDocument } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { assetSchema, presentAsset, readOnly } from './present.ts';

/** The asset object as the API shows it, with what other plugins tell of it. */
export interface ShownAsset {
  readonly schema: TObject;
  /** Accepted and ignored in bodies. */
  readonly readOnly: readonly string[];
  present(document: AssetDocument, caller: Caller): Promise<Record<string, unknown>>;
}

export function shownAsset(kit: Pick<AssetsKit, 'resources'>): ShownAsset {
  const derived = kit.resources.derived(assetResource);
  const told = Object.entries(derived.schemas).map(([name, schema]) => [name, Type.Optional(schema)]);
  const { $id } = assetSchema;
  return {
    schema: Type.Object(
      { ...assetSchema.properties, ...Object.fromEntries(told) },
      { ...($id !== undefined && { $id }), additionalProperties: false },
    ),
    readOnly: [...readOnly, ...Object.keys(derived.schemas)],
    present: (document, caller) => derived.complete(presentAsset(document, caller), caller),
  };
}
