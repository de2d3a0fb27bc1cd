import {
  assets,
  authenticator,
  definePlugin,
  type Kit,
  type LoggedEvent,
  payloadOf,
  type VideoSpec,
} from 'millrace/plugin';
import { allPlugins, world } from 'millrace/testing';
import { expect, it } from 'vitest';

const tagging = definePlugin({
  id: 'tagging',
  summary: 'tags assets by the size of their pictures',
  needs: [assets, authenticator],
  reactions: {
    async 'asset.ready'(event: LoggedEvent, kit: Kit) {
      const { asset } = payloadOf<{ asset: { id: string; videoSpec: VideoSpec } }>(event);
      const found = await kit.use(assets).find(asset.id);
      const video = asset.videoSpec.tracks.find(({ type }) => type === 'video');
      if (!found || video?.type !== 'video') return;
      await kit.use(assets).change(asset.id, {
        userTags: { ...found.userTags, height: video.height },
      });
    },
  },
});

const grabbing = definePlugin({
  id: 'grabbing',
  summary: 'writes a row that is not its own',
  needs: [assets],
  reactions: {
    async 'asset.ready'(event: LoggedEvent, kit: Kit) {
      const { asset } = payloadOf<{ asset: { id: string } }>(event);
      const row = await kit.resources.get('asset', asset.id);
      if (row)
        await kit.resources.write({
          rows: [{ ...row, kind: 'asset', name: 'Grabbed', indexes: {} }],
          events: [],
        });
    },
  },
});

async function upload(w: Awaited<ReturnType<typeof world>>, userTags?: object) {
  const { url, asset } = (await w.request('POST', '/api/asset/request-upload', { body: { name: 'Film' } }))
    .body;
  if (userTags) await w.request('PATCH', `/api/asset/${asset.id}`, { body: { userTags } });
  await w.app.handle(new Request(url, { method: 'PUT', body: 'a film' }));
  await w.settle();
  return `/api/asset/${asset.id}`;
}

it('changes assets through their contract, and keeps the tags of others', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), tagging] });
  const path = await upload(w, { shelf: 'top' });
  await w.advance('1s');
  expect((await w.request('GET', path)).body.userTags).toEqual({ shelf: 'top', height: 360 });
  await w.request('PATCH', path, { body: { name: 'Another name' } });
  expect((await w.request('GET', path)).body.userTags).toEqual({ shelf: 'top', height: 360 });
});

it('cannot write rows that actors of others write', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), grabbing] });
  const path = await upload(w);
  await w.advance('1s');
  expect((await w.request('GET', path)).body.name).toBe('Film');
  expect(w.lines.join('\n')).toContain(
    'plugin grabbing may not write a row of kind \\"asset\\": only actors of plugin assets write it',
  );
});
