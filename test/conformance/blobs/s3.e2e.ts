import { afterAll, describe, test } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { engineFor } from '../../kit/engines.ts';
import { testFolder } from './fixtures.ts';
import { blobChecks, partChecks } from './suite.ts';

const server = await engineFor('s3');

describe.skipIf(server.isMissing)('blobs: S3', () => {
  let shared: Promise<Blobs> | undefined;
  const another = async () => {
    const blobs = s3Blobs({ ...(await server.shared()), clock: systemClock() });
    await blobs.open();
    return blobs;
  };
  afterAll(async () => (await shared)?.close());

  test.each([...blobChecks, ...partChecks])('$name', async (check) => {
    shared ??= another();
    await check.run({ blobs: await shared, folder: testFolder(), another });
  });
});
