import { join } from 'node:path';
import { expect, test } from 'vitest';
import { killWhileRecording } from './crash.ts';
import { place } from './fixtures.ts';

test('what was acknowledged survives kill -9 at any moment, into a directory', {
  timeout: 240_000,
}, async () => {
  using at = place();
  const { killed } = await killWhileRecording(at, {
    rounds: 10,
    config: { blobs: { folder: join(at.folder, '..', 'blobs') } },
    recorder: () => at.recorder(),
  });
  expect(killed.takes).toBeGreaterThan(0);
  console.log('takes that were acknowledged, and killed amid finishing:', killed);
});
