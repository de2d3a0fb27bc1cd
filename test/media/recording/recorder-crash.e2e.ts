import { join } from 'node:path';
import { expect, test } from 'vitest';
import { killWhileRecording } from './crash.ts';
import { place } from './fixtures.ts';

// However little is added at a time.
const past = { isDirect: true, limits: { directLeast: 1 } };

test.each([
  { how: 'past the cache, into a directory', config: past },
  { how: 'through the cache, into a directory', config: { isDirect: false } },
])('what was acknowledged survives kill -9 at any moment, $how', { timeout: 240_000 }, async ({ config }) => {
  using at = place();
  const { killed } = await killWhileRecording(at, {
    rounds: 10,
    config: { ...config, blobs: { folder: join(at.folder, '..', 'blobs') } },
    recorder: () => at.recorder(config),
  });
  expect(killed.takes).toBeGreaterThan(0);
  console.log('takes that were acknowledged, and killed amid finishing:', killed);
});
