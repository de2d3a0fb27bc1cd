import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteOpenFolder, prepareDataFolder } from '../../runtime/boot/data-folder.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-data-'));
  await writeFile(join(folder, 'file'), '');
});
afterAll(() => rm(folder, { recursive: true }));

describe('the data folder', () => {
  it('is made for its owner alone, and may be there', async () => {
    const path = join(folder, 'a/b');
    await prepareDataFolder(path);
    await prepareDataFolder(path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  it('is named in the log when other users can read it, and stays as it is', async () => {
    const said: unknown[] = [];
    const log = { warn: (_: string, fields: unknown) => void said.push(fields) };
    const path = join(folder, 'open');
    await prepareDataFolder(path);
    await noteOpenFolder(path, { log });
    expect(said).toEqual([]);
    await chmod(path, 0o750);
    await noteOpenFolder(path, { log });
    expect(said).toEqual([{ folder: path, mode: '0750' }]);
    expect((await stat(path)).mode & 0o777).toBe(0o750);
  });

  it.each([
    [
      'is a file',
      () => join(folder, 'file'),
      /^dataDir: \S+\/file cannot be used: \S+\/file is a file, and a folder was/,
    ],
    [
      'is below a file',
      () => join(folder, 'file/data'),
      /^dataDir: \S+ cannot be made: \S+\/file is a file, /,
    ],
    // Nobody may make folders there, root neither.
    ['may not be made', () => '/sys/millrace/data', /cannot be made: .*\/sys/],
    [
      'cannot be made for another reason',
      () => '/proc/millrace',
      /^dataDir: \/proc\/millrace cannot be made \(ENOENT/,
    ],
  ])('is refused when it %s, with what to do', async (_, path, problem) => {
    await expect(prepareDataFolder(path())).rejects.toMatchObject({
      code: 'config.invalid',
      problems: [expect.stringMatching(problem)],
    });
    await expect(prepareDataFolder(path())).rejects.toThrow(/ set dataDir \(MILLRACE_DATA_DIR\) to a folder/);
  });
});
