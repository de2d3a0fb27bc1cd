import { beforeAll, describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import { type ParkedReaction, parkedReactionKind } from '../../core/plugin/parked-reaction.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { assetMaker } from '../kit/asset-maker.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

/** Routes for everyone. Every other route of the program needs a key, and is tested here without being named. */
const open = [
  ...['GET /health/live', 'GET /health/ready', 'GET /metrics', 'GET /openapi.json', 'OPTIONS /api/*'],
  ...['GET /hls/:playbackId/*', 'OPTIONS /hls/*'],
  ...[
    'GET /asset/:playbackId/video',
    'GET /asset/:playbackId/original',
    'GET /asset/:playbackId/*',
    'OPTIONS /asset/*',
  ],
  ...['GET /ipfs/:cid', 'OPTIONS /ipfs/*'],
  ...['GET /.well-known/jwks.json', 'OPTIONS /.well-known/jwks.json'],
  ...['PUT /upload/:assetId', 'OPTIONS /upload/:assetId'],
  ...['OPTIONS', 'POST'].map((method) => `${method} /upload/:assetId/tus`),
  ...['OPTIONS', 'HEAD', 'PATCH', 'DELETE', 'POST'].map(
    (method) => `${method} /upload/:assetId/tus/:uploadId`,
  ),
  ...['jpg', 'png', 'webp'].map((ending) => `GET /hls/:playbackId/thumbnail.${ending}`),
  ...['GET /recordings/:sessionId/*', 'OPTIONS /recordings/*'],
  ...['GET /api/playback/:id', 'OPTIONS /api/playback/*', 'GET /api/ingest', 'OPTIONS /api/ingest'],
  ...[
    'GET /watch/hls.js',
    'GET /watch/watch.js',
    'GET /watch/pace.js',
    'GET /watch/film.js',
    'GET /watch/look-up.js',
    'GET /watch/watch.css',
    ...['playback', 'live-config', 'dvr', 'media-chrome'].map((name) => `GET /watch/${name}.js`),
    ...['embed', 'broadcast', 'options', 'keys', 'qualities', 'host'].map(
      (name) => `GET /watch/embed/${name}.js`,
    ),
    ...['GET /watch/embed/embed.css', 'GET /embed/player.js', 'GET /embed/:playbackId'],
    ...['GET /oembed', 'OPTIONS /oembed'],
    'GET /watch/:playbackId',
  ],
  ...[
    'POST /api/sign-in',
    'GET /',
    'GET /dashboard/extensions.json',
    'GET /dashboard/app/*',
    'GET /dashboard',
    'GET /dashboard/*',
  ],
  ...['GET /docs', 'GET /docs/app/*', 'GET /docs/guides', 'GET /docs/guides/*'],
  ...['GET /llms.txt', 'GET /llms-full.txt'],
];

/** Routes for keys of the admin account alone: others get 403, whatever they ask for. */
const adminOnly = /^\w+ \/api\/system(\/|$)/;

/** What every key may know, whatever its rules. */
const forAnyKey: readonly string[] = ['GET /api/api-token/current', 'POST /mcp'];

const maker = assetMaker();

/** Makes something whose id stands behind `/api/<name>/` in a path. */
const makers: Record<string, (w: World) => Promise<string>> = {
  stream: async (w) => (await w.given.stream()).id,
  session: async (w) => (await w.given.broadcast(await w.given.stream())).grant.sessionId,
  'api-token': async (w) => (await w.request('POST', '/api/api-token', { body: {} })).body.id,
  'multistream/target': async (w) =>
    (await w.request('POST', '/api/multistream/target', { body: { url: 'rtmp://a.example/live' } })).body.id,
  async asset(w) {
    const id = uuid();
    const { userId: account } = await w.given.stream();
    await maker.assets.begin({ id, account, name: 'A', source: { type: 'recording', sessionId: 's' } });
    return id;
  },
  async task(w) {
    const body = { name: 'An upload' };
    return (await w.request('POST', '/api/asset/request-upload', { body })).body.task.id;
  },
  async 'system/reactions'(w) {
    const { userId: account } = await w.given.stream();
    const id = uuid();
    const event = { ...{ id: 'e', type: 'stream.started', account, stream: 's' }, at: w.now(), position: 1 };
    const reaction: ParkedReaction = {
      ...{ id, plugin: 'example', status: 'parked', event: { ...event, body: '{}' } },
      ...{ failedAt: w.now(), parkedAt: w.now(), tries: 1, error: 'Error: an example' },
    };
    const body = JSON.stringify(reaction);
    const row = { kind: parkedReactionKind, id, account: '', name: 'example', createdAt: w.now(), body };
    await w.store.write({ rows: [{ ...row, indexes: {}, revision: 0 }], events: [], at: w.now() });
    return id;
  },
  alias: async (w) => {
    const { playbackId } = await w.given.stream();
    const body = { alias: 'an-old-name', playbackId };
    return (await w.request('POST', '/api/alias', { body })).body.alias;
  },
  playback: async (w) => (await w.given.stream()).playbackId,
  account: async (w) => (await w.request('POST', '/api/account', { body: { name: 'A' } })).body.id,
  'signing-key': async (w) => (await w.request('POST', '/api/signing-key', { body: {} })).body.id,
  webhook: async (w) =>
    (
      await w.request('POST', '/api/webhook', {
        body: { name: 'W', url: 'https://a.example', events: ['stream.idle'] },
      })
    ).body.id,
};

/** Makes a second thing, below the first, whose id is the last one in the path. */
const seconds: Record<string, (w: World, id: string) => Promise<string>> = {
  'webhook/:id/log': async (w, id) =>
    (await w.request('POST', `/api/webhook/${id}/test`, { body: { event: 'stream.started' } })).body.id,
};

/** Bodies without which a route never asks whose the thing is. */
const bodies: Record<string, unknown> = {
  'PATCH /api/stream/:id/record': { record: true },
  'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
};

const plugins = [...(await allPlugins()), maker.plugin];
const routes = await keyedRoutes();

describe('a route', () => {
  it('is open only when it is named above', async () => {
    await using w = await world({ plugins });
    const all = routesOf(w);
    expect(open.filter((route) => !all.includes(route))).toEqual([]);
    expect(routes.length).toBeGreaterThan(12);
  });
});

describe.each(routes)('%s', (route) => {
  const [method, path] = route.split(' ') as [string, string];
  let id: string;
  let second = 'x';
  let w: World;
  beforeAll(async () => {
    w = await world({ plugins });
    id = path.includes(':') ? await makerOf(path)(w) : '';
    second = (await secondOf(path)?.(w, id)) ?? 'x';
    return () => w[Symbol.asyncDispose]();
  });
  /** The status, without waiting for the end of an answer that has none. */
  const ask = async (key: string | null) => {
    const url = `http://localhost:8080${path.replace(/:\w+/, id).replace(/:\w+/g, second)}`;
    const answer = await w.app.handle(
      new Request(url, {
        method,
        headers: key === null ? {} : { authorization: `Bearer ${key}` },
        ...(method !== 'GET' && { body: JSON.stringify(bodies[route] ?? {}) }),
      }),
    );
    const isError = answer.status >= 400;
    const code = isError ? codeOf(await answer.json()) : undefined;
    if (!isError) await answer.body?.cancel();
    await w.settle();
    return [answer.status, code];
  };
  const keyWith = async (rules: unknown) =>
    (await w.request('POST', '/api/api-token', { body: { access: { rules } } })).body.key;

  it('needs a key', async () => {
    expect(await ask(null)).toEqual([401, 'auth.missing']);
  });

  it('needs a right key', async () => {
    expect(await ask('wrong')).toEqual([401, 'auth.invalid']);
    expect(await ask(`${bootstrapKey}x`)).toEqual([401, 'auth.invalid']);
  });

  it('needs a key with its scope', async () => {
    const resource = path.replace(/^\/(api\/)?/, '');
    const methods = ['get', 'post', 'put', 'patch', 'delete'].filter((name) => name !== method.toLowerCase());
    for (const rules of [[], [{ resources: ['*'], methods }], [{ resources: ['x', `${resource}/*`] }]]) {
      const refused = forAnyKey.includes(route) ? [200, undefined] : [403, 'auth.not_allowed'];
      expect(await ask(await keyWith(rules))).toEqual(refused);
    }
  });

  if (path.includes(':')) {
    it("hides what is another account's", async () => {
      const other = await anotherAccount(w);
      const [status, code] = await ask(other.key);
      if (adminOnly.test(route)) {
        expect([status, code]).toEqual([403, 'auth.not_allowed']);
        return;
      }
      expect([status, code]).toEqual([404, expect.stringMatching(/^(?!route\.)\w+\.not_found$/)]);
    });
  }

  // Last, because it may delete what it is asked for.
  it('needs no more than its scope', async () => {
    const [status] = await ask(await keyWith([{ resources: [path.replace(/^\/(api\/)?/, '')] }]));
    expect([401, 403, 404, 500]).not.toContain(status);
  });
});

/** Errors of the Model Context Protocol have it elsewhere. */
function codeOf(body: unknown): string | undefined {
  const { code, error } = body as { code?: string; error?: { data?: { code?: string } } };
  return code ?? error?.data?.code;
}

async function keyedRoutes(): Promise<string[]> {
  await using w = await world({ plugins });
  return routesOf(w).filter((route) => !open.includes(route));
}

function routesOf(w: World): string[] {
  return w.app.routes.map(({ method, path }) => `${method} ${path}`);
}

function secondOf(path: string): ((w: World, id: string) => Promise<string>) | undefined {
  return seconds[/^\/api\/([^:]+:\w+\/[^:]+)\/:/.exec(path)?.[1] ?? ''];
}

function makerOf(path: string): (w: World) => Promise<string> {
  const [, name = ''] = /^\/api\/([^:]+)\/:/.exec(path) ?? [];
  const maker = makers[name];
  if (!maker) throw new Error(`${path}: say above how to make a ${name}, so that its routes are tested`);
  return maker;
}
