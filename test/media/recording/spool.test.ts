import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FedInit, FedPart } from '../../../runtime/media/recording/feed.ts';
import { openTakeFile } from '../../../runtime/media/recording/file/open-take-file.ts';
import { joinMark } from '../../../runtime/media/recording/found-takes.ts';
import { FreeSpace } from '../../../runtime/media/recording/free-space.ts';
import { type RecorderLimits, recorderDefaults } from '../../../runtime/media/recording/limits.ts';
import { fileIo, OpenFiles } from '../../../runtime/media/recording/open-files.ts';
import { places } from '../../../runtime/media/recording/places.ts';
import { Spool } from '../../../runtime/media/recording/spool.ts';
import type { TakeIo } from '../../../runtime/media/recording/take-file.ts';
import { readMeta } from '../../../runtime/media/recording/take-meta.ts';
import { fragmentOf, initOf } from '../../recording/fragments.ts';
import { clock, Film } from './fixtures.ts';

interface World {
  readonly root: string;
  readonly files: OpenFiles;
  spool(sessionId: string): Spool;
}

/** Spools in a folder of their own. `onIo`: before each read and write. */
async function inWorld(
  work: (world: World) => Promise<void>,
  options: { onIo?: (path: string) => void; limits?: Partial<RecorderLimits> } = {},
): Promise<void> {
  const { onIo = () => {} } = options;
  const root = mkdtempSync(join(tmpdir(), 'millrace-spool-'));
  const files = new OpenFiles({ clock, most: 10 });
  const around = {
    ...{ clock, files, openTakeFile, finishing: places(1) },
    limits: { ...recorderDefaults, ...options.limits },
    space: new FreeSpace(root, { clock, reserve: 1, slack: 1, interval: 1000 }),
    io(path: string): TakeIo {
      const io = fileIo(files, path);
      return {
        get size() {
          return io.size;
        },
        read(at, into) {
          onIo(path);
          return io.read(at, into);
        },
        write(at, bytes) {
          onIo(path);
          io.write(at, bytes);
        },
        truncate: (size) => io.truncate(size),
        close: () => io.close(),
      };
    },
    log: () => {},
  };
  let take = 0;
  try {
    await work({
      ...{ root, files },
      spool(sessionId) {
        take += 1;
        const meta = { streamId: 'x', folder: `assets/${sessionId}`, takeId: `t${take}`, gaps: 0 };
        const folder = join(root, sessionId);
        return new Spool(
          { take, isMade: existsSync(folder), folder, meta: { version: 1, sessionId, ...meta } },
          around,
        );
      },
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function feed(spool: Spool, parts: number, film = new Film({ partBytes: 100 })): Film {
  spool.begin(film.init);
  for (let number = 0; number < parts; number += 1) {
    const { bytes, part } = film.next();
    spool.part(bytes, part);
  }
  return film;
}

it('writes nothing in its folder once it was left, whatever was under way', () =>
  inWorld(async ({ root, files, spool: open }) => {
    const spool = open('s1');
    feed(spool, 1);
    const syncing = spool.sync();
    await spool.leave();
    rmSync(join(root, 's1'), { recursive: true });
    await syncing;
    expect(spool.needsSync).toBe(false);
    expect(readdirSync(root)).toEqual([]);
    expect(files.count).toBe(0);
  }));

it('lets others write while a long file is looked through and completed', async () => {
  /** How often the long file was asked between two turns of the others. */
  const asked: number[] = [0];
  await inWorld(
    async ({ spool: open }) => {
      feed(open('long'), 6000);
      const other = open('other');
      const film = feed(other, 1);
      // As another process finds it.
      const long = open('long');
      asked.length = 1;
      asked[0] = 0;
      let isSealed = false;
      const sealing = long.seal().finally(() => {
        isSealed = true;
      });
      while (!isSealed) {
        const { bytes, part } = film.next();
        other.part(bytes, part);
        asked.push(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await sealing)?.spec?.duration).toBe(3000);
    },
    {
      limits: { hashPiece: 65_536 },
      onIo(path) {
        if (path.includes('long')) asked[asked.length - 1] += 1;
      },
    },
  );
  const total = asked.reduce((sum, count) => sum + count, 0);
  // It was gone through three times: looked through, completed and hashed.
  expect(total).toBeGreaterThan(80);
  expect(Math.max(...asked)).toBeLessThan(total / 10);
});

/** A second of sound at this rate. */
function soundAt(rate: number): { init: FedInit; bytes: Uint8Array; part: FedPart } {
  // AudioSpecificConfig with the rate told as a number, ISO/IEC 14496-3 1.6.2.1: 5 + 4 + 24 + 4 bits.
  const config = ((2n << 32n) | (0xfn << 28n) | (BigInt(rate) << 4n) | 2n) << 3n;
  const audio = Uint8Array.from({ length: 5 }, (_, at) => Number((config >> BigInt(32 - 8 * at)) & 0xffn));
  const samples = [{ dts: 0, duration: rate, size: 20 }];
  return {
    init: initOf({ video: new Uint8Array(0), audio }),
    bytes: fragmentOf({ audio: samples }),
    part: { wallStart: 1_700_000_000_000, duration: 1, isIndependent: true, startsSegment: true },
  };
}

it('records so many settings of an encoder and no more, and those that were there again', () =>
  inWorld(
    async ({ spool: open }) => {
      const spool = open('s1');
      const send = (rate: number) => {
        const { init, bytes, part } = soundAt(rate);
        spool.begin(init);
        spool.part(bytes, part);
        spool.end();
        return spool.note();
      };
      for (const rate of [44_100, 44_101, 44_102]) expect(send(rate).trouble).toBeUndefined();
      for (const rate of [44_103, 44_104])
        expect(send(rate)).toMatchObject({
          trouble: expect.stringMatching(/settings/),
          reasons: ['changes'],
        });
      expect(send(44_101)).toMatchObject({ gaps: 2, reasons: [] });
      expect(spool.note().trouble).toBeUndefined();
      expect((await spool.seal())?.spec?.tracks).toHaveLength(3);
      // What is joined of several takes has the settings of all.
      const joined = open(`${joinMark}1`);
      for (const rate of [44_100, 44_101, 44_102, 44_103]) {
        const { init, bytes, part } = soundAt(rate);
        joined.begin(init);
        joined.part(bytes, part);
      }
      expect(joined.note()).toMatchObject({ gaps: 0 });
    },
    { limits: { inits: 3, retry: 0 } },
  ));

it('writes no take.json that it would not read again, however many settings and whatever the store says', () =>
  inWorld(async ({ root, spool: open }) => {
    const spool = open('s1');
    for (let rate = 44_100; rate < 44_100 + recorderDefaults.inits + 5; rate += 1) {
      const { init, bytes, part } = soundAt(rate);
      spool.begin(init);
      spool.part(bytes, part);
      spool.end();
    }
    const upload = { key: 'assets/s1/t1.mp4', id: 'x'.repeat(recorderDefaults.metaBytes), partSize: 1 };
    await expect(spool.save({ upload })).rejects.toThrow(/take.json would have \d+ bytes; at most 4194304/);
    const sealed = await spool.seal();
    expect(sealed?.spec?.tracks).toHaveLength(recorderDefaults.inits);
    const path = join(root, 's1', 'take.json');
    expect(statSync(path).size).toBeLessThan(recorderDefaults.metaBytes / 20);
    expect((await readMeta(join(root, 's1'), { bytes: recorderDefaults.metaBytes })).sealed).toEqual(sealed);
  }));
