import { connect } from 'node:net';
import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import type { Soon } from '../../core/at-once.ts';
import { type Authenticator, authenticate } from '../../core/auth.ts';
import { direct } from '../../core/direct-route.ts';
import { Fault } from '../../core/fault.ts';
import { FaultCauses } from '../../core/fault-causes.ts';
import { httpCore } from '../../core/http.ts';
import { jsonLog } from '../../core/log.ts';
import { Metrics } from '../../core/metrics.ts';
import { RequestCounts } from '../../core/request-counts.ts';
import { rowRoute } from '../../core/row-route.ts';
import { virtualClock } from '../../runtime/drivers/clock/virtual.ts';

const id = '6f1c1d52-5ad5-4c6e-9ad0-0b4f0d3ad1b8';
const page = 'https://page.example.com';
const keys: Authenticator = {
  principal: (key) =>
    key === 'unknown'
      ? undefined
      : {
          ...{ accountId: 'main', isAdmin: false, keyId: 'k', keyName: 'k' },
          access: {
            cors: { allowedOrigins: [page] },
            ...(key === 'limited' && { rules: [{ resources: ['other/*'] }] }),
          },
        },
  onRevoked: () => () => {},
};
const missing = () => new Fault('thing.not_found', { status: 404, message: 'There is no thing.' });

/** What a direct route and the same one of the router answer to a request, and what was counted and logged of each. */
async function both(answer: (request: Request, id: string) => Soon<Response>, request: () => Request) {
  const asked = async (handler: object) => {
    const clock = virtualClock({ start: 1_000_000 });
    const metrics = new Metrics();
    const lines: string[] = [];
    const log = jsonLog({
      level: 'debug',
      now: () => 0,
      write: (line) => void lines.push(line.replace(/\\n.*/, '')),
    });
    const app = httpCore({
      ...{ log, counts: new RequestCounts({ metrics, clock }), causes: new FaultCauses({ clock, log }) },
      routes: [
        new Elysia()
          .get('/api/thing/:id', handler as never)
          .get('/api/thing/named', () => new Response('named')),
      ],
    });
    const { status, headers } = await app.handle(request());
    const body = await (await app.handle(request())).text();
    return { status, headers: [...headers], body, metrics: metrics.text(), lines };
  };
  const routed = await asked(async ({ request, params }: { request: Request; params: { id: string } }) =>
    answer(request, params.id),
  );
  return { routed, straight: await asked(direct(answer)) };
}

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Request(`http://localhost:8080${path}`, { method, headers });
const owner = (request: Request, thing: string) => {
  void authenticate(request, keys);
  return Response.json({ thing });
};
const bearer = { authorization: 'Bearer key' };

it.each<[string, (request: Request, id: string) => Soon<Response>, () => Request]>([
  ['an answer', owner, () => get(`/api/thing/${id}`, bearer)],
  [
    'one that comes later',
    async (request, thing) => owner(request, thing),
    () => get(`/api/thing/${id}`, bearer),
  ],
  ['an answer to a page', owner, () => get(`/api/thing/${id}`, { ...bearer, origin: page })],
  [
    'a page that may not',
    owner,
    () => get(`/api/thing/${id}`, { ...bearer, origin: 'https://other.example' }),
  ],
  ['no key', owner, () => get(`/api/thing/${id}`)],
  ['an unknown key', owner, () => get(`/api/thing/${id}`, { authorization: 'Bearer unknown' })],
  ['a key with rules', owner, () => get(`/api/thing/${id}`, { authorization: 'Bearer limited' })],
  ['a fault', () => Promise.reject(missing()), () => get(`/api/thing/${id}`)],
  [
    'a fault at once, to a page',
    (request, thing) => {
      owner(request, thing);
      throw missing();
    },
    () => get(`/api/thing/${id}`, { ...bearer, origin: page }),
  ],
  [
    'a fault with a cause',
    () => {
      throw new Fault('store.failed', { status: 503, message: 'x', cause: new Error('why') });
    },
    () => get(`/api/thing/${id}`),
  ],
  ['what is unexpected', () => Promise.reject(new Error('oops')), () => get(`/api/thing/${id}`)],
  ['an id of another shape', owner, () => get('/api/thing/abc', bearer)],
  ['an encoded id', owner, () => get('/api/thing/a%20b', bearer)],
  ['a query', owner, () => get(`/api/thing/${id}?x=1`, bearer)],
  ['a slash at the end', owner, () => get(`/api/thing/${id}/`, bearer)],
  ['a named route beside it', owner, () => get('/api/thing/named')],
  ['HEAD', owner, () => get(`/api/thing/${id}`, bearer, 'HEAD')],
  ['another method', owner, () => get(`/api/thing/${id}`, bearer, 'DELETE')],
  ['a longer path', owner, () => get(`/other/api/thing/${id}`, bearer)],
  [
    'a body that is too large',
    owner,
    () => get(`/api/thing/${id}`, { ...bearer, 'content-length': '99999999' }),
  ],
])('direct and by the router are the same: %s', async (_, answer, request) => {
  const { routed, straight } = await both(answer, request);
  expect(straight).toEqual(routed);
});

