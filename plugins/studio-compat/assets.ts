import type { AnyElysia } from '../../sdk/plugin.ts';
import {
  type Answered,
  listQuery,
  pageQuery,
  type StudioCall,
  segment,
  studioRoutes,
  unsupported,
} from './calls.ts';
import type { StudioKit } from './config.ts';
import { assetBody, assetGiven, exportBody, transcodeBody, wantsIpfs } from './given.ts';
import { assetShown, taskShown } from './shown.ts';
import { listed } from './streams.ts';

/** Assets, their tasks, and where something is watched. */
export function assetRoutes(kit: StudioKit): AnyElysia {
  const { app, declare } = studioRoutes(kit);
  /** Creates an asset in one of two ways. */
  const made = async ({ request, ask }: StudioCall, path: string): Promise<Answered> => {
    const given = await assetBody.read(request);
    if (wantsIpfs(given))
      throw unsupported('storage.ipfs: update the asset with it when it is ready; there is no file yet.');
    return orderShown(await ask('POST', path, { body: assetGiven(given) }));
  };
  declare('POST', '/asset/request-upload', {
    name: 'RequestUpload',
    ...{ summary: 'Creates an asset, with URLs for its upload by PUT and tus.', body: assetBody },
    run: (call) => made(call, '/api/asset/request-upload'),
  });
  for (const [path, name] of [
    ['/asset/upload/url', 'ImportAsset'],
    // As older clients name it.
    ['/asset/import', 'ImportAssetByOldPath'],
  ] as const)
    declare('POST', path, {
      ...{ name, summary: 'Creates an asset from a URL.', status: 201, body: assetBody },
      run: (call) => made(call, '/api/asset/import'),
    });
  declare('GET', '/asset', {
    ...{ name: 'ListAssets', summary: 'Lists assets, newest first.', gives: 'list', query: pageQuery },
    run: async ({ request, ask }) => listed(await ask('GET', `/api/asset${listQuery(request)}`), assetShown),
  });
  declare('GET', '/asset/:id', {
    ...{ name: 'GetAsset', summary: 'One asset.' },
    run: ({ params, ask }) => assetOf(ask('GET', `/api/asset/${segment(params.id)}`)),
  });
  declare('PATCH', '/asset/:id', {
    name: 'UpdateAsset',
    ...{ summary: 'Changes an asset. `storage.ipfs` exports its file to IPFS.', body: assetBody },
    async run({ request, params, ask }) {
      const given = await assetBody.read(request);
      const path = `/api/asset/${segment(params.id)}`;
      const changed = await ask('PATCH', path, { body: assetGiven(given) });
      if (wantsIpfs(given)) {
        const { nftMetadata } = given.storage.ipfs.spec ?? {};
        await ask('POST', `${path}/export`, { body: { ipfs: nftMetadata ? { nftMetadata } : {} } });
      }
      return { ...changed, body: assetShown(changed.body) };
    },
  });
  declare('DELETE', '/asset/:id', {
    ...{ name: 'DeleteAsset', summary: 'Deletes an asset.', gives: 'none' },
    run: ({ params, ask }) => ask('DELETE', `/api/asset/${segment(params.id)}`),
  });
  declare('POST', '/asset/:id/export', {
    ...{ name: 'ExportAsset', summary: 'Exports an asset to IPFS or a URL.', status: 201, body: exportBody },
    run: async ({ request, params, ask }) =>
      orderShown(
        await ask('POST', `/api/asset/${segment(params.id)}/export`, {
          body: await exportBody.read(request),
        }),
      ),
  });
  declare('POST', '/asset/transcode', {
    name: 'TranscodeAsset',
    ...{ summary: 'Makes an asset from another, with a profile.', status: 201, body: transcodeBody },
    async run({ request, ask }) {
      const { assetId, ...body } = await transcodeBody.read(request);
      return orderShown(await ask('POST', `/api/asset/${segment(assetId)}/transcode`, { body }));
    },
  });
  taskRoutes(declare);
  return app;
}

/** Tasks, and where something is watched. */
function taskRoutes(declare: ReturnType<typeof studioRoutes>['declare']): void {
  declare('GET', '/task', {
    ...{ name: 'ListTasks', summary: 'Lists tasks, newest first.', gives: 'list', query: pageQuery },
    run: async ({ request, ask }) => listed(await ask('GET', `/api/task${listQuery(request)}`), taskShown),
  });
  declare('GET', '/task/:id', {
    ...{ name: 'GetTask', summary: 'One task.' },
    async run({ params, ask }) {
      const found = await ask('GET', `/api/task/${segment(params.id)}`);
      return { ...found, body: taskShown(found.body) };
    },
  });
  declare('GET', '/playback/:id', {
    ...{ name: 'GetPlayback', summary: 'Where something is watched. No key is needed.', isOpen: true },
    run: playback,
  });
}

async function assetOf(asked: Promise<Answered>): Promise<Answered> {
  const found = await asked;
  return { ...found, body: assetShown(found.body) };
}

function orderShown({ body, ...answer }: Answered): Answered {
  const { asset, task } = body;
  return { ...answer, body: { ...body, ...(asset && { asset: assetShown(asset) }), task: taskShown(task) } };
}

/** The API key that clients send along is no token of a viewer, but shows the owner what is private. */
async function playback({ request, params, ask }: StudioCall): Promise<Answered> {
  const path = `/api/playback/${segment(params.id)}`;
  try {
    return await ask('GET', path, { isOpen: true });
  } catch (error) {
    const { status } = error as { readonly status?: number };
    if (status !== 403 || !request.headers.has('authorization')) throw error;
    const { token } = (await ask('GET', `${path}/token`)).body;
    const found = await ask('GET', `${path}?token=${encodeURIComponent(token)}`, { isOpen: true });
    const meta = { ...found.body.meta, playbackPolicy: { type: 'jwt' } };
    return { ...found, body: { ...found.body, meta } };
  }
}
