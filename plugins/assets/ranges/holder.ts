import { madeOnce } from '../asset/owner.ts';
import type { AssetsKit } from '../config.ts';

type HolderKit = Pick<AssetsKit, 'resources' | 'clock'>;

/** The node that has the pieces of an asset's file. Undefined: there are none. */
export async function holderOf(
  assetId: string,
  { resources }: Pick<AssetsKit, 'resources'>,
): Promise<string | undefined> {
  const row = await resources.get(kind, assetId);
  return row && (JSON.parse(row.body) as Holder).node;
}

/** Makes `node` the one that receives the pieces, unless another was faster. Returns the one that is. */
export async function becomeHolder(assetId: string, { node, kit }: Becoming): Promise<string> {
  return (await madeOnce<Holder>({ kind, id: assetId }, () => ({ node }), kit)).node;
}

/** Forgets the holder: all of it, or only `node`, if it is gone for good. */
export async function forgetHolder(assetId: string, { node, kit }: Partial<Becoming> & { kit: HolderKit }) {
  const { resources } = kit;
  const row = await resources.get(kind, assetId);
  if (!row || (node !== undefined && (JSON.parse(row.body) as Holder).node !== node)) return;
  // After a conflict the row is a new one, or is gone.
  await resources.write({ rows: [{ ...row, kind, body: null, indexes: {} }], events: [] });
}

interface Holder {
  readonly node: string;
}

interface Becoming {
  readonly node: string;
  readonly kit: HolderKit;
}

const kind = 'upload-holder';
