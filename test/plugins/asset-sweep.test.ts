import { expect, it } from 'vitest';
import { milliseconds } from '../../core/base/config-fields.ts';
import { uuid } from '../../core/base/ids.ts';
import { Metrics } from '../../core/base/metrics.ts';
import type { Amount } from '../../core/plugin/sweep-counts.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import type { AssetDocument } from '../../plugins/assets/asset/document.ts';
import { sweeping } from '../../plugins/assets/asset/sweep.ts';
import type { AssetsKit } from '../../plugins/assets/config.ts';
import type { AssetFile } from '../../plugins/assets/contract.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { storeFile } from '../kit/asset-maker.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { world } from '../kit/world.ts';

const partSize = 5 * 1_048_576;

/** The sweep with a store of rows and nothing beside it, so that weeks pass at once. */
function swept({ unfinishedFor = '7d', blobs: kept }: { unfinishedFor?: string; blobs?: Blobs } = {}) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1), idle });
  const blobs = kept ?? modelBlobs(() => clock.now());
  const rows = new Map<string, StoredResource>();
  const said: { message: string; [name: string]: unknown }[] = [];
  const say = (message: string, more: object = {}) => void said.push({ message, ...more });
  const resources = {
    get: async (kind: string, id: string) => rows.get(`${kind} ${id}`),
    async write({ rows: written }: { rows: readonly (StoredResource & { kind: string })[] }) {
      for (const row of written) rows.set(`${row.kind} ${row.id}`, row);
      return 'ok';
    },
  };
  const metrics = new Metrics();
  const log = { debug: say, info: say, warn: say, error: say };
  const begin = () =>
    sweeping({ blobs, clock, log, resources, metrics, config: { unfinishedFor } } as unknown as AssetsKit);
  let stop = begin();
  return {
    blobs,
    said,
    counted: () => metrics.text(),
    asset(status: AssetDocument['status'], { id = uuid(), file }: { id?: string; file?: AssetFile } = {}) {
      const body = JSON.stringify({ id, status, file: file ?? null, updatedAt: clock.now() });
      rows.set(`asset ${id}`, { kind: 'asset', id, body } as unknown as StoredResource);
      return id;
    },
    forget: (id: string) => void rows.delete(`asset ${id}`),
    advance: (duration: string) => clock.advance(milliseconds(duration)),
    async restart() {
      await stop();
      stop = begin();
    },
    async keysOf(id: string) {
      const page = await blobs.list(`assets/${id}/`, { limit: 1000 });
      return page.blobs.map(({ key }) => key);
    },
  };
}

