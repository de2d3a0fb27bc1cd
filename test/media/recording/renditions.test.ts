import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { readSegmentIndex } from '../../../core/vod/segment-index.ts';
import type { PublishedPart } from '../../../runtime/media/publish/subscriber.ts';
import type { RecordingFeed } from '../../../runtime/media/recording/feed.ts';
import { bytesOf, checkFinished, Film, noSignal, place, until } from './fixtures.ts';
import { allShown, Broadcast, grantWith, metasIn, names } from './renditions-kit.ts';

describe('a take with renditions', () => {
  it('has a file for each beside its own, in the order of the profiles', async () => {
    using at = place();
    const recorder = await at.recorder();
    const broadcast = new Broadcast().on(recorder).segments(0, 5);
    expect(await recorder.files()).toMatchObject([{ sessionId: 's1', isFed: true, isFinished: false }]);
    broadcast.end();
    await until(async () => (await recorder.files())[0]!.bytes > 4 * 5 * (4000 + 2 * 2000));
    expect(readdirSync(at.folder)).toHaveLength(3);
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(take.renditions?.map(({ name }) => name)).toEqual(names);
    expect(await allShown(at.blobs, take, broadcast)).toEqual({ '480p': 'rrrrr', '240p': 'rrrrr' });
    const [first] = take.renditions!;
    expect(first).toMatchObject({
      share: 1,
      variant: { codecs: ['avc1.42c01e'], width: 426, height: 240, frameRate: 10 },
    });
    expect(first!.variant.bandwidth.average).toBeGreaterThan(2000 * 8 * 2);
    expect(first!.variant.bandwidth.average).toBeLessThan(3000 * 8 * 2);
    // Whatever else there is, the take is what it would be alone.
    expect(take.spec.tracks).toHaveLength(1);
    expect(await recorder.files()).toMatchObject([{ isFinished: true, isFed: false }]);
    // A source, its head and index, and two of each rendition.
    expect((await at.blobs.list('assets/s1/', { limit: 20 })).blobs).toHaveLength(7);
    await recorder.close();
  });

  it('waits for renditions whose end is encoded yet, up to the limit, and its own blobs do not', async () => {
    using at = place();
    for (const [sessionId, isEnded] of [
      ['ends', true],
      ['hangs', false],
    ] as const) {
      const settings = { renditionEnd: isEnded ? 600_000 : 300 };
      const recorder = await at.recorder({ settings });
      const source = new Film({ partBytes: 4000 });
      const rendition = new Film({ partBytes: 2000, seed: 7 });
      const grant = grantWith(sessionId);
      const feeds = [recorder.feed(grant)!, recorder.feed(grant, '480p')!] as const;
      feeds[0].begin(source.init);
      feeds[1].begin(rendition.init);
      const hand = (feed: RecordingFeed, film: Film, parts: number) => {
        for (let count = 0; count < parts; count += 1) {
          const { bytes, part } = film.next();
          feed.part(bytes, part as PublishedPart);
        }
      };
      hand(feeds[0], source, 12);
      hand(feeds[1], rendition, 6);
      feeds[0].end();
      const finishing = recorder.finish(sessionId, { signal: noSignal() });
      const folder = `assets/${sessionId}/`;
      await until(async () => (await at.blobs.list(folder, { limit: 9 })).blobs.length > 1);
      if (isEnded) {
        hand(feeds[1], rendition, 6);
        feeds[1].end();
      }
      const take = (await finishing)!;
      // What comes later is not taken.
      hand(feeds[1], rendition, 6);
      const [made] = take.renditions!;
      const own = readSegmentIndex(await bytesOf(at.blobs, made!.index.key))!;
      const isOwn = (number: number) => own.inits[own.segment(number).init]!.ofSource === undefined;
      expect(Array.from({ length: own.count }, (_, number) => isOwn(number))).toEqual([
        true,
        isEnded,
        isEnded,
      ]);
      await recorder.close();
    }
  });

  it('is not broken by any name of a profile', async () => {
    using at = place();
    const odd = [
      '../../x',
      'a/b',
      '.',
      '',
      '\u{1f4fa}'.repeat(250),
      '\ud800',
      '\ud801',
      'é',
      'e\u0301',
      'x\0',
    ];
    const recorder = await at.recorder();
    const broadcast = new Broadcast(odd).on(recorder).segments(0, 2);
    broadcast.end();
    await recorder.close();
    const again = await at.recorder();
    expect(existsSync(join(at.folder, '.aside'))).toBe(false);
    const take = (await again.finish('s1', { signal: noSignal() }))!;
    expect(take.renditions?.map(({ name }) => name)).toEqual(odd);
    expect(new Set(Object.values(await allShown(at.blobs, take, broadcast)))).toEqual(new Set(['rr']));
    await again.close();
  });

  it.each([
    ['at the beginning', (segment: number) => segment < 2, 'ssrrrrrr'],
    ['in the middle', (segment: number) => segment === 3 || segment === 4, 'rrrssrrr'],
    ['at the end', (segment: number) => segment > 5, 'rrrrrrss'],
    ['in half of a segment', (segment: number, part: number) => segment === 3 && part > 1, 'rrrsrrrr'],
    ['in one part', (segment: number, part: number) => segment === 2 && part === 1, 'rrsrrrrr'],
    [
      'in the beginning of a segment',
      // What comes behind it is taken for more of the segment before.
      (segment: number, part: number) => segment === 4 && part < 1,
      'rrrssrrr',
    ],
    ['everywhere', () => true, undefined],
  ])('shows the source where a rendition has a hole: %s', async (_, lacks, shown) => {
    using at = place();
    const recorder = await at.recorder();
    const broadcast = new Broadcast()
      .on(recorder)
      .segments(0, 8, (name, segment, part) => name === '240p' && lacks(segment, part));
    broadcast.end();
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(take.gaps).toBe(0);
    expect(await allShown(at.blobs, take, broadcast)).toEqual({
      '480p': 'rrrrrrrr',
      ...(shown !== undefined && { '240p': shown }),
    });
    const holed = take.renditions?.find(({ name }) => name === '240p');
    expect(holed?.share).toBe(shown && [...shown].filter((one) => one === 'r').length / 8);
    // A player must be able to decode what it borrows.
    if (holed) expect(holed.variant.codecs).toEqual(['avc1.42c01e', ...broadcast.source.init.codecs]);
    expect(holed?.variant.height).toBe(holed && 240);
    await recorder.close();
  });

  it('shows nothing of a rendition where the source has nothing', async () => {
    using at = place();
    const recorder = await at.recorder();
    const broadcast = new Broadcast()
      .on(recorder)
      .segments(0, 8, (name, segment) => name === 'source' && (segment === 2 || segment === 5));
    broadcast.end();
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(await allShown(at.blobs, take, broadcast)).toEqual({ '480p': 'rrrrrr', '240p': 'rrrrrr' });
    await recorder.close();
  });

  it('goes on after a restart and with the next publish, each file where it was', async () => {
    using at = place();
    const broadcast = new Broadcast();
    const before = await at.recorder();
    broadcast.on(before).segments(0, 3);
    await before.close();
    const recorder = await at.recorder();
    expect(await recorder.files()).toMatchObject([{ sessionId: 's1', isFed: false }]);
    broadcast.on(recorder).segments(3, 5).end();
    broadcast.on(recorder).segments(5, 7).end();
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    expect(await allShown(at.blobs, take, broadcast)).toEqual({ '480p': 'rrrrrrr', '240p': 'rrrrrrr' });
    const index = readSegmentIndex(await bytesOf(at.blobs, take.renditions![0]!.index.key));
    expect(Array.from({ length: 7 }, (_, number) => index.segment(number).isDiscontinuity)).toEqual([
      false,
      false,
      false,
      true,
      false,
      true,
      false,
    ]);
    await recorder.close();
  });

  it('takes nothing of them when it is over, and is answered the same until it is dropped with them', async () => {
    using at = place();
    const recorder = await at.recorder({ settings: { renditionEnd: 1 } });
    const broadcast = new Broadcast().on(recorder).segments(0, 2);
    const take = (await recorder.finish('s1', { signal: noSignal() }))!;
    broadcast.segments(2, 4);
    expect(recorder.feed(grantWith('s1'), '480p')).toBeUndefined();
    await recorder.close();
    const again = await at.recorder();
    expect(await again.finish('s1', { signal: noSignal() })).toEqual(take);
    expect(await again.files()).toHaveLength(1);
    await again.drop('s1');
    expect([await again.files(), readdirSync(at.folder)]).toEqual([[], []]);
    // Its blobs stay.
    expect(await allShown(at.blobs, take, broadcast)).toEqual({ '480p': 'rr', '240p': 'rr' });
    await again.close();
  });

  it('has them also when its process died after any step of finishing', async () => {
    // The source has three blobs (the last follows those of the renditions), each of the two renditions has two.
    const blobs = 7;
    for (let dies = 1; dies <= blobs; dies += 1) {
      using at = place();
      const store = { ...at.blobs };
      const begun: string[] = [];
      const done: string[] = [];
      // Whatever comes behind that call never happens in this process.
      store.adopt = async (key, ...given) => {
        if (begun.push(key) >= dies) await new Promise(() => {});
        const adopted = await at.blobs.adopt(key, ...given);
        done.push(key);
        return adopted;
      };
      const settings = { renditionWait: 3_600_000 };
      const recorder = await at.recorder({ blobs: store, settings });
      const broadcast = new Broadcast().on(recorder).segments(0, 2);
      broadcast.end();
      void recorder.finish('s1', { signal: noSignal() }).catch(() => {});
      // Each of the three files has come to such a call, has all its blobs, or waits for another one.
      const files = () =>
        metasIn(at.folder).map(({ takeId, rendition }) => ({ takeId, isSource: !rendition }));
      const countOf = (keys: string[], takeId: string) => keys.filter((key) => key.includes(takeId)).length;
      const rests = ({ takeId, isSource }: { takeId: string; isSource: boolean }) =>
        countOf(begun, takeId) > countOf(done, takeId) ||
        (countOf(done, takeId) === 2 && !(isSource && done.length === blobs - 1));
      await until(() => begun.length >= dies && files().every(rests));
      // The death: another process begins with what is on disk.
      const again = await at.recorder();
      const take = (await again.finish('s1', { signal: noSignal() }))!;
      expect(await allShown(at.blobs, take, broadcast)).toEqual({ '480p': 'rr', '240p': 'rr' });
      await again.close();
      await recorder.close();
    }
  });

  it('of an earlier version is finished as it was', async () => {
    using at = place();
    const recorder = await at.recorder();
    const broadcast = new Broadcast([]).on(recorder).segments(0, 2);
    broadcast.end();
    const take = await recorder.finish('s1', { signal: noSignal() });
    expect(take).not.toHaveProperty('renditions');
    await recorder.close();
    const path = join(at.folder, 's1', 'take.json');
    const { finished, ...meta } = JSON.parse(readFileSync(path, 'utf8'));
    expect(Object.keys(meta.sealed)).toEqual(['video', 'index', 'head', 'spec', 'startedAt']);
    writeFileSync(path, JSON.stringify(meta));
    const again = await at.recorder();
    expect(await again.finish('s1', { signal: noSignal() })).toEqual(take);
    expect(finished).toEqual(take);
    await again.close();
  });
});

