import { definePlugin, type Kit, type Plugin } from '../../core/plugin.ts';
import { type AssetFile, type AssetReference, assets } from '../../plugins/assets/contract.ts';

/** The contract of assets, kept as plain rows, for tests of what makes assets. */
export function standInAssets(): StandInAssets {
  let kit: Kit | undefined;
  const own = () => {
    if (!kit) throw new Error('the stand-in was not started');
    return kit;
  };
  const state = { isDown: false };
  const read = async (id: string) => {
    if (state.isDown) throw new Error('assets do not answer');
    const row = await own().resources.get(kind, id);
    return row && { asset: JSON.parse(row.body) as Stored, revision: row.revision };
  };
  const write = async (asset: Stored, { revision, event }: { revision: number; event: string }) => {
    const { resources, clock } = own();
    const at = clock.now();
    const { id, account, name } = asset;
    const eventId = `${id}/${revision}/${event}`;
    const head = { id: eventId, createdAt: at, timestamp: at, event };
    const body = JSON.stringify({ ...head, payload: { asset } });
    const row = { kind, id, account, name, createdAt: 1, body: JSON.stringify(asset), indexes: {}, revision };
    const events = [{ id: eventId, type: event, account, stream: '', body }];
    if ((await resources.write({ rows: [row], events })) !== 'ok') throw new Error('others write this asset');
  };
  const set = async (id: string, change: Partial<Stored>, event: string): Promise<'ok' | 'gone'> => {
    const found = await read(id);
    if (!found || found.asset.isDeleted) return 'gone';
    if (found.asset.status === change.status && !change.isDeleted) return 'ok';
    await write({ ...found.asset, ...change }, { revision: found.revision, event });
    return 'ok';
  };
  const plugin = definePlugin({
    id: 'assets',
    summary: 'stands in for the assets plugin',
    provides: [assets],
    emits: { 'asset.created': '', 'asset.ready': '', 'asset.failed': '', 'asset.deleted': '' },
    start(given) {
      // That of the process that began last: a former one may have died.
      kit = given as unknown as Kit;
      const find = async (id: string): Promise<AssetReference | undefined> => {
        const { asset } = (await read(id)) ?? {};
        return asset && !asset.isDeleted ? asset : undefined;
      };
      given.provide(assets, {
        async begin({ id, ...rest }) {
          if (await read(id)) return;
          const asset: Stored = { ...rest, id, status: 'waiting', playbackId: id.slice(0, 16) };
          await write(asset, { revision: 0, event: 'asset.created' });
        },
        ready: (id, file) => set(id, { status: 'ready', file }, 'asset.ready'),
        async fail(id, message) {
          await set(id, { status: 'failed', message }, 'asset.failed');
        },
        find,
        findByPlaybackId: async () => undefined,
      });
      return undefined;
    },
  }) as unknown as Plugin;
  return {
    plugin,
    state,
    async get(id) {
      return (await read(id))?.asset;
    },
    async ready(id, file) {
      await set(id, { status: 'ready', file }, 'asset.ready');
    },
    async delete(id) {
      await set(id, { isDeleted: true }, 'asset.deleted');
    },
  };
}

export interface StandInAssets {
  readonly plugin: Plugin;
  readonly state: { isDown: boolean };
  get(id: string): Promise<Stored | undefined>;
  ready(id: string, file: AssetFile): Promise<void>;
  delete(id: string): Promise<void>;
}

interface Stored {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly source: { readonly type: string; readonly sessionId: string };
  readonly createdByTokenName?: string;
  readonly status: 'waiting' | 'ready' | 'failed';
  readonly playbackId: string;
  readonly file?: AssetFile;
  readonly message?: string;
  readonly isDeleted?: boolean;
}

const kind = 'stand-in-asset';
