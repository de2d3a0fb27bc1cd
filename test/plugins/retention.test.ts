import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import { pageSize, retaining } from '../../plugins/assets/asset/retention.ts';
import type { AssetsKit } from '../../plugins/assets/config.ts';
import type { AssetSource } from '../../plugins/assets/contract.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { type World, world } from '../kit/world.ts';

const shipped = (await allPlugins()).filter(({ id }) => ['accounts', 'tasks', 'assets'].includes(id));
/** Of each asset with a file: video, head and index as `storeFile` makes them. */
const size = 1116;
type Retention = Record<'recording' | 'upload' | 'import' | 'transcode', { age?: string; bytes?: string }>;

/** A world that keeps no more than this, and what a test does there. */
async function archive(retention: Partial<Retention>) {
  const maker = assetMaker();
  let kit: AssetsKit | undefined;
  const plugins = shipped.map((plugin): Plugin => {
    if (plugin.id !== 'assets') return plugin;
    const start: Plugin['start'] = (given) => {
      kit = given as unknown as AssetsKit;
      return plugin.start?.(given as Kit);
    };
    return { ...plugin, start };
  });
  const w = await world({ plugins: [...plugins, maker.plugin], config: { assets: { retention } } });
  await w.settle();
  const begin = async ({ account = 'a', type = 'recording' }: Made = {}) => {
    const id = uuid();
    const source = (type === 'recording' ? { type, sessionId: `session of ${id}` } : { type }) as AssetSource;
    await maker.assets.begin({ id, name: 'A film', account, source });
    return id;
  };
  return {
    w,
    begin,
    maker,
    kit: () => kit as AssetsKit,
    async made(given: Made = {}) {
      const id = await begin(given);
      await maker.assets.ready(id, await storeFile(w.blobs, id));
      await w.settle();
      return id;
    },
    /** Which of these are there, by their place among them. */
    async left(ids: readonly string[]) {
      const found = await Promise.all(ids.map((id) => maker.assets.find(id)));
      return found.flatMap((one, place) => (one ? [place] : []));
    },
    told: () =>
      w.lines.map((line) => JSON.parse(line)).filter(({ message }) => message?.includes('kept no longer')),
  };
}

interface Made {
  readonly account?: string;
  readonly type?: 'recording' | 'directUpload' | 'url';
}

const metric = async (w: World, name: string) => {
  const text = await (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
  return text.split('\n').find((line) => line.startsWith(`${name} `));
};

describe('by age', () => {
  it('deletes what came longer ago, with its blobs, and says how much', async () => {
    const a = await archive({ recording: { age: '2h' } });
    await using w = a.w;
    const first = await a.made();
    await w.advance('60m');
    const second = await a.made();
    await w.advance('59m');
    expect(await a.left([first, second])).toEqual([0, 1]);
    await w.advance('11m');
    expect(await a.left([first, second])).toEqual([1]);
    expect((await w.blobs.list(`assets/${first}/`, { limit: 10 })).blobs).toEqual([]);
    const events = (await w.events()).filter(({ event }) => event === 'asset.deleted');
    expect(events.map(({ payload }) => payload.asset.id)).toEqual([first]);
    expect(a.told()).toMatchObject([{ recording: { count: 1, bytes: size } }]);
    expect(await metric(w, 'millrace_retention_deleted_total{kind="recording"}')).toMatch(/ 1$/);
    expect(await metric(w, 'millrace_retention_deleted_bytes_total{kind="recording"}')).toMatch(/ 1116$/);
    await w.advance('1h');
    expect(await a.left([second])).toEqual([]);
  });

  it('counts from the file, not from when it was asked for', async () => {
    const a = await archive({ upload: { age: '1h' } });
    await using w = a.w;
    const late = await a.begin({ type: 'directUpload' });
    await w.advance('3h');
    await a.maker.assets.ready(late, await storeFile(w.blobs, late));
    await w.advance('59m');
    expect(await a.left([late])).toEqual([0]);
    await w.advance('12m');
    expect(await a.left([late])).toEqual([]);
  });

  it('spares what waits, and takes what failed', async () => {
    const a = await archive({ recording: { age: '1h', bytes: '1KB' } });
    await using w = a.w;
    const waiting = await a.begin();
    const failed = await a.begin();
    await a.maker.assets.fail(failed, 'The disk is gone.');
    await w.advance('3h');
    expect(await a.left([waiting, failed])).toEqual([0]);
  });

  it('leaves those of other kinds alone', async () => {
    const a = await archive({ import: { age: '1h' } });
    await using w = a.w;
    const ids = [await a.made(), await a.made({ type: 'directUpload' }), await a.made({ type: 'url' })];
    await w.advance('75m');
    expect(await a.left(ids)).toEqual([0, 1]);
  });

  it('goes through all pages, and stops at the first that is young', async () => {
    const a = await archive({ recording: { age: '1h' } });
    await using w = a.w;
    const ids: string[] = [];
    for (let count = 0; count < pageSize + 20; count += 1) ids.push(await a.made());
    await w.advance('30m');
    const young = await a.made();
    await w.advance('45m');
    expect(await a.left([...ids, young])).toEqual([ids.length]);
    expect(a.told()).toMatchObject([{ recording: { count: ids.length, bytes: ids.length * size } }]);
  });
});

describe('by bytes', () => {
  it('deletes the oldest of each account until the others fit', async () => {
    const a = await archive({ recording: { bytes: '3KB' } });
    await using w = a.w;
    const [own, theirs]: string[][] = [[], []];
    for (let count = 0; count < 4; count += 1) {
      own.push(await a.made());
      if (count < 2) theirs.push(await a.made({ account: 'b' }));
      await w.advance('1m');
    }
    const other = await a.made({ type: 'directUpload' });
    await w.advance('10m');
    expect(await a.left(own)).toEqual([2, 3]);
    expect(await a.left([...theirs, other])).toEqual([0, 1, 2]);
    expect(a.told()).toMatchObject([{ recording: { count: 2, bytes: 2 * size } }]);
  });

  it('keeps none that does not fit alone', async () => {
    const a = await archive({ upload: { bytes: '1KB' } });
    await using w = a.w;
    const id = await a.made({ type: 'directUpload' });
    await w.advance('10m');
    expect(await a.left([id])).toEqual([]);
  });
});

it('obeys both bounds at once', async () => {
  const a = await archive({ recording: { age: '1h', bytes: '3KB' } });
  await using w = a.w;
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    ids.push(await a.made());
    await w.advance('1m');
  }
  await w.advance('10m');
  expect(await a.left(ids)).toEqual([1, 2]);
  await w.advance('1h');
  expect(await a.left(ids)).toEqual([]);
});