it('a row that need not be waited for is answered at once, and its owner alone sees it', async () => {
  const rows: Record<string, { account: string; body: string }> = {
    [id]: { account: 'main', body: '{"name":"ours"}' },
    [id.replace('6', '7')]: { account: 'other', body: '{"name":"theirs"}' },
    [id.replace('6', '8')]: { account: 'main', body: '{"name":"hidden"}' },
  };
  const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
  const handler = rowRoute({
    ...{ keys, kind: 'thing', place: {}, notFound: missing },
    resources: { read: (_, one) => rows[one] },
    present: ({ body }) => (body.includes('hidden') ? undefined : JSON.parse(body)),
  });
  const app = httpCore({ log, routes: [new Elysia().get('/api/thing/:id', handler)] });
  const ask = (one: string) => app.fetch(get(`/api/thing/${one}`, bearer)) as Response;
  expect(ask(id)).toBeInstanceOf(Response);
  expect(await ask(id).json()).toEqual({ name: 'ours' });
  const answers = [id.replace('6', '7'), id.replace('6', '8'), id.replace('6', '9')].map(ask);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
});

it('a row that is shown as text is answered byte for byte as its object is', async () => {
  const shown = { name: 'Käse 🎬', tags: { a: '"' } };
  const handlerOf = (present: () => object | string) =>
    rowRoute({
      ...{ keys, kind: 'thing', place: {}, notFound: missing, present },
      resources: { read: () => ({ account: 'main', body: '{}' }) },
    });
  const routes = [
    new Elysia()
      .get(
        '/api/text/:id',
        handlerOf(() => JSON.stringify(shown)),
      )
      .get(
        '/api/object/:id',
        handlerOf(() => shown),
      ),
  ];
  const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: httpCore({ log, routes }).fetch });
  const answerTo = (path: string, more = '') => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let received = '';
    const socket = connect(server.port as number, '127.0.0.1', () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer owner\r\n${more}\r\n`,
      ),
    );
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    socket.on('end', () => resolve(received.replace(/^Date: .*$/m, 'Date')));
    socket.on('error', reject);
    return promise;
  };
  try {
    const [text, object] = [await answerTo(`/api/text/${id}`), await answerTo(`/api/object/${id}`)];
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\nContent-Type: application\/json;charset=utf-8\r\n/);
    expect(text).toBe(object);
    // What is added to one answer is in no other.
    const toPage = `Origin: ${page}\r\n`;
    expect(await answerTo(`/api/text/${id}`, toPage)).toBe(await answerTo(`/api/object/${id}`, toPage));
    expect(await answerTo(`/api/text/${id}`)).toBe(text);
  } finally {
    await server.stop(true);
  }
});

it.each<[string, () => unknown]>([
  ['nothing', () => undefined],
  ['nothing later', async () => undefined],
  ['text', () => 'text'],
])('a plugin that answers %s has its request answered 500, counted and told', async (_, answer) => {
  const lines: string[] = [];
  const metrics = new Metrics();
  const log = jsonLog({ level: 'debug', now: () => 0, write: (line) => void lines.push(line) });
  const app = httpCore({
    ...{ log, counts: new RequestCounts({ metrics, clock: virtualClock({ start: 1 }) }) },
    routes: [new Elysia().get('/api/thing/:id', direct(answer as () => Response))],
  });
  const made = await app.fetch(get(`/api/thing/${id}`));
  expect([made.status, await made.json()]).toMatchObject([500, { code: 'internal' }]);
  expect(lines).toEqual([expect.stringContaining('request failed')]);
  expect(metrics.text()).toMatch(/requests_total\{route="\/api\/thing\/:id",method="GET",status="5xx"\} 1/);
});

it('a thenable is waited for', async () => {
  const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
  // biome-ignore lint/suspicious/noThenProperty: what libraries hand over in the place of a promise
  const later = { then: (done: (answer: Response) => void) => done(new Response('later')) };
  const handler = direct(() => later as unknown as Promise<Response>);
  const app = httpCore({ log, routes: [new Elysia().get('/api/thing/:id', handler)] });
  expect(await (await app.handle(get(`/api/thing/${id}`))).text()).toBe('later');
});

describe('what stands before a direct route is not passed by', () => {
  const refuse = () => {
    throw new Fault('thing.refused', { status: 403, message: 'Not you.' });
  };
  const handler = direct(() => new Response('shown'));
  const thing = () => new Elysia().get('/api/thing/:id', handler);
  const asked = async (...routes: AnyElysia[]) => {
    const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
    return await httpCore({ log, routes }).handle(get(`/api/thing/${id}`));
  };

  it.each<[string, AnyElysia[]]>([
    ['a hook of the plugin', [new Elysia().onBeforeHandle(refuse).get('/api/thing/:id', handler)]],
    ['a guard', [new Elysia().guard({ beforeHandle: refuse }, (app) => app.get('/api/thing/:id', handler))]],
    ['a hook of the route', [new Elysia().get('/api/thing/:id', handler, { beforeHandle: refuse })]],
    ['a derived value', [new Elysia().derive(refuse).get('/api/thing/:id', handler)]],
    ['a hook of another plugin', [new Elysia().onBeforeHandle({ as: 'global' }, refuse), thing()]],
    ['a hook of another plugin for every request', [thing(), new Elysia().onRequest(refuse)]],
  ])('%s', async (_, routes) => {
    expect((await asked(...routes)).status).toBe(403);
  });

  it('a schema', async () => {
    const schema = { headers: Type.Object({ 'x-wanted': Type.String() }) };
    expect((await asked(new Elysia().get('/api/thing/:id', handler, schema as object))).status).not.toBe(200);
  });

  it('a header for each answer', async () => {
    const answer = await asked(thing(), new Elysia().headers({ 'x-given': 'yes' }));
    expect(answer.headers.get('x-given')).toBe('yes');
  });

  it('what is wrapped around all', async () => {
    const wrapped = new Elysia().wrap(() => (() => new Response('wrapped')) as never);
    expect(await (await asked(thing(), wrapped)).text()).toBe('wrapped');
  });
});

it('a route that two plugins declare is refused: each would answer some of its requests', () => {
  const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
  const plain = new Elysia().get('/api/thing/:id', () => new Response('plain'));
  const straight = new Elysia().get(
    '/api/thing/:id',
    direct(() => new Response('direct')),
  );
  expect(() => httpCore({ log, routes: [plain, straight] })).toThrow(
    'the route GET /api/thing/:id is declared twice',
  );
});

it('a path without an id at its end, or another method, cannot be direct', () => {
  const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
  const handler = direct(() => new Response());
  const made = (routes: Elysia) => () => httpCore({ log, routes: [routes] });
  expect(made(new Elysia().get('/api/thing', handler) as never)).toThrow('GET /api/thing cannot be direct');
  expect(made(new Elysia().post('/api/thing/:id', handler) as never)).toThrow('cannot be direct');
});
