import { Type } from '@sinclair/typebox';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { reload } from '../../../config/reload.ts';
import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';

const acme = definePlugin({
  id: 'acme',
  summary: 'has a config',
  config: Type.Object({
    rate: Type.Integer({ default: 1, isReloaded: true }),
    folder: Type.String({ default: '.' }),
  }),
}) as unknown as Plugin;

const settings = async (environment: Record<string, string>, ...slices: object[]) => ({
  config: await loadConfig(environment),
  plan: slices.map((config) => ({ plugin: acme, config })),
});

it('gives the running config what may change, and names what waits for a restart', async () => {
  const running = await settings({}, { rate: 1, folder: 'a' });
  const fresh = await settings(
    { MILLRACE_LOG__LEVEL: 'debug', MILLRACE_OUTBOUND__ALLOW: '["10.0.0.0/8"]', MILLRACE_HTTP__PORT: '81' },
    { rate: 2, folder: 'b' },
  );
  expect(reload(running, fresh)).toEqual({
    changed: ['outbound.allow', 'log.level', 'plugins.acme.rate'],
    kept: ['http.port', 'plugins.acme.folder'],
  });
  expect(running.config.log.level).toBe('debug');
  expect(running.config.http.port).toBe(8080);
  expect(running.plan).toMatchObject([{ config: { rate: 2, folder: 'a' } }]);
  // Back to the default, which is no value at all.
  expect(reload(running, await settings({}, { rate: 2, folder: 'a' })).changed).toEqual([
    'outbound.allow',
    'log.level',
  ]);
  expect(running.config.outbound.allow).toBeUndefined();
});

it('names plugins that are new or gone', async () => {
  const [none, one] = [await settings({}), await settings({}, {})];
  expect(reload(none, one).kept).toEqual(['plugins.acme']);
  expect(reload(one, none).kept).toEqual(['plugins.acme']);
});