it('keeps everything where nothing is bounded, and sets no timer', async () => {
  const a = await archive({});
  await using w = a.w;
  const id = await a.made();
  await w.advance('5h');
  expect(await a.left([id])).toEqual([0]);
  expect(retaining({ ...a.kit(), clock: undefined } as never)()).toBeUndefined();
});

it('deletes each once when two nodes have the duty for a moment', async () => {
  const a = await archive({ recording: { age: '1h' } });
  await using w = a.w;
  const ids = [await a.made(), await a.made(), await a.made()];
  await w.advance('59m');
  const stops = [retaining(a.kit()), retaining(a.kit())];
  await w.advance('1h');
  await Promise.all(stops.map((stop) => stop()));
  expect(await a.left(ids)).toEqual([]);
  expect((await w.events()).filter(({ event }) => event === 'asset.deleted')).toHaveLength(3);
  const counted = a.told().reduce((sum, { recording }) => sum + recording.count, 0);
  expect(counted).toBe(3);
});

it('ends in the midst of it, says what it did, and another goes on', async () => {
  const a = await archive({});
  await using w = a.w;
  const ids = [await a.made(), await a.made(), await a.made()];
  await w.advance('2h');
  const { kit } = a;
  const config = {
    ...kit().config,
    retention: { recording: { age: '1h' }, upload: {}, import: {}, transcode: {} },
  };
  const asking = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let asked = 0;
  const actors = new Proxy(kit().actors, {
    get: (inner, name) =>
      name !== 'ask'
        ? Reflect.get(inner, name)
        : async (...given: Parameters<typeof inner.ask>) => {
            asked += 1;
            if (asked === 2) {
              asking.resolve();
              await goOn.promise;
            }
            return inner.ask(...given);
          },
  });
  const stop = retaining({ ...kit(), config, actors } as AssetsKit);
  await asking.promise;
  const stopped = stop();
  goOn.resolve();
  await stopped;
  expect([asked, await a.left(ids)]).toEqual([2, [expect.any(Number)]]);
  expect(a.told()).toMatchObject([{ recording: { count: 2 } }]);
  const another = retaining({ ...kit(), config } as AssetsKit);
  await w.advance('1s');
  await another();
  expect(await a.left(ids)).toEqual([]);
});

it('does not delete what became another meanwhile', async () => {
  const a = await archive({});
  await using w = a.w;
  const id = await a.begin({ type: 'directUpload' });
  await a.maker.assets.fail(id, 'It was no film.');
  await w.advance('2h');
  const { kit } = a;
  const config = {
    ...kit().config,
    retention: { recording: {}, upload: { age: '1h' }, import: {}, transcode: {} },
  };
  const actors = new Proxy(kit().actors, {
    get: (inner, name) =>
      name !== 'ask'
        ? Reflect.get(inner, name)
        : async (...given: Parameters<typeof inner.ask>) => {
            // Its file comes after the list was read.
            await a.maker.assets.ready(id, await storeFile(w.blobs, id));
            return inner.ask(...given);
          },
  });
  const stop = retaining({ ...kit(), config, actors } as AssetsKit);
  await w.advance('1s');
  await stop();
  expect(await a.maker.assets.find(id)).toMatchObject({ status: 'ready' });
  expect(a.told()).toEqual([]);
});

it('tries again when the store was away', async () => {
  const a = await archive({});
  await using w = a.w;
  const id = await a.made();
  await w.advance('2h');
  const { kit } = a;
  const config = {
    ...kit().config,
    retention: { recording: { age: '1h' }, upload: {}, import: {}, transcode: {} },
  };
  let isDown = true;
  const list: AssetsKit['resources']['list'] = (...given) =>
    isDown ? Promise.reject(new Error('the store does not answer')) : kit().resources.list(...given);
  const resources = { ...kit().resources, list };
  const stop = retaining({ ...kit(), config, resources } as AssetsKit);
  await w.advance('5m');
  expect(await a.left([id])).toEqual([0]);
  isDown = false;
  await w.advance('6m');
  expect(await a.left([id])).toEqual([]);
  await stop();
});
