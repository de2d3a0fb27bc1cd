/** What the dashboard hides is what the server refuses. */
import { describe, expect, it } from 'vitest';
import { type Access, allows } from '../../../core/http/access.ts';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const { mayDo } = await import('../../../plugins/dashboard/page/lib/access.js' as string);
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const paths = [
  ...[
    'stream',
    'stream/x',
    'stream/:id',
    'stream/x/record',
    'stream/*',
    'streams',
    'Stream',
    'session/x/timeline',
  ],
  ...[
    'asset',
    'asset/request-upload',
    'asset/x',
    'webhook',
    'webhook/x/log',
    'stream/',
    '/stream',
    'stream//x',
    '',
  ],
  ...['stream/..', 'stream/./x', '*', 'account/x', 'system/x'],
];
const tables: Access[] = [
  {},
  { cors: { allowedOrigins: ['*'] } },
  { rules: [] },
  { rules: [{ resources: [] }] },
  { rules: [{ resources: ['*'] }] },
  { rules: [{ resources: ['*'], methods: [] }] },
  { rules: [{ resources: ['stream'] }] },
  { rules: [{ resources: ['stream', 'stream/*'], methods: ['get'] }] },
  { rules: [{ resources: ['stream/:id'], methods: ['get', 'patch'] }] },
  { rules: [{ resources: ['stream/:id/*'] }, { resources: ['asset'], methods: ['post'] }] },
  { rules: [{ resources: ['session/:id/timeline'], methods: ['get'] }, { resources: [':any'] }] },
  { rules: [{ resources: ['stream/x/record'], methods: ['delete'] }] },
];

describe('what a key may do', () => {
  it.each(tables)('is the same for the page and the server with %j', (access) => {
    for (const path of paths)
      for (const method of methods) {
        const small = method.toLowerCase();
        const demand = { method: small === 'head' ? 'get' : small, path };
        expect([method, path, mayDo({ isAdmin: true, access }, { method, path })]).toEqual([
          method,
          path,
          allows(access, demand),
        ]);
      }
  });

  it('is for keys of the admin account alone where the server asks for one', async () => {
    const plugins = await allPlugins();
    await using w = await world({ plugins });
    const { key } = await anotherAccount(w);
    for (const [method, path] of [
      ['POST', 'account'],
      ['GET', 'account'],
      ['GET', 'account/usage'],
      ['GET', 'system/reactions'],
      ['GET', 'stream'],
      ['GET', 'api-token/current'],
    ] as const) {
      for (const one of [undefined, key]) {
        const given = one === undefined ? {} : { key: one };
        const { body: current } = await w.request('GET', '/api/api-token/current', given);
        const body = method === 'POST' ? { body: { name: 'x' } } : {};
        const { status } = await w.request(method, `/api/${path}`, { ...given, ...body });
        expect([path, status === 403]).toEqual([path, !mayDo(current, { method, path })]);
      }
    }
  });
});
