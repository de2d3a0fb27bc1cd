import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cached, cacheFolder } from '../kit/engines/cache.ts';

const { XDG_CACHE_HOME } = process.env;
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-cache-'));
  process.env.XDG_CACHE_HOME = root;
});
afterEach(() => {
  if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  rmSync(root, { recursive: true });
});

const visible = () => readdirSync(cacheFolder()).filter((name) => !name.startsWith('.'));

test('of runs at the same time one builds, and all get its folder', async () => {
  let builds = 0;
  const built = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const runs = Array.from({ length: 3 }, () =>
    cached('engine-1', async (folder) => {
      builds += 1;
      begun.resolve();
      await built.promise;
      writeFileSync(join(folder, 'program'), 'built');
    }),
  );
  await begun.promise;
  expect(visible()).toEqual([]);
  built.resolve();
  const folders = await Promise.all(runs);
  expect(new Set(folders)).toEqual(new Set([join(root, 'millrace/engines/engine-1')]));
  expect(readFileSync(join(folders[0], 'program'), 'utf8')).toBe('built');
  expect(builds).toBe(1);
});

test('a build that fails leaves nothing, and the next one starts from nothing', async () => {
  const failing = cached('engine-1', async (folder) => {
    writeFileSync(join(folder, 'half'), '');
    throw new Error('no network');
  });
  await expect(failing).rejects.toThrow('no network');
  expect(visible()).toEqual([]);
  const folder = await cached('engine-1', async (target) => writeFileSync(join(target, 'whole'), ''));
  expect(readdirSync(folder)).toEqual(['whole']);
});

test('what a killed run left half done is not built upon', async () => {
  mkdirSync(join(cacheFolder(), '.engine-1.unfinished'), { recursive: true });
  writeFileSync(join(cacheFolder(), '.engine-1.unfinished/half'), '');
  const folder = await cached('engine-1', async (target) => writeFileSync(join(target, 'whole'), ''));
  expect(readdirSync(folder)).toEqual(['whole']);
});
