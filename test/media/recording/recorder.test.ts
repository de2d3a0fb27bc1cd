import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../kit/silent-log.ts';
import {
  checkFinished,
  Film,
  feedSegments,
  fileOf,
  grantOf,
  noSignal,
  type Place,
  place,
  told,
  until,
} from './fixtures.ts';

describe('a take', () => {
  it('grows on disk, and becomes a blob with its hashes, a head and an index', async () => {
    using at = place();
    const recorder = await at.recorder();
    const film = new Film();
    const feed = recorder.feed(grantOf('s1'))!;
    feed.begin(film.init);
    const fed = feedSegments(feed, film, 5);
    expect(fed).toHaveLength(20);
    await until(() => feed.written.count === 4);
    const { at: from, size } = feed.written.segment(1);
    expect(told([await new Response(await feed.written.read(from, from + size)).bytes()])).toEqual(
      told(fed.slice(4, 8)),
    );
    expect(feed.issues).toEqual([]);
    feed.end();
    const take = await recorder.finish('s1', { signal: noSignal() });
    expect(take).toMatchObject({
      gaps: 0,
      startedAt: 1_800_000_000_000,
      spec: { format: 'mp4', duration: 10 },
    });
    expect(take?.video.key).toMatch(/^assets\/s1\/[0-9a-f-]{36}\.mp4$/);
    expect(told(await checkFinished(at.blobs, take!))).toEqual(told(fed));
    // What was being read can be read on.
    expect(told([await new Response(await feed.written.read(from, from + size)).bytes()])).toEqual(
      told(fed.slice(4, 8)),
    );
    await recorder.close();
  });

  it('goes on with the next publish of its session, and hears no more of the one before', async () => {
    using at = place();
    const recorder = await at.recorder();
    const film = new Film();
    const first = recorder.feed(grantOf('s1'))!;
    first.begin(film.init);
    const fed = feedSegments(first, film, 2);
    const second = recorder.feed(grantOf('s1'))!;
    second.begin(film.init);
    expect(feedSegments(first, new Film(), 1)).toEqual([]);
    first.end();
    feedSegments(second, film, 2, fed);
    expect(await recorder.files()).toMatchObject([
      { sessionId: 's1', streamId: 'stream-of-s1', isFed: true, isFinished: false },
    ]);
    second.end();
    expect(await recorder.files()).toMatchObject([{ isFed: false }]);
    const take = await recorder.finish('s1', { signal: noSignal() });
    expect(told(await checkFinished(at.blobs, take!))).toEqual(told(fed));
    expect(Array.from({ length: 4 }, (_, n) => second.written.segment(n).isDiscontinuity)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(take?.gaps).toBe(0);
    await recorder.close();
  });

  it('goes on after a restart, and its hashes are those of all of it', async () => {
    using at = place();
    const film = new Film({ partBytes: 300_000 });
    const before = await at.recorder();
    const first = before.feed(grantOf('s1'))!;
    first.begin(film.init);
    // More than one extent.
    const fed = feedSegments(first, film, 10);
    await before.close();
    expect(before.feed(grantOf('s1'))).toBeUndefined();

    const recorder = await at.recorder();
    const [found] = await recorder.files();
    expect(found).toMatchObject({ sessionId: 's1', isFed: false, isFinished: false });
    expect(found?.bytes).toBeGreaterThan(12_000_000);
    const feed = recorder.feed(grantOf('s1'))!;
    await until(() => feed.written.count === 10);
    feed.begin(film.init);
    feedSegments(feed, film, 2, fed);
    feed.end();
    const take = await recorder.finish('s1', { signal: noSignal() });
    expect(told(await checkFinished(at.blobs, take!))).toEqual(told(fed));
    await recorder.close();
  });

  it('is not there for a publish that is not recorded, or of a session that no folder can be named after', async () => {
    using at = place();
    const recorder = await at.recorder();
    const { recording: _, ...plain } = grantOf('s1');
    expect(recorder.feed(plain)).toBeUndefined();
    expect(recorder.feed(grantOf('../s1'))).toBeUndefined();
    expect(existsSync(at.folder)).toBe(false);
    await recorder.close();
  });

  it('keeps no file open that nobody feeds', async () => {
    using at = place();
    const recorder = await at.recorder();
    for (let number = 0; number < 12; number++) {
      const film = new Film({ seed: number + 1 });
      const feed = recorder.feed(grantOf(`s${number}`))!;
      feed.begin(film.init);
      feedSegments(feed, film, 1);
      feed.end();
      await until(() => feed.written.count === 1);
    }
    await until(() => openFiles(at).length === 0);
    const take = await recorder.finish('s3', { signal: noSignal() });
    expect(await checkFinished(at.blobs, take!)).toHaveLength(1);
    await recorder.close();
  });
});

describe('finishing', () => {
  it('can be dropped at any moment, also while the disk is asked to keep it', async () => {
    using at = place();
    const recorder = await at.recorder({ settings: { sync: 1 } });
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 8 }, (_, number) => `s${round}-${number}`);
      await Promise.all(
        names.map(async (sessionId, number) => {
          const film = new Film({ partBytes: 1000 });
          const feed = recorder.feed(grantOf(sessionId))!;
          feed.begin(film.init);
          feedSegments(feed, film, 1 + number);
          feed.end();
          expect(await recorder.finish(sessionId, { signal: noSignal() })).toBeDefined();
          await recorder.drop(sessionId);
        }),
      );
      expect(readdirSync(at.folder)).toEqual([]);
    }
    await recorder.close();
  });

  it('is done once for all who ask, and answered the same after a restart, until it is dropped', async () => {
    using at = place();
    const recorder = await at.recorder();
    const film = new Film();
    const feed = recorder.feed(grantOf('s1'))!;
    feed.begin(film.init);
    feedSegments(feed, film, 2);
    const [one, other] = await Promise.all([
      recorder.finish('s1', { signal: noSignal() }),
      recorder.finish('s1', { signal: noSignal() }),
    ]);
    expect(one).toBeDefined();
    expect(other).toBe(one);
    const { bytes, part } = film.next();
    expect(feed.part(bytes, part)).toBe(false);
    expect(recorder.feed(grantOf('s1'))).toBeUndefined();
    await recorder.close();

    const again = await at.recorder();
    expect(await again.files()).toMatchObject([{ sessionId: 's1', isFinished: true }]);
    expect(again.feed(grantOf('s1'))).toBeUndefined();
    expect(await again.finish('s1', { signal: noSignal() })).toEqual(one);
    await again.drop('s1');
    expect(await again.files()).toEqual([]);
    expect(readdirSync(at.folder)).toEqual([]);
    expect(await again.finish('s1', { signal: noSignal() })).toBeUndefined();
    // Its blobs stay.
    expect(await checkFinished(at.blobs, one!)).toHaveLength(2);
    await again.drop('s1');
    await again.close();
  });

  it('of nothing gives nothing, also after a restart', async () => {
    using at = place();
    const recorder = await at.recorder();
    expect(await recorder.finish('s1', { signal: noSignal() })).toBeUndefined();
    const film = new Film();
    recorder.feed(grantOf('s1'))!.begin(film.init);
    expect(await recorder.finish('s1', { signal: noSignal() })).toBeUndefined();
    expect(recorder.feed(grantOf('s1'))).toBeUndefined();
    // A publish that never played, and ended, was none.
    const other = recorder.feed(grantOf('s2'))!;
    other.begin(film.init);
    other.end();
    expect((await recorder.files()).map(({ sessionId }) => sessionId)).toEqual(['s1']);
    expect(recorder.feed(grantOf('s2'))).toBeDefined();
    await recorder.drop('s1');
    await recorder.close();
    const again = await at.recorder();
    expect(await again.files()).toEqual([]);
    await again.close();
  });

  it('goes on where a store failed, and knows what it had put', async () => {
    using at = place();
    const store = { ...at.blobs };
    const recorder = await at.recorder({ blobs: store });
    const film = new Film();
    const feed = recorder.feed(grantOf('s1'))!;
    feed.begin(film.init);
    const fed = feedSegments(feed, film, 2);
    // The video is put, and the answer to that is lost.
    let calls = 0;
    store.adopt = async (...given) => {
      await at.blobs.adopt(...given);
      calls += 1;
      throw new Error('no answer');
    };
    await expect(recorder.finish('s1', { signal: noSignal() })).rejects.toThrow('no answer');
    expect(calls).toBe(1);
    expect(recorder.feed(grantOf('s1'))).toBeUndefined();
    await recorder.close();

    const again = await at.recorder();
    const take = await again.finish('s1', { signal: noSignal() });
    expect(told(await checkFinished(at.blobs, take!))).toEqual(told(fed));
    expect((await at.blobs.list('assets/s1/', { limit: 10 })).blobs).toHaveLength(3);
    await again.close();
  });

  it('is left by a caller who gives up, and done for the next', async () => {
    using at = place();
    const store = { ...at.blobs };
    const recorder = await at.recorder({ blobs: store });
    const film = new Film();
    const feed = recorder.feed(grantOf('s1'))!;
    feed.begin(film.init);
    feedSegments(feed, film, 1);
    const held = Promise.withResolvers<void>();
    store.adopt = async (...given) => {
      await held.promise;
      return at.blobs.adopt(...given);
    };
    const caller = new AbortController();
    const finishing = recorder.finish('s1', { signal: caller.signal });
    caller.abort(new Error('gave up'));
    await expect(finishing).rejects.toThrow('gave up');
    held.resolve();
    const take = await recorder.finish('s1', { signal: noSignal() });
    expect(await checkFinished(at.blobs, take!)).toHaveLength(1);
    await recorder.close();
  });
});

