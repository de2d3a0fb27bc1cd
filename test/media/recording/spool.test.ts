import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTakeFile } from '../../../runtime/media/recording/file/open-take-file.ts';
import { FreeSpace } from '../../../runtime/media/recording/free-space.ts';
import { recorderDefaults } from '../../../runtime/media/recording/limits.ts';
import { fileIo, OpenFiles } from '../../../runtime/media/recording/open-files.ts';
import { Spool } from '../../../runtime/media/recording/spool.ts';
import { clock, Film } from './fixtures.ts';

it('writes nothing in its folder once it was left, whatever was under way', async () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-spool-'));
  try {
    const files = new OpenFiles({ clock, most: 10 });
    const spool = new Spool(
      {
        ...{ take: 1, isMade: false, folder: join(root, 's1') },
        meta: { version: 1, sessionId: 's1', streamId: 'x', folder: 'assets/s1', takeId: 't1', gaps: 0 },
      },
      {
        ...{ clock, files, openTakeFile, limits: recorderDefaults },
        space: new FreeSpace(root, { clock, reserve: 1, slack: 1, interval: 1000 }),
        io: (path) => fileIo(files, path),
        log: () => {},
      },
    );
    const film = new Film();
    spool.begin(film.init);
    const { bytes, part } = film.next();
    spool.part(bytes, part);
    const syncing = spool.sync();
    await spool.leave();
    rmSync(join(root, 's1'), { recursive: true });
    await syncing;
    expect(spool.needsSync).toBe(false);
    expect(readdirSync(root)).toEqual([]);
    expect(files.count).toBe(0);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
