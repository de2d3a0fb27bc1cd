import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recorderDefaults } from '../../../runtime/media/recording/settings.ts';
import { FreeSpace } from '../../../runtime/media/recording/thread/free-space.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { checkFinished, Film, noSignal, place, until } from './fixtures.ts';
import { allShown, Broadcast, grantWith, metasIn } from './renditions-kit.ts';

describe('a rendition that cannot be had', () => {
  it('is left out when its blobs are refused, and its source is not', async () => {
    using at = place();
    const store = { ...at.blobs };
    let refused = 0;
    store.adopt = async (key, ...given) => {
      const sizes = await at.blobs.head(key);
      expect(sizes).toBeUndefined();
      if (key === refusedKey) {
        refused += 1;
        throw new Error('no room for it');
      }
      return at.blobs.adopt(key, ...given);
    };
    const warned: unknown[] = [];
    const log = { ...silentLog, warn: (line: string, fields?: object) => void warned.push([line, fields]) };
    const recorder = await at.recorder({ blobs: store, log, settings: { uploadWait: 1 } });
    const broadcast = new Broadcast().on(recorder).segments(0, 2);
    broadcast.end();
    await until(() => metasIn(at.folder).length === 3);
    const { takeId } = metasIn(at.folder).find(({ rendition }) => rendition?.name === '480p')!;
    const refusedKey = `assets/s1/${takeId}.mp4`;
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(await allShown(at.blobs, take, broadcast)).toEqual({ '240p': 'rr' });
    expect(refused).toBe(3);
    expect(warned.at(-1)).toMatchObject(['a recording lacks one of its renditions', { rendition: '480p' }]);
    await recorder.drop('s1');
    expect(readdirSync(at.folder)).toEqual([]);
    await recorder.close();
  });

  it('is waited for so long and no longer', async () => {
    using at = place();
    const store = { ...at.blobs };
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    store.adopt = async (key, path, options) => {
      // The first is that of the source: renditions are completed behind it.
      if (path.includes('s1.')) {
        isHeld = true;
        await held.promise;
      }
      return at.blobs.adopt(key, path, options);
    };
    const recorder = await at.recorder({ blobs: store, settings: { renditionWait: 200 } });
    const broadcast = new Broadcast().on(recorder).segments(0, 2);
    broadcast.end();
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect([isHeld, take.renditions]).toEqual([true, undefined]);
    expect(await checkFinished(at.blobs, take)).toHaveLength(2);
    // It is not removed under the hands of who still works at it.
    const dropped = recorder.drop('s1');
    held.resolve();
    await dropped;
    expect(readdirSync(at.folder)).toEqual([]);
    await recorder.close();
  });

  it('is left out when its file cannot be read', async () => {
    using at = place();
    const before = await at.recorder();
    const broadcast = new Broadcast().on(before).segments(0, 2);
    await before.close();
    const spools = readdirSync(at.folder).filter((name) => name !== 's1');
    for (const name of spools) writeFileSync(join(at.folder, name, 'source.mp4'), 'nonsense');
    writeFileSync(join(at.folder, spools[0]!, 'take.json'), '{"version":1,"sess');
    const recorder = await at.recorder({ settings: { uploadWait: 1 } });
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(take.renditions).toBeUndefined();
    expect(await allShown(at.blobs, take, broadcast)).toEqual({});
    expect(readdirSync(join(at.folder, '.aside'))).toEqual([spools[0]]);
    await recorder.close();
  });

  it('is not begun without a source that is recorded', async () => {
    using at = place();
    const recorder = await at.recorder();
    expect(recorder.feed(grantWith('s1'), '480p')).toBeUndefined();
    const broadcast = new Broadcast().on(recorder).segments(0, 1);
    expect(recorder.feed(grantWith('s1'), '480p')).toBeDefined();
    const { recording: _, ...plain } = grantWith('s1');
    expect(recorder.feed(plain, '480p')).toBeUndefined();
    broadcast.end();
    await recorder.close();
  });

  it('is what is given up first where the queue is full', async () => {
    using at = place();
    const recorder = await at.recorder({ settings: { queue: 64 * 4000, queuePerFile: 64 * 4000 } });
    const [source, rendition] = [undefined, '480p'].map((name) => {
      const feed = recorder.feed(grantWith('s1'), name)!;
      const film = new Film({ partBytes: 3500 });
      feed.begin(film.init);
      // In one turn: nothing is written in between.
      return (count: number) => {
        let taken = 0;
        for (let part = 0; part < count; part += 1) {
          const { bytes, part: about } = film.next();
          if (feed.part(bytes, about)) taken += 1;
        }
        return taken;
      };
    });
    expect([source!(20), rendition!(40), source!(20)]).toEqual([20, expect.any(Number), 20]);
    expect(rendition!(40)).toBe(0);
    await recorder.drop('s1');
    await recorder.close();
  });

  it('is what is given up first where the disk is nearly full', async () => {
    using at = place();
    const { bavail, bsize } = (await import('node:fs')).statfsSync('/tmp');
    const free = bavail * bsize;
    const settings = { ...recorderDefaults, reserve: free / 4, renditionReserve: free / 4, reserveSlack: 1 };
    const space = new FreeSpace(at.folder, { clock: virtualClock({ start: 0 }), settings });
    expect([space.isLowFor('source'), space.isLowFor('rendition')]).toEqual([false, false]);
    space.wrote(free * 0.6);
    expect([space.isLowFor('source'), space.isLowFor('rendition')]).toEqual([false, true]);
    space.wrote(free * 0.3);
    expect([space.isLowFor('source'), space.isLowFor('rendition')]).toEqual([true, true]);
  });

  it('says so with one word, and counts apart from what is missing of recordings', async () => {
    using at = place();
    const settings = { renditionReserve: Number.MAX_SAFE_INTEGER, renditionEnd: 1 };
    const recorder = await at.recorder({ settings });
    const grant = grantWith('s1');
    const feeds = [recorder.feed(grant)!, recorder.feed(grant, '480p')!];
    const films = [new Film({ partBytes: 1000 }), new Film({ partBytes: 1000 })];
    for (const [number, feed] of feeds.entries()) feed.begin(films[number]!.init);
    const send = () =>
      feeds.forEach((feed, number) => {
        const { bytes, part } = films[number]!.next();
        feed.part(bytes, part);
      });
    for (let count = 0; count < 8; count += 1) send();
    await until(() => feeds[1]!.issues.length > 0);
    expect(feeds.map(({ issues }) => issues)).toEqual([
      [],
      ['Renditions are missing from a part of the recording; it shows the source there.'],
    ]);
    expect(recorder.totals()).toMatchObject({ gaps: { low: 0 }, renditionGaps: { low: 1 } });
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect([take.gaps, take.renditions]).toEqual([0, undefined]);
    expect(await checkFinished(at.blobs, take)).toHaveLength(2);
    await recorder.close();
  });
});