describe('at the start', () => {
  it('what makes no sense is moved aside and told, and the others are taken up', async () => {
    using at = place();
    const before = await at.recorder();
    const film = new Film();
    const feed = before.feed(grantOf('good'))!;
    feed.begin(film.init);
    feedSegments(feed, film, 1);
    await before.close();
    for (const [name, text] of Object.entries({ torn: '{"version":1,"sess', other: '{"version":2}' })) {
      mkdirSync(join(at.folder, name));
      writeFileSync(join(at.folder, name, 'take.json'), text);
      writeFileSync(join(at.folder, name, 'source.mp4'), 'media');
    }
    // To open a pipe would wait for ever.
    for (const [name, file] of [
      ['pipe', 'take.json'],
      ['piped', 'source.mp4'],
    ]) {
      cpSync(join(at.folder, 'good'), join(at.folder, name), { recursive: true });
      rmSync(join(at.folder, name, file));
      execFileSync('mkfifo', [join(at.folder, name, file)]);
    }
    // Their process died between two steps of making or removing them.
    for (const name of ['empty', 'begun']) mkdirSync(join(at.folder, name));
    writeFileSync(join(at.folder, 'begun', 'take.json.new'), '{"vers');
    const lines: string[] = [];
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (line: string) => lines.push(line),
      with: () => log,
    };
    const recorder = await at.recorder({ log });
    expect(lines).toHaveLength(4);
    expect((await recorder.files()).map(({ sessionId }) => sessionId)).toEqual(['good']);
    expect(readdirSync(join(at.folder, '.aside')).sort()).toEqual(['other', 'pipe', 'piped', 'torn']);
    expect(readdirSync(at.folder).sort()).toEqual(['.aside', 'good']);
    expect(fileOf(at.folder, '.aside', 'torn', 'source.mp4').toString()).toBe('media');
    await recorder.close();
  });

  it('what cannot be moved aside is told and passed over', async () => {
    using at = place();
    mkdirSync(join(at.folder, 'lost+found'), { recursive: true });
    writeFileSync(join(at.folder, 'lost+found', 'inode'), '');
    // Nothing can be moved there.
    writeFileSync(join(at.folder, '.aside'), '');
    const lines: string[] = [];
    const log = { ...silentLog, error: (line: string) => void lines.push(line) };
    const recorder = await at.recorder({ log });
    expect(lines).toEqual(['a recording cannot be read or moved aside']);
    expect(await recorder.files()).toEqual([]);
    await recorder.close();
  });
});

