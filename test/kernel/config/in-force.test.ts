import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TSchema, Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { configInForce } from '../../../config/in-force.ts';
import { readConfig } from '../../../config/load.ts';
import { importPlugins } from '../../../config/plugins.ts';
import { configSchema } from '../../../config/schema.ts';
import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';
import { planOf } from '../../../runtime/boot/plan.ts';

const withFile = async <T>(file: unknown, work: (path: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'in-force-'));
  try {
    const path = join(folder, 'c.json');
    writeFileSync(path, JSON.stringify(file));
    return await work(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** What operators see of a config file and of variables; `more`: plugins that do not ship, with their slices. */
async function factsOf(
  file: unknown,
  {
    env = {},
    more = [],
  }: { env?: Record<string, string>; more?: { plugin: Plugin; config: unknown }[] } = {},
) {
  return withFile(file, async (path) => {
    const environment = { ...env, MILLRACE_CONFIG: path };
    const { config, given, problems } = await readConfig(environment);
    const { plugins } = await importPlugins(config.plugins);
    const { plan, problems: unplanned } = planOf([...plugins, ...more]);
    expect([...problems, ...unplanned]).toEqual([]);
    return configInForce(config, { given, environment, plugins: plan });
  });
}
const factOf = (facts: Awaited<ReturnType<typeof factsOf>>, key: string) =>
  facts.find((fact) => fact.key === key);

describe('the config in force', () => {
  it('says where each value is from', async () => {
    const file = {
      http: { port: 8081, host: '127.0.0.1' },
      plugins: { streams: { hold: '10s' }, docs: false, stills: true },
    };
    const facts = await factsOf(file, {
      env: { MILLRACE_HTTP__PORT: '8082', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '3m' },
    });
    const source = (key: string) => [factOf(facts, key)?.value, factOf(facts, key)?.source];
    expect(source('http.port')).toEqual([8082, 'environment']);
    expect(source('http.host')).toEqual(['127.0.0.1', 'file']);
    expect(source('rtmp.port')).toEqual([1935, 'default']);
    expect(source('plugins.streams.hold')).toEqual(['10s', 'file']);
    expect(source('plugins.streams.reconnectWindow')).toEqual(['3m', 'environment']);
    expect(source('plugins.webhooks.longestRetry')).toEqual(['1h', 'default']);
    expect(source('plugins.docs')).toEqual([false, 'file']);
    expect(factOf(facts, 'region')).toEqual({ key: 'region', source: 'default', isSecret: false });
    expect(new Set(facts.map(({ key }) => key)).size).toBe(facts.length);
  });

  it('takes a section that one variable sets as set by it', async () => {
    const facts = await factsOf(
      { http: { port: 8081, host: '127.0.0.1' } },
      { env: { MILLRACE_HTTP: '{"port": 8082}' } },
    );
    expect(factOf(facts, 'http.port')).toMatchObject({ value: 8082, source: 'environment' });
    expect(factOf(facts, 'http.host')).toMatchObject({ value: '0.0.0.0', source: 'default' });
  });

  it('hides every secret of the schema, and says that it is set', async () => {
    const secrets: string[] = [];
    const secret = (name: string) => {
      secrets.push(`secret-${name}-0123456789`);
      return secrets.at(-1) as string;
    };
    const file = {
      bootstrapKey: secret('bootstrap'),
      secretsKey: secret('secrets-key'),
      preset: 'cluster',
      node: { id: 'a', secret: secret('node') },
      redis: {
        url: `redis://user:${secret('redis')}@redis:6379`,
        sentinels: [{ host: 'sentinel', username: 'user', password: secret('sentinel') }],
      },
      kafka: {
        brokers: ['kafka:9092'],
        ssl: true,
        sasl: { mechanism: 'plain', username: 'user', password: secret('kafka') },
      },
      s3: { bucket: 'films', accessKeyId: 'id', secretAccessKey: secret('s3') },
      plugins: {
        tasks: { ipfs: { driver: 'pinning', jwt: secret('ipfs') } },
      },
    };
    const outside = definePlugin({
      id: 'outside',
      summary: 'has secrets of all kinds',
      config: Type.Object({
        key: Type.Optional(Type.String({ isSecret: true })),
        list: Type.Optional(Type.Array(Type.Object({ key: Type.String({ isSecret: true }) }))),
        headers: Type.Optional(Type.Record(Type.String(), Type.String())),
        either: Type.Optional(
          Type.Union([Type.Literal(false), Type.Object({ word: Type.String({ isSecret: true }) })]),
        ),
        endpoint: Type.Optional(Type.String()),
        repeated: Type.Optional(Type.String()),
      }),
    });
    const config = {
      key: secret('marked'),
      list: [{ key: secret('listed') }],
      headers: { Authorization: `Bearer ${secret('header')}` },
      either: { word: secret('either') },
      endpoint: `https://${secret('user')}@example.com/x`,
      repeated: `it is ${secrets[0]}`,
    };
    const facts = await factsOf(file, { more: [{ plugin: outside as unknown as Plugin, config }] });
    const shown = JSON.stringify(facts);
    for (const one of secrets) expect([one, shown.includes(one)]).toEqual([one, false]);

    for (const key of [
      'bootstrapKey',
      'secretsKey',
      'node.secret',
      's3.secretAccessKey',
      'kafka.sasl.password',
      'plugins.tasks.ipfs.jwt',
    ])
      expect(factOf(facts, key)).toEqual({ key, value: '••••', source: 'file', isSecret: true });
    expect(factOf(facts, 'redis.url')).toMatchObject({
      ...{ value: 'redis://user:••••@redis:6379', isSecret: true },
    });
    expect(factOf(facts, 'redis.sentinels')).toMatchObject({
      ...{ value: [{ host: 'sentinel', port: 26_379, username: 'user', password: '••••' }], isSecret: true },
    });
    expect(factOf(facts, 'plugins.outside.endpoint')?.value).toBe('https://••••@example.com/x');
    expect(factOf(facts, 'plugins.outside.headers')?.value).toEqual({ Authorization: '••••' });
    expect(factOf(facts, 'http.port')?.isSecret).toBe(false);
    // A secret of the schema that this test forgets.
    const set = facts.filter(({ value }) => value !== undefined).map(({ key }) => key);
    expect(markedKeys(configSchema).filter((key) => !set.includes(key))).toEqual([]);
  });

  it('hides what only looks like a secret, and a password that has letters of a URL', async () => {
    const Text = Type.Optional(Type.String());
    const plugin = definePlugin({
      id: 'token-gate',
      summary: 'marks nothing',
      config: Type.Object({
        ...{
          hook: Text,
          pem: Text,
          signingKey: Text,
          cookie: Text,
          pwd: Text,
          account: Text,
          tokenLife: Text,
        },
        headers: Type.Optional(Type.Record(Type.String(), Type.String())),
        credentials: Type.Optional(Type.Object({ name: Type.String(), pin: Type.String() })),
        label: Text,
      }),
    });
    const config = {
      hook: 'https://example.com/a?b=1&token=HIDE1&sig=HIDE2',
      pem: '-----BEGIN EC PRIVATE KEY-----\nHIDE3\n-----END EC PRIVATE KEY-----',
      ...{ signingKey: 'HIDE4', cookie: 'HIDE5', pwd: 'HIDE6', account: 'Name=a;AccountKey=HIDE7;End=b' },
      headers: { 'X-Api-Key': 'HIDE8', 'X-Auth': 'HIDE9', 'X-Region': 'fra' },
      credentials: { name: 'HIDE10', pin: 'HIDE11' },
      label: 'front door',
    };
    const file = {
      redis: { url: 'redis://user:p@HIDE:12@redis:6379' },
      drivers: { store: 'redis', bus: 'kafka' },
    };
    const cluster = {
      ...file,
      kafka: { brokers: ['kafka:9092'] },
      node: { id: 'a', secret: 'x'.repeat(32) },
      secretsKey: 'k'.repeat(32),
    };
    const facts = await factsOf(cluster, { more: [{ plugin: plugin as unknown as Plugin, config }] });
    expect(JSON.stringify(facts)).not.toContain('HIDE');
    const shown = (key: string) => factOf(facts, key)?.value;
    expect(shown('redis.url')).toBe('redis://user:••••@redis:6379');
    expect(shown('plugins.token-gate.hook')).toBe('https://example.com/a?b=1&token=••••&sig=••••');
    expect(shown('plugins.token-gate.headers')).toMatchObject({ 'X-Region': 'fra' });
    expect(shown('plugins.token-gate.label')).toBe('front door');
  });

  it('hides a marked secret of a variant or of a map wherever it is repeated', async () => {
    const secret = Type.String({ isSecret: true });
    const plugin = definePlugin({
      id: 'outside',
      summary: 'has secrets in variants and maps',
      config: Type.Object({
        either: Type.Optional(Type.Union([Type.Literal(false), Type.Object({ word: secret })])),
        map: Type.Optional(Type.Record(Type.String(), secret)),
        repeated: Type.Optional(Type.String()),
      }),
    });
    const config = {
      either: { word: 'the-word-of-either' },
      map: { a: 'the-word-of-a' },
      repeated: 'the-word-of-either, the-word-of-a',
    };
    const facts = await factsOf({}, { more: [{ plugin: plugin as unknown as Plugin, config }] });
    expect(factOf(facts, 'plugins.outside.repeated')?.value).toBe('••••, ••••');
  });

  it('hides what plugins that ship mark as secret', async () => {
    const { plugins } = await importPlugins({});
    const marked = plugins.flatMap(({ plugin }) =>
      plugin.config ? markedKeys(plugin.config, `plugins.${plugin.id}.`) : [],
    );
    expect(marked.length).toBeGreaterThan(0);
    const facts = await factsOf({});
    for (const key of marked)
      expect([key, factOf(facts, key)]).toEqual([key, { key, source: 'default', isSecret: true }]);
  });
});

/** Keys of the schema that are marked as secret, not in lists. */
function markedKeys(schema: TSchema, prefix = ''): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([name, inner]) =>
    inner.isSecret === true ? [prefix + name] : markedKeys(inner, `${prefix}${name}.`),
  );
}