/** Blobs are streams, which take their turns. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

const last = ({ said }: ReturnType<typeof swept>) =>
  said.findLast(({ message }) => message === 'assets were swept');

it('erases blobs of no asset when two sweeps found them, and not before they are an hour old', async () => {
  const one = swept();
  await one.advance('50m');
  const id = uuid();
  await storeFile(one.blobs, id);
  // Found by none: ten minutes old.
  await one.advance('15m');
  expect([await one.keysOf(id), last(one)]).toEqual([
    expect.objectContaining({ length: 3 }),
    expect.objectContaining({ suspected: 0 }),
  ]);
  // Found by one.
  await one.advance('1h');
  expect(await one.keysOf(id)).toHaveLength(3);
  expect(last(one)).toMatchObject({ looked: 4, removed: { blobs: { count: 0, bytes: 0 } }, suspected: 3 });
  await one.advance('1h');
  expect(await one.keysOf(id)).toEqual([]);
  expect(last(one)).toMatchObject({
    looked: 4,
    removed: { blobs: { count: 3, bytes: 1116 }, uploads: { count: 0 } },
    suspected: 0,
  });
});

it('spares what was found once by mistake', async () => {
  const one = swept();
  const id = uuid();
  const file = await storeFile(one.blobs, id);
  await one.advance('61m');
  expect(last(one)).toMatchObject({ suspected: 3 });
  one.asset('ready', { id, file });
  await one.advance('2d');
  expect(await one.keysOf(id)).toHaveLength(3);
});

it('keeps what an asset names, and what one that waits may name yet', async () => {
  const one = swept();
  const [ready, waiting] = [uuid(), one.asset('waiting')];
  one.asset('ready', { id: ready, file: await storeFile(one.blobs, ready) });
  await storeFile(one.blobs, waiting);
  await one.advance('60d');
  expect([await one.keysOf(ready), await one.keysOf(waiting)]).toMatchObject([{ length: 3 }, { length: 3 }]);
});

it('erases what was stored of an asset beside its file', async () => {
  const one = swept();
  const id = uuid();
  await storeFile(one.blobs, id, 'node-a');
  one.asset('ready', { id, file: await storeFile(one.blobs, id) });
  await one.advance('4h');
  const names = ['source-head.mp4', 'source.idx', 'source.mp4'];
  expect(await one.keysOf(id)).toEqual(names.map((name) => `assets/${id}/${name}`));
});

it('keeps what was exported of an asset as long as the asset is there, whatever its file is by then', async () => {
  const one = swept();
  const id = uuid();
  const [car, stray] = [`assets/${id}/exports/bafkreia.car`, `assets/${id}/bafkreia.car`];
  one.asset('ready', { id, file: await storeFile(one.blobs, id) });
  for (const key of [car, stray]) await one.blobs.put(key, new Uint8Array(9));
  await one.advance('4h');
  expect(await one.keysOf(id)).toContain(car);
  expect(await one.keysOf(id)).not.toContain(stray);
  one.asset('ready', { id, file: await storeFile(one.blobs, id, 'other') });
  await one.advance('60d');
  expect(await one.keysOf(id)).toHaveLength(4);
  expect(await one.keysOf(id)).toContain(car);
  one.forget(id);
  await one.advance('3h');
  expect(await one.keysOf(id)).toEqual([]);
});

it('erases what was exported of an asset that was deleted meanwhile', async () => {
  const one = swept();
  const car = `assets/${uuid()}/exports/bafkreia.car`;
  await one.blobs.put(car, new Uint8Array(9));
  await one.advance('4h');
  expect(await one.blobs.head(car)).toBeUndefined();
});

it('keeps what is there of a failed asset for a week', async () => {
  const one = swept();
  const id = one.asset('failed');
  await storeFile(one.blobs, id);
  await one.advance('167h');
  expect(await one.keysOf(id)).toHaveLength(3);
  await one.advance('3h');
  expect(await one.keysOf(id)).toEqual([]);
});

it('touches nothing that is none of its own', async () => {
  const one = swept();
  const others = [
    'assets/readme.txt',
    'assets/pictures/a.png',
    `other/${uuid()}/a.mp4`,
    `assets2/${uuid()}/a.mp4`,
  ];
  for (const key of others) await one.blobs.put(key, new Uint8Array(1));
  await one.advance('10d');
  for (const key of others) expect([key, await one.blobs.head(key)]).toEqual([key, expect.anything()]);
});

it('erases nothing where the blobs are of another deployment, or of a store that is gone, and says so', async () => {
  const first = swept();
  const id = uuid();
  await storeFile(first.blobs, id);
  await first.advance('1m');
  const second = swept({ blobs: first.blobs });
  await second.advance('10d');
  expect(await second.keysOf(id)).toHaveLength(3);
  expect(second.said.at(-1)?.message).toContain('belong to another deployment');
});

it('knows its own blobs again, and suspects them anew, when another node has the duty', async () => {
  const one = swept();
  const id = uuid();
  await storeFile(one.blobs, id);
  await one.advance('90m');
  expect(last(one)).toMatchObject({ suspected: 3 });
  await one.restart();
  await one.advance('10m');
  expect([last(one), await one.keysOf(id)]).toMatchObject([{ suspected: 3 }, { length: 3 }]);
  await one.advance('1h');
  expect(await one.keysOf(id)).toEqual([]);
});

it('goes through all pages, and remembers no more than it may', async () => {
  const one = swept();
  const id = uuid();
  for (let n = 0; n < 10_500; n += 1) await one.blobs.put(`assets/${id}/part-${n}.mp4`, new Uint8Array(1));
  await one.advance('61m');
  expect(last(one)).toMatchObject({ looked: 10_501, suspected: 10_000 });
  await one.advance('1h');
  expect(last(one)).toMatchObject({ removed: { blobs: { count: 10_000 } }, suspected: 500 });
  await one.advance('1h');
  expect(await one.keysOf(id)).toEqual([]);
});

it('tries again when the blob store was away', async () => {
  const one = swept();
  await one.advance('1m');
  const id = uuid();
  await storeFile(one.blobs, id);
  const { list } = one.blobs;
  one.blobs.list = () => Promise.reject(new Error('away'));
  await one.advance('5h');
  expect(one.said.at(-1)?.message).toContain('could not be swept');
  one.blobs.list = list;
  await one.advance('2h');
  expect(await one.keysOf(id)).toEqual([]);
});

it('aborts an upload that is a week old and has not grown for a day, and no other', async () => {
  const one = swept();
  const begin = (folder: string) => one.blobs.uploads.begin(`${folder}/a.mp4`, { partSize });
  const [still, growing, asked, foreign] = [
    await begin(`assets/${uuid()}`),
    await begin(`assets/${uuid()}`),
    await begin(`assets/${one.asset('waiting')}`),
    await begin('other/folder'),
  ];
  const left = async () => {
    const uploads = [still, growing, asked, foreign];
    const found = await Promise.all(uploads.map((upload) => one.blobs.uploads.parts(upload)));
    return found.map((parts) => parts !== 'gone');
  };
  const bytes = new Uint8Array(partSize);
  await one.blobs.uploads.part(still, { number: 1, bytes });
  await one.advance('7d');
  expect(await left()).toEqual([true, true, true, true]);
  // From now on they are old enough, and looked at.
  await one.advance('20h');
  await one.blobs.uploads.part(growing, { number: 1, bytes });
  await one.advance('6h');
  expect(await left()).toEqual([false, true, true, true]);
  expect(
    one.said.filter(({ removed }) => (removed as { uploads: Amount } | undefined)?.uploads.count === 1),
  ).toHaveLength(1);
  await one.advance('20h');
  expect(await left()).toEqual([false, false, true, true]);
  await one.advance('60d');
  expect(await left()).toEqual([false, false, true, true]);
});

it('is told how long an upload may be unfinished', async () => {
  const one = swept({ unfinishedFor: '30d' });
  const upload = await one.blobs.uploads.begin(`assets/${uuid()}/a.mp4`, { partSize });
  await one.advance('30d');
  await one.advance('23h');
  expect(await one.blobs.uploads.parts(upload)).not.toBe('gone');
  await one.advance('3h');
  expect(await one.blobs.uploads.parts(upload)).toBe('gone');
});

it('is a duty of the program', async () => {
  const plugins = (await allPlugins()).filter(({ id }) => ['accounts', 'assets', 'tasks'].includes(id));
  await using w = await world({ plugins });
  const id = uuid();
  await storeFile(w.blobs, id);
  await w.advance('2h');
  await w.advance('5m');
  expect(await w.blobs.head(`assets/${id}/source.mp4`)).toBeUndefined();
});
