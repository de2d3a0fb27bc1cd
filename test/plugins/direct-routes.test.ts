import { Elysia } from 'elysia';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { uuid } from '../../core/ids.ts';
import { definePlugin, type Plugin } from '../../core/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

// One hook for all requests, in whichever plugin, and the most frequent questions become twice as expensive; nothing else shows it.

const shipped = await allPlugins();

/** What the router was asked for: `METHOD path`. */
const routed: string[] = [];
const property = Object.getOwnPropertyDescriptor(Elysia.prototype, 'fetch') as PropertyDescriptor;

beforeEach(() => {
  routed.length = 0;
  Object.defineProperty(Elysia.prototype, 'fetch', {
    configurable: true,
    get(this: Elysia) {
      const fetch: Elysia['fetch'] = property.get?.call(this);
      const value = (request: Request) => {
        routed.push(`${request.method} ${new URL(request.url).pathname}`);
        return fetch(request);
      };
      Object.defineProperty(this, 'fetch', { value, configurable: true, writable: true });
      return value;
    },
  });
});
afterEach(() => {
  Object.defineProperty(Elysia.prototype, 'fetch', property);
});

/** Which of the paths the router was asked for, in the whole program with these plugins. */
async function askedOfRouter(paths: readonly string[], more: readonly Plugin[] = []): Promise<string[]> {
  await using w = await world({ plugins: [...shipped, ...more] });
  for (const path of paths) {
    const { status, body } = await w.request('GET', path);
    expect([path, status, body.code]).toEqual([path, 404, expect.not.stringMatching(/^route\./)]);
  }
  await w.request('GET', '/openapi.json');
  // So it would have been seen.
  expect(routed).toContain('GET /openapi.json');
  return paths.filter((path) => routed.includes(`GET ${path}`));
}

const paths = ['stream', 'session', 'asset', 'task', 'api-token'].map((name) => `/api/${name}/${uuid()}`);

it('no plugin that ships stands in the way of the direct routes', async () => {
  expect(await askedOfRouter(paths)).toEqual([]);
});

it('a hook of one plugin for all requests is seen', async () => {
  const hooked = definePlugin({
    id: 'hooked',
    summary: 'looks at every request',
    routes: () => new Elysia().onBeforeHandle({ as: 'global' }, () => {}),
  }) as unknown as Plugin;
  expect(await askedOfRouter(paths, [hooked])).toEqual(paths);
});
