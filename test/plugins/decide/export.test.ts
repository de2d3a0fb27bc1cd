import type { Decision, ExportQuestion } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { uuid } from '../../../core/base/ids.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../../kit/asset-maker.ts';
import { world } from '../../kit/world.ts';
import { deciding, fail } from './kit.ts';

const shipped = await allPlugins();
const url = 'https://bucket.example:8443/film.mp4?X-Amz-Signature=sig-0123456789';
const headers = { 'x-token': 'a-secret-token' };

async function studio(decide: (question: ExportQuestion) => Decision) {
  const maker = assetMaker();
  const { plugin, asked } = deciding('gate', { export: decide });
  const w = await world({ plugins: [...shipped, maker.plugin, plugin] });
  const account = (await w.given.stream()).userId as string;
  const id = uuid();
  await maker.assets.begin({ id, account, name: 'Friday', source: { type: 'directUpload' } });
  await maker.assets.ready(id, await storeFile(w.blobs, id));
  await w.settle();
  const ask = (body: object) => w.request('POST', `/api/asset/${id}/export`, { body });
  const tasks = async () =>
    (await w.request('GET', '/api/task?filters=[{"id":"type","value":"export"}]')).body;
  return { w, id, account, asked: asked.export, ask, tasks };
}

it('a plugin that decides about exports refuses them with a reason, and makes no task', async () => {
  const { w, id, account, asked, ask, tasks } = await studio(({ to }) =>
    to === 'url' ? { refuse: 'Films stay here.' } : undefined,
  );
  await using _ = w;
  const refused = await ask({ custom: { url, headers } });
  expect(refused).toMatchObject({
    status: 403,
    body: { errors: ['Films stay here.'], code: 'export.refused' },
  });
  expect(await tasks()).toEqual([]);
  expect((await ask({ ipfs: {} })).status).toBe(201);
  expect(await tasks()).toHaveLength(1);
  const common = { account, assetId: id, name: 'Friday', size: 1000, spec: { duration: 8.5 } };
  expect(asked).toMatchObject([
    { ...common, to: 'url', host: 'bucket.example:8443' },
    { ...common, to: 'ipfs' },
  ]);
  for (const secret of ['sig-0123456789', 'a-secret-token', '/film.mp4'])
    expect(JSON.stringify(asked)).not.toContain(secret);
  expect(w.lines.some((line) => line.includes('refused an export') && line.includes('"by":"gate"'))).toBe(
    true,
  );
});

it('a plugin that fails to decide about exports is a reason to come again', async () => {
  const { w, ask, tasks, asked } = await studio(fail);
  await using _ = w;
  const answer = await ask({ custom: { url } });
  expect([answer.status, answer.body.code]).toEqual([503, 'decision.unavailable']);
  expect(await tasks()).toEqual([]);
  // What is wrong with a request is told before anybody decides.
  expect((await ask({})).status).toBe(422);
  expect(asked).toHaveLength(1);
});
