import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { put } from '../uploads/kit.ts';
import { view } from './kit.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/plugins/decide.md'), 'utf8');

/** The modules of the guide, in their order. */
async function modules(): Promise<Record<string, unknown>[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'));
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const files = blocks
    .filter((code) => !code.includes("'vitest'"))
    .map((code, number) => {
      const file = join(folder, `${number}.ts`);
      writeFileSync(file, code);
      return file;
    });
  const loaded = await Promise.all(files.map((file) => import(file)));
  rmSync(folder, { recursive: true });
  return loaded;
}

it('the plugin of docs/plugins/decide.md does what it says', async () => {
  const [{ default: houseRules }] = await modules();
  const config = { 'house-rules': { maxShort: 300, sites: ['https://site.example'] } };
  await using w = await world({ plugins: [...(await allPlugins()), houseRules as Plugin], config });
  const unpaid = await w.given.stream({ userTags: { unpaid: true } });
  expect((await w.media.publish(unpaid.streamKey)).answer).toMatchObject({
    message: 'The invoice is not paid.',
  });
  const paid = await w.given.stream();
  await w.given.broadcast(paid);
  const statusOf = async (headers: Record<string, string>) =>
    (await view(w, `/api/playback/${paid.playbackId}`, headers)).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ origin: 'https://site.example' })).toBe(200);
  expect(await statusOf({ origin: 'https://thief.example' })).toBe(403);
  const asked = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
  const { status, body } = await put(w, asked.body.url);
  expect([status, body.errors]).toEqual([403, ['Videos may have at most 3840x300 pixels.']]);
});

it('the guard of docs/plugins/decide.md is one', async () => {
  const [, guard] = await modules();
  expect(guard).toMatchObject({
    admit: expect.any(Function),
    faults: ['playback.refused', 'decision.unavailable'],
  });
});