describe('joining', () => {
  it('makes one take of those of several nodes, again and again the same', async () => {
    using at = place();
    using elsewhere = place();
    const recorder = await at.recorder();
    const other = await elsewhere.recorder({ blobs: at.blobs });
    const film = new Film({ partBytes: 200_000 });
    const fed: Uint8Array[] = [];
    const takes = [];
    for (const node of [recorder, other]) {
      const feed = node.feed(grantOf('s1'))!;
      feed.begin(film.init);
      feedSegments(feed, film, 6, fed);
      feed.end();
      takes.push((await node.finish('s1', { signal: noSignal() }))!);
    }
    // Less room under way than there is to feed.
    using third = place();
    const settings = { queue: 1 << 20, queuePerFile: 1 << 20 };
    const narrow = await third.recorder({ blobs: at.blobs, settings });
    const joining = { folder: 'assets/joined', signal: noSignal() };
    const take = await narrow.join(takes, joining);
    expect(take).toMatchObject({ gaps: 0, spec: { duration: 24 } });
    expect(told(await checkFinished(at.blobs, take))).toEqual(told(fed));
    expect(await narrow.join(takes, joining)).toEqual(take);
    expect(await narrow.files()).toEqual([]);
    for (const one of takes) await checkFinished(at.blobs, one);
    await Promise.all([recorder, other, narrow].map((one) => one.close()));
  });
});

function openFiles({ folder }: Place): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) && path.endsWith('source.mp4') ? [path] : [];
    } catch {
      return [];
    }
  });
}
