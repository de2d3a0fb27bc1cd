import type { Kit } from '../../sdk/plugin.ts';
import { settled } from './asset.ts';

/** Rows of assets that Mux has from the first second of a broadcast, and we when it is over; by the id that both have. */
export const liveAssetKind = 'mux-live-asset';

export interface LiveAsset {
  readonly id: string;
  readonly account: string;
  readonly streamId: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** May be repeated. */
export async function storeLiveAsset(
  { id, account, streamId, createdAt }: LiveAsset,
  { resources }: Pick<Kit, 'resources'>,
): Promise<void> {
  const row = { kind: liveAssetKind, id, account, createdAt, name: '', revision: 0, indexes: {} };
  await resources.write({ rows: [{ ...row, body: JSON.stringify({ streamId }) }], events: [] });
}

export async function dropLiveAsset(id: string, { resources }: Pick<Kit, 'resources'>): Promise<void> {
  const row = await resources.get(liveAssetKind, id);
  if (row)
    await resources.write({ rows: [{ ...row, kind: liveAssetKind, body: null, indexes: {} }], events: [] });
}

export async function liveAssetOf(
  id: string,
  { account, resources }: { account: string; resources: Kit['resources'] },
): Promise<LiveAsset | undefined> {
  const row = await resources.get(liveAssetKind, id);
  if (row?.account !== account) return undefined;
  const { streamId } = JSON.parse(row.body) as { streamId: string };
  return { id, account, streamId, createdAt: row.createdAt };
}

/** The asset of a broadcast that is not over. */
export function presentLiveAsset({ id, streamId, createdAt }: LiveAsset): Record<string, unknown> {
  return {
    ...{ id, created_at: String(Math.floor(createdAt / 1000)), status: 'preparing' },
    ...settled,
    ...{ progress: { state: 'live', progress: -1 }, master_access: 'none' },
    ...{ is_live: true, ingest_type: 'live_rtmp', live_stream_id: streamId },
  };
}
