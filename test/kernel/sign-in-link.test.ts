import { expect, it } from 'vitest';
import { signInLink } from '../../runtime/boot/sign-in-link.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { bootstrapKey, world } from '../kit/world.ts';

const plugins = await allPlugins();
const config = {
  ...{ dataDir: '/nowhere', bootstrapKey, roles: ['api'], http: { host: '0.0.0.0', port: 8080 } },
};

it('signs in once as the bootstrap key', async () => {
  await using w = await world({ plugins });
  const link = await signInLink({ app: w.app, plugins }, config);
  const [, code] = /^http:\/\/127\.0\.0\.1:8080\/#sign-in=([\w-]{43})$/.exec(link ?? '') ?? [];
  const { body } = await w.request('POST', '/api/sign-in', { key: null, body: { code } });
  const { body: current } = await w.request('GET', '/api/api-token/current', { key: body.key });
  expect(current).toMatchObject({ name: 'Dashboard', isAdmin: true });
  expect((await w.request('POST', '/api/sign-in', { key: null, body: { code } })).status).toBe(403);
});

it('is only where it works', async () => {
  await using w = await world({ plugins });
  const linkOf = (changes: Partial<typeof config>, given = plugins) =>
    signInLink({ app: w.app, plugins: given }, { ...config, ...changes });
  expect(await linkOf({ http: { host: '::1', port: 1 } })).toMatch(/^http:\/\/\[::1\]:1\/#sign-in=/);
  expect(await linkOf({ http: { host: '192.0.2.1', port: 8080 } })).toBeUndefined();
  expect(await linkOf({ roles: ['media'] })).toBeUndefined();
  expect(await linkOf({ bootstrapKey: 'the key of another node' })).toBeUndefined();
  expect(
    await linkOf(
      {},
      plugins.filter(({ id }) => id !== 'dashboard'),
    ),
  ).toBeUndefined();
  const { bootstrapKey: _, ...keyless } = config;
  expect(await signInLink({ app: w.app, plugins }, keyless)).toBeUndefined();
});
