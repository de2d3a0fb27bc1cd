import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTakeFile } from '../../../runtime/media/recording/file/open-take-file.ts';
import { FreeSpace } from '../../../runtime/media/recording/free-space.ts';
import { recorderDefaults } from '../../../runtime/media/recording/limits.ts';
import { fileIo, OpenFiles } from '../../../runtime/media/recording/open-files.ts';
import { places } from '../../../runtime/media/recording/places.ts';
import { Spool } from '../../../runtime/media/recording/spool.ts';
import type { TakeIo } from '../../../runtime/media/recording/take-file.ts';
import { clock, Film } from './fixtures.ts';

interface World {
  readonly root: string;
  readonly files: OpenFiles;
  spool(sessionId: string): Spool;
}

/** Spools in a folder of their own. `onIo`: before each read and write. */
async function inWorld(
  work: (world: World) => Promise<void>,
  onIo: (path: string) => void = () => {},
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'millrace-spool-'));
  const files = new OpenFiles({ clock, most: 10 });
  const around = {
    ...{ clock, files, openTakeFile, limits: recorderDefaults, finishing: places(1) },
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
      const sealing = long.seal(new Uint8Array(65_536)).finally(() => {
        isSealed = true;
      });
      while (!isSealed) {
        const { bytes, part } = film.next();
        other.part(bytes, part);
        asked.push(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await sealing)?.spec.duration).toBe(3000);
    },
    (path) => {
      if (path.includes('long')) asked[asked.length - 1] += 1;
    },
  );
  const total = asked.reduce((sum, count) => sum + count, 0);
  // It was gone through three times: looked through, completed and hashed.
  expect(total).toBeGreaterThan(80);
  expect(Math.max(...asked)).toBeLessThan(total / 10);
});