describe('joining takes of several nodes', () => {
  it('joins each rendition, whichever nodes have it', async () => {
    using at = place();
    using elsewhere = place();
    using third = place();
    const nodes = [
      await at.recorder(),
      await elsewhere.recorder({ blobs: at.blobs }),
      await third.recorder({ blobs: at.blobs }),
    ];
    const broadcast = new Broadcast();
    const takes: FinishedRecording[] = [];
    const lacking = [
      (name: string) => name === '240p',
      () => false,
      (name: string, segment: number) => name === '480p' && segment === 5,
    ];
    for (const [number, node] of nodes.entries()) {
      broadcast
        .on(node)
        .segments(number * 3, number * 3 + 3, (name, segment) => lacking[number]!(name, segment));
      broadcast.end();
      takes.push((await node.finish('s1', { signal: noSignal() }))!);
    }
    expect(takes.map(({ renditions }) => renditions?.length)).toEqual([1, 2, 2]);
    const joining = { folder: 'assets/joined', signal: noSignal() };
    const joined = await nodes[0]!.join(takes, joining);
    expect(await allShown(at.blobs, joined, broadcast)).toEqual({
      '480p': 'rrrrrrrrr',
      '240p': 'sssrrrrrr',
    });
    expect(await nodes[0]!.join(takes, joining)).toEqual(joined);
    expect(readdirSync(at.folder).filter((name) => name.startsWith('.join'))).toEqual([]);
    // What it was made of stays.
    for (const one of takes) await checkFinished(at.blobs, one);
    // A source, its head and index, and two of each rendition.
    expect((await at.blobs.list('assets/joined/', { limit: 20 })).blobs).toHaveLength(7);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('does without a rendition whose blobs are gone', async () => {
    using at = place();
    const recorder = await at.recorder();
    const broadcast = new Broadcast();
    const takes: FinishedRecording[] = [];
    for (const [number, sessionId] of ['s1', 's2'].entries()) {
      broadcast
        .on(recorder, grantWith(sessionId))
        .segments(number * 2, number * 2 + 2)
        .end();
      takes.push((await recorder.finish(sessionId, { signal: noSignal() }))!);
    }
    await at.blobs.delete([takes[1]!.renditions![1]!.video.key]);
    const joined = await recorder.join(takes, { folder: 'assets/joined', signal: noSignal() });
    expect(await allShown(at.blobs, joined, broadcast)).toEqual({ '480p': 'rrrr' });
    await recorder.close();
  });
});
