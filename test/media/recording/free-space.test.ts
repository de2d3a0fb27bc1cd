import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { recorderDefaults } from '../../../runtime/media/recording/settings.ts';
import { FreeSpace } from '../../../runtime/media/recording/thread/free-space.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

it('counts what is written between two looks at the disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-space-'));
  try {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const clock = virtualClock({ start: 0 });
    const settings = { ...recorderDefaults, reserve: free / 2, reserveSlack: 1 };
    const space = new FreeSpace(folder, { clock, settings });
    expect(space.isLowFor('source')).toBe(false);
    space.wrote(free);
    expect(space.isLowFor('source')).toBe(true);
    await clock.advance(1000);
    expect(space.isLowFor('source')).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
