import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/base/fault.ts';

/**
 * The bootstrap key of this data directory: `<dataDir>/bootstrap-key`, mode 0600, made and synced at the first
 * start. Throws a Fault when the file is there and holds no key. `discard`: removes it, if it was made just now.
 */
export async function bootstrapKeyFile(
  dataDir: string,
  options: { create: () => string },
): Promise<{ key: string; discard: () => Promise<void> }> {
  const path = join(dataDir, 'bootstrap-key');
  await mkdir(dataDir, { recursive: true });
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const key = options.create();
      await file.writeFile(`${key}\n`);
      await file.sync();
      return { key, discard: () => rm(path, { force: true }) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = (await readFile(path, 'utf8')).trim();
  if (key === '') {
    throw new Fault('accounts.no_key', {
      status: 500,
      message: `${path} is empty: delete it to get a new key, or write your own key into it.`,
    });
  }
  return { key, discard: async () => {} };
}
