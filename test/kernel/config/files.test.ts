import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

it('reads values from files that variables with _FILE name', async () => {
  const key = await file('key', '1234567890123456\n');
  const secret = await file('secret', 'of-the-publish-hook');
  const config = await loadConfig({
    MILLRACE_BOOTSTRAP_KEY_FILE: key,
    MILLRACE_PLUGINS__PROTECTION__WEBHOOK_SECRET_FILE: secret,
    // A key of a plugin may end in File.
    MILLRACE_PLUGINS__MAPS__DATABASE_FILE: '/maps.db',
  });
  expect(config.bootstrapKey).toBe('1234567890123456');
  const maps = { databaseFile: '/maps.db' };
  expect(config.plugins).toEqual({ protection: { webhookSecret: 'of-the-publish-hook' }, maps });
  const wrong = loadConfig({
    MILLRACE_BOOTSTRAP_KEY_FILE: join(folder, 'nowhere'),
    MILLRACE_SECRETS_KEY: 'x'.repeat(32),
    MILLRACE_SECRETS_KEY_FILE: key,
    MILLRACE_REGION_FILE: await file('large', 'x'.repeat(70_000)),
  });
  await expect(wrong).rejects.toMatchObject({
    problems: [
      expect.stringMatching(/^MILLRACE_BOOTSTRAP_KEY_FILE: ENOENT/),
      expect.stringMatching(/^MILLRACE_REGION_FILE: .*65536 bytes/),
      expect.stringMatching(/^MILLRACE_SECRETS_KEY_FILE: MILLRACE_SECRETS_KEY is set too/),
    ],
  });
});
