import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PublishedInit, PublishedPart } from '../../../runtime/media/publish/subscriber.ts';
import { joinMark } from '../../../runtime/media/recording/meta.ts';
import { type RecorderSettings, recorderDefaults } from '../../../runtime/media/recording/settings.ts';
import { type DiskFile, diskFile } from '../../../runtime/media/recording/thread/file-io.ts';
import { FileWriter, mostInits } from '../../../runtime/media/recording/thread/file-writer.ts';
import { FreeSpace } from '../../../runtime/media/recording/thread/free-space.ts';
import { fragmentOf, initOf } from '../../recording/fragments.ts';
import { clock, Film } from './fixtures.ts';

interface World {
  readonly root: string;
  writer(sessionId: string): FileWriter;
}

/** Recording files in a folder of their own. `onIo`: before each read and write. */
async function inWorld(
  work: (world: World) => Promise<void>,
  options: { onIo?: (path: string) => void; settings?: Partial<RecorderSettings> } = {},
): Promise<void> {
  const { onIo = () => {} } = options;
  const root = mkdtempSync(join(tmpdir(), 'millrace-spool-'));
  const settings = { ...recorderDefaults, reserve: 1, renditionReserve: 1, ...options.settings };
  const around = {
    clock,
    inOrder: <T>(work: () => Promise<T>) => work(),
    settings,
    space: new FreeSpace(root, { clock, settings }),
    open(path: string): DiskFile {
      const io = diskFile(path);
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
        sync: () => io.sync(),
        close: () => io.close(),
      };
    },
    log: () => {},
  };
  let number = 0;
  try {
    await work({
      root,
      writer(sessionId) {
        number += 1;
        const meta = { streamId: 'x', folder: `assets/${sessionId}`, takeId: `t${number}`, gaps: 0 };
        const folder = join(root, sessionId);
        return new FileWriter(
          { number, isMade: existsSync(folder), folder, meta: { version: 1, sessionId, ...meta } },
          around,
        );
      },
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function feed(writer: FileWriter, parts: number, film = new Film({ partBytes: 100 })): Film {
  writer.begin(film.init);
  for (let number = 0; number < parts; number += 1) {
    const { bytes, part } = film.next();
    writer.part(bytes, part);
  }
  return film;
}

it('writes nothing in its folder once it was left, whatever was under way', () =>
  inWorld(async ({ root, writer: open }) => {
    const writer = open('s1');
    feed(writer, 1);
    const syncing = writer.sync();
    await writer.leave();
    rmSync(join(root, 's1'), { recursive: true });
    await syncing;
    expect(writer.needsSync).toBe(false);
    expect(readdirSync(root)).toEqual([]);
  }));

it('lets others write while a long file is looked through and completed', async () => {
  /** How often the long file was asked between two turns of the others. */
  const asked: number[] = [0];
  await inWorld(
    async ({ writer: open }) => {
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
      onIo(path) {
        if (path.includes('long')) asked[asked.length - 1] += 1;
      },
    },
  );
  const total = asked.reduce((sum, count) => sum + count, 0);
  // It was gone through three times: looked through, completed and hashed.
  expect(total).toBeGreaterThan(50);
  expect(Math.max(...asked)).toBeLessThan(total / 10);
});

/** A second of sound at this rate. */
function soundAt(rate: number): { init: PublishedInit; bytes: Uint8Array; part: PublishedPart } {
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
    async ({ root, writer: open }) => {
      const writer = open('s1');
      const send = (rate: number) => {
        const { init, bytes, part } = soundAt(rate);
        writer.begin(init);
        writer.part(bytes, part);
        writer.end();
        return writer.note();
      };
      for (let number = 0; number < mostInits; number += 1)
        expect(send(44_100 + number).trouble).toBeUndefined();
      for (const rate of [44_100 + mostInits, 44_101 + mostInits])
        expect(send(rate)).toMatchObject({
          trouble: expect.stringMatching(/settings/),
          reasons: ['changes'],
        });
      expect(send(44_101)).toMatchObject({ gaps: 2, reasons: [] });
      expect(writer.note().trouble).toBeUndefined();
      expect((await writer.seal())?.spec?.tracks).toHaveLength(mostInits);
      expect(statSync(join(root, 's1', 'take.json')).size).toBeLessThan(200_000);
      // A joined file has the settings of all its parts.
      const joined = open(`${joinMark}1`);
      for (let number = 0; number <= mostInits; number += 1) {
        const { init, bytes, part } = soundAt(44_100 + number);
        joined.begin(init);
        joined.part(bytes, part);
      }
      expect(joined.note()).toMatchObject({ gaps: 0 });
    },
    { settings: { retry: 0 } },
  ));
