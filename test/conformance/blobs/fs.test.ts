import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { testFolder } from './fixtures.ts';
import { blobChecks } from './suite.ts';

describe('blobs: fs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-blobs-'));
  const blobs = fsBlobs({ folder });
  afterAll(async () => {
    await blobs.close();
    rmSync(folder, { recursive: true });
  });

  test.each(blobChecks)('$name', { timeout: 30_000 }, async (check) => {
    const another = async () => {
      const other = fsBlobs({ folder });
      await other.open();
      return other;
    };
    await check.run({ blobs, folder: testFolder(), another });
  });
});
