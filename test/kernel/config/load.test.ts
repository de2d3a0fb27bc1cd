import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outdated } from '../../../config/contradictions.ts';
import { driversOf } from '../../../config/drivers.ts';
import { loadConfig } from '../../../config/load.ts';
import { concealed, secretsOf } from '../../../config/secrets.ts';

const credentials = { MILLRACE_S3__ACCESS_KEY_ID: 'AKIA', MILLRACE_S3__SECRET_ACCESS_KEY: 'a"b\\c' };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe('config', () => {
  it('has a default for everything', async () => {
    const config = await loadConfig({});
    expect(config).toMatchObject({ http: { port: 8080 }, rtmp: { port: 1935 }, dataDir: './data' });
  });

  it.each([
    ['c.json', '{"http": {"port": 81}, "plugins": {"streams": {"hold": "6s"}}}'],
    ['c.yaml', 'http:\n  port: 81\nplugins:\n  streams:\n    hold: 6s\n'],
    ['c.ts', 'export default { http: { port: 81 }, plugins: { streams: { hold: "6s" } } };'],
  ])('is read from %s, and the environment wins', async (name, text) => {
    const path = await file(name, text);
    const config = await loadConfig({
      MILLRACE_CONFIG: path,
      MILLRACE_HTTP__HOST: '127.0.0.1',
      MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '20s',
      MILLRACE_BOOTSTRAP_KEY: '1234567890123456',
      MILLRACE_PLUGINS__WATCH: 'false',
    });
    expect(config.http).toMatchObject({ port: 81, host: '127.0.0.1' });
    expect(config.plugins).toEqual({ streams: { hold: '6s', reconnectWindow: '20s' }, watch: false });
    expect(config.bootstrapKey).toBe('1234567890123456');
  });

  it('leaves the variables of the command line alone', async () => {
    const ofClients = { MILLRACE_URL: 'https://video.example.com', MILLRACE_KEY: 'a-key' };
    expect(await loadConfig(ofClients)).toEqual(await loadConfig({}));
  });

  it('lets a plugin be on and be told more', async () => {
    const names = { MILLRACE_PLUGINS__STREAMS: 'true', MILLRACE_PLUGINS__STREAMS__HOLD: '6s' };
    expect((await loadConfig(names)).plugins).toEqual({ streams: { hold: '6s' } });
  });

  it('names every problem at once', async () => {
    const problem = loadConfig({
      MILLRACE_HTTP__PORT: 'eighty',
      MILLRACE_NODE__TIMEOUT: 'soon',
      MILLRACE_COLOUR: 'red',
    });
    await expect(problem).rejects.toMatchObject({
      code: 'config.invalid',
      problems: [
        expect.stringMatching(/^colour: unknown field/),
        expect.stringMatching(/^http\.port: expected/),
        expect.stringMatching(/^node\.timeout: expected/),
      ],
    });
  });

  it.each([
    ['a list for a section', { file: '{"http": []}' }, 'http: expected object'],
    ['a list for plugins', { file: '{"plugins": []}' }, 'plugins: expected object'],
    ['a name of the language', { file: '{"__proto__": {"x": 1}}' }, '__proto__: unknown field'],
    ['such a name in the environment', { MILLRACE_CONSTRUCTOR__X: '1' }, 'constructor: unknown field'],
    [
      'parts too short to be worth a request',
      { MILLRACE_HLS__PART: '199ms' },
      'hls.part: expected at least 200ms',
    ],
    ['parts too long for low latency', { MILLRACE_HLS__PART: '1s' }, 'hls.part: expected at most 500ms'],
    ['a playlist too short to play', { MILLRACE_HLS__WINDOW: '5s' }, 'hls.window: expected at least 12s'],
    ['a heartbeat without a pause', { MILLRACE_NODE__TIMEOUT: '0s' }, 'node.timeout: expected at least 1s'],
    [
      'a limit with a unit of its own',
      { MILLRACE_UPLOADS__RESERVE: '1GB' },
      'uploads.reserve: expected a whole number of MiB',
    ],
    ['a URL that is none', { MILLRACE_PUBLIC_URL: 'http://a b' }, /^publicUrl: expected a URL/],
    [
      'a key no header can carry',
      { MILLRACE_BOOTSTRAP_KEY: 'sixteen or more letters' },
      /^bootstrapKey: expected/,
    ],
    [
      'a block that is none',
      { MILLRACE_OUTBOUND__ALLOW: '["10.0.0.0/8", "10.0.0.1"]' },
      'outbound.allow.1: expected a block such as 10.0.0.0/8 or fd00::/8',
    ],
    [
      'an underscore too few',
      { MILLRACE_DATADIR: '/data' },
      'MILLRACE_DATADIR: there is no such key; did you mean MILLRACE_DATA_DIR?',
    ],
    [
      'one underscore between levels',
      { MILLRACE_HTTP_PORT: '80' },
      'MILLRACE_HTTP_PORT: there is no such key; did you mean MILLRACE_HTTP__PORT?',
    ],
    [
      'a key of a plugin that is off',
      { MILLRACE_PLUGINS__STREAMS: 'false', MILLRACE_PLUGINS__STREAMS__HOLD: '6s' },
      'MILLRACE_PLUGINS__STREAMS__HOLD: plugins.streams is off, by MILLRACE_PLUGINS__STREAMS; take one of the two away',
    ],
    [
      'a key of a plugin that is off in the file',
      { file: '{"plugins": {"streams": false}}', MILLRACE_PLUGINS__STREAMS__HOLD: '6s' },
      'MILLRACE_PLUGINS__STREAMS__HOLD: plugins.streams is off, by the config file; take one of the two away',
    ],
    [
      'a decision after encoders give up',
      { MILLRACE_DECISIONS__TIMEOUT: '9s' },
      'decisions.timeout: expected at most 8s',
    ],
    [
      'a decision at once',
      { MILLRACE_DECISIONS__TIMEOUT: '50ms' },
      'decisions.timeout: expected at least 100ms',
    ],
    [
      'a third way to fail',
      { MILLRACE_DECISIONS__ON_ERROR: 'ask' },
      'decisions.onError: expected "refuse" or "allow"',
    ],
    [
      'a third way for a plugin to fail',
      { file: '{"decisions": {"plugins": {"hooks": "ask"}}}' },
      'decisions.plugins.hooks: expected "refuse" or "allow"',
    ],
    ['no role', { MILLRACE_ROLES: '[]' }, 'roles: expected array length to be greater or equal to 1'],
    [
      'a role that there is not',
      { MILLRACE_ROLES: '["api", "king"]' },
      'roles.1: expected one of api, media, actors and worker',
    ],
    ['a role twice', { MILLRACE_ROLES: '["api", "api"]' }, /^roles: expected/],
    [
      'drivers that do not go together',
      { MILLRACE_DRIVERS__STORE: 'redis', MILLRACE_REDIS__URL: 'redis://redis' },
      'drivers: expected store and bus to be both "sqlite", or "redis" and "kafka"; they are "redis" and "sqlite"',
    ],
    [
      'a store of a plugin',
      { MILLRACE_DRIVERS__STORE: '@acme/postgres' },
      'drivers.store: expected "sqlite" or "redis"; plugins can bring drivers for blobs only, because store, bus and jobs commit together',
    ],
    [
      'S3 without a bucket',
      { ...credentials, MILLRACE_DRIVERS__BLOBS: 's3' },
      's3.bucket: is required where blobs are on S3',
    ],
    [
      'half of the credentials',
      { MILLRACE_S3__BUCKET: 'abc', MILLRACE_S3__ACCESS_KEY_ID: '1234' },
      's3.secretAccessKey: is required where blobs are on S3',
    ],
    [
      'a secret that is soon guessed',
      { MILLRACE_NODE__SECRET: '123456789012345' },
      /^node\.secret: expected 16/,
    ],
    ['a node that no topic can be named after', { MILLRACE_NODE__ID: 'a b' }, /^node\.id: expected letters/],
    [
      'a broker without a port',
      { MILLRACE_KAFKA__BROKERS: '["kafka"]' },
      'kafka.brokers.0: expected host:port',
    ],
    [
      'a certificate where nothing is encrypted',
      { MILLRACE_KAFKA__CA: '/ca.pem' },
      'kafka.ca: needs kafka.ssl to be true; better set kafka.ssl.ca',
    ],
    [
      'half of a certificate',
      { MILLRACE_KAFKA__SSL__CERT: '/cert.pem' },
      'kafka.ssl.cert, kafka.ssl.key: expected both or neither',
    ],
    [
      'half of a certificate under the former name',
      { MILLRACE_KAFKA__SSL: 'true', MILLRACE_KAFKA__CERT: '/cert.pem' },
      'kafka.ssl.cert, kafka.ssl.key: expected both or neither',
    ],
    [
      'TLS that is neither on nor off',
      { MILLRACE_KAFKA__SSL: 'maybe' },
      'kafka.ssl: expected true, false, or paths of PEM files: {"ca", "cert", "key"}',
    ],
    [
      'an authority for a Redis that shows no certificate',
      { MILLRACE_REDIS__URL: 'redis://redis:6379', MILLRACE_REDIS__TLS__CA: '/ca.pem' },
      'redis.tls.ca: needs a redis.url that begins with rediss://',
    ],
    [
      'a way to log in that there is not',
      {
        MILLRACE_KAFKA__SASL__MECHANISM: 'gssapi',
        MILLRACE_KAFKA__SASL__USERNAME: 'me',
        MILLRACE_KAFKA__SASL__PASSWORD: 'it',
      },
      'kafka.sasl.mechanism: expected "plain", "scram-sha-256" or "scram-sha-512"',
    ],
    [
      'a name without a password',
      { MILLRACE_KAFKA__SASL__MECHANISM: 'plain', MILLRACE_KAFKA__SASL__USERNAME: 'me' },
      'kafka.sasl.password: is required',
    ],
    [
      'more copies in sync than there are',
      { MILLRACE_KAFKA__REPLICATION: '2', MILLRACE_KAFKA__MIN_INSYNC: '3' },
      'kafka.minInsync: expected at most kafka.replication, which is 2',
    ],
    [
      'a letter that is wrong in a variable',
      { MILLRACE_DATA_DRI: '/data' },
      'MILLRACE_DATA_DRI: there is no such key; did you mean MILLRACE_DATA_DIR?',
    ],
    [
      'a section that is misspelt, of a plugin',
      { MILLRACE_PLUGIN__STREAMS__HOLD: '6s' },
      'MILLRACE_PLUGIN__STREAMS__HOLD: there is no such key; did you mean MILLRACE_PLUGINS__STREAMS__HOLD?',
    ],
    [
      'a variable that is no key of the config, misspelt',
      { MILLRACE_CONFG: 'a.json' },
      'MILLRACE_CONFG: there is no such key; did you mean MILLRACE_CONFIG?',
    ],
    [
      'a field that is misspelt',
      { file: '{"rtmp": {"prot": 1}}' },
      'rtmp.prot: unknown field; did you mean port?',
    ],
    [
      'a scheme that is misspelt',
      { MILLRACE_PUBLIC_URL: 'htpps://example.com' },
      'publicUrl: expected a URL without a path, such as https://video.example.com; did you mean https?',
    ],
    [
      'a certificate that no port shows',
      { MILLRACE_TLS__CERT: 'a', MILLRACE_TLS__KEY: 'b' },
      'tls: no port uses it; set rtmp.tlsPort (1936, for example), or take tls away',
    ],
    ['RTMPS without TLS', { MILLRACE_RTMP__TLS_PORT: '1936' }, 'rtmp.tlsPort: needs tls.cert and tls.key'],
  ])('refuses %s', async (_, { file: text, ...environment }: Record<string, string>, problem) => {
    const path = text === undefined ? {} : { MILLRACE_CONFIG: await file('wrong.json', text) };
    const refusal = loadConfig({ ...path, ...environment });
    const one = typeof problem === 'string' ? problem : expect.stringMatching(problem);
    await expect(refusal).rejects.toMatchObject({ code: 'config.invalid', problems: [one] });
  });

  it('tells all that several nodes need, at once', async () => {
    await expect(loadConfig({ MILLRACE_PRESET: 'cluster' })).rejects.toMatchObject({
      problems: [
        'redis.url: is required where the store is Redis',
        'kafka.brokers: is required where the bus is Kafka',
        'node.id: is required where there may be several nodes',
        'node.secret: is required where there may be several nodes, the same on all of them',
        'secretsKey: is required where there may be several nodes, the same on all of them',
      ],
    });
  });

  it('has no port for broadcasts on a node that takes none', async () => {
    const environment = { MILLRACE_ROLES: '["api"]', MILLRACE_RTMP__TLS_PORT: '1936' };
    const tls = { MILLRACE_TLS__CERT: 'a', MILLRACE_TLS__KEY: 'b' };
    await expect(loadConfig({ ...environment, ...tls })).rejects.toMatchObject({
      problems: ['rtmp.tlsPort: needs "media" among the roles; this node takes no broadcasts'],
    });
  });

  const cluster = {
    MILLRACE_PRESET: 'cluster',
    MILLRACE_REDIS__URL: 'redis://me:pass%20word@redis:6379',
    MILLRACE_KAFKA__BROKERS: '["kafka:9092"]',
    MILLRACE_NODE__ID: 'a',
    // Only digits: it stays text.
    MILLRACE_NODE__SECRET: '1234567890123456',
    MILLRACE_SECRETS_KEY: '6543210987654321',
  };

  const s3 = { ...credentials, MILLRACE_S3__BUCKET: 'media' };

  it.each([
    [{}, ['sqlite', 'sqlite', 'fs']],
    [{ ...s3 }, ['sqlite', 'sqlite', 's3']],
    [cluster, ['redis', 'kafka', 'fs']],
    [{ ...cluster, ...s3 }, ['redis', 'kafka', 's3']],
    [{ ...cluster, ...s3, MILLRACE_DRIVERS__BLOBS: 'fs' }, ['redis', 'kafka', 'fs']],
  ])('has the drivers of its preset: %j', async (environment, expected) => {
    const config = await loadConfig(environment as Record<string, string>);
    const { store, bus, blobs } = driversOf(config);
    expect([store, bus, blobs]).toEqual(expected);
  });

  it('takes a set of drivers without a preset, and keys under their former names with a warning', async () => {
    const { MILLRACE_PRESET: _, ...engines } = cluster;
    const config = await loadConfig({
      ...engines,
      MILLRACE_DRIVERS__STORE: 'redis',
      MILLRACE_DRIVERS__BUS: 'kafka',
      MILLRACE_DRIVERS__JOBS: 'redis',
      MILLRACE_KAFKA__SSL: 'true',
      MILLRACE_KAFKA__CA: '/ca.pem',
    });
    expect(driversOf(config)).toEqual({ store: 'redis', bus: 'kafka', blobs: 'fs' });
    expect(outdated(config)).toEqual([
      'drivers.jobs has no effect any more. Remove it from the config.',
      'kafka.ca is kafka.ssl.ca now. Rename it in the config.',
    ]);
  });

  it('reads sentinels from the environment', async () => {
    const config = await loadConfig({
      MILLRACE_REDIS__SENTINELS:
        '[{"host": "sentinel-1", "password": "of-the-sentinel"}, {"host": "10.0.0.2", "port": 26380}]',
      MILLRACE_REDIS__MASTER: 'main',
    });
    const sentinels = [
      { host: 'sentinel-1', port: 26_379, password: 'of-the-sentinel' },
      { host: '10.0.0.2', port: 26_380 },
    ];
    expect(config.redis).toMatchObject({ master: 'main', sentinels });
    expect(secretsOf(config)).toContain('of-the-sentinel');
  });

  it('knows its secrets, as they are written and as they are meant', async () => {
    const config = await loadConfig({
      ...cluster,
      MILLRACE_S3__BUCKET: 'media',
      MILLRACE_S3__ACCESS_KEY_ID: 'AKIA',
      MILLRACE_S3__SECRET_ACCESS_KEY: 'a"b\\c',
      MILLRACE_BOOTSTRAP_KEY: 'bootstrap-key-of-16',
      MILLRACE_KAFKA__SASL__MECHANISM: 'scram-sha-512',
      MILLRACE_KAFKA__SASL__USERNAME: 'me',
      // It stays text.
      MILLRACE_KAFKA__SASL__PASSWORD: '31415926535',
    });
    expect(config.kafka.sasl?.password).toBe('31415926535');
    const secrets = secretsOf(config);
    const line = JSON.stringify({
      error: 'redis://me:pass%20word@redis:6379 AUTH pass word',
      s3: 'a"b\\c',
      key: '1234567890123456 bootstrap-key-of-16',
      kafka: 'me 31415926535',
    });
    expect(JSON.parse(concealed(line, secrets))).toEqual({
      error: 'redis://me:***@redis:6379 AUTH ***',
      s3: '***',
      key: '*** ***',
      kafka: 'me ***',
    });
  });

  it('lets one key win over its whole section', async () => {
    const environment = { MILLRACE_HTTP__PORT: '81', MILLRACE_HTTP: '{"port": 82, "host": "::"}' };
    expect((await loadConfig(environment)).http).toMatchObject({ port: 81, host: '::' });
  });

  it('refuses a file that is not there or not an object, naming it', async () => {
    await expect(loadConfig({ MILLRACE_CONFIG: '/nowhere.json' })).rejects.toThrow('/nowhere.json');
    const code = await file('code.ts', 'export default { http: { port: () => 1 } };');
    await expect(loadConfig({ MILLRACE_CONFIG: code })).rejects.toMatchObject({ code: 'config.invalid' });
    const path = await file('list.json', '[]');
    await expect(loadConfig({ MILLRACE_CONFIG: path })).rejects.toThrow('expected an object');
    const cut = await file('cut.json', '{\n  "http": {"port": 80\n}');
    await expect(loadConfig({ MILLRACE_CONFIG: cut })).rejects.toThrow(
      `MILLRACE_CONFIG=${cut}: Flow map must end with a } at line 3`,
    );
  });

  it('names the choice that was probably meant', async () => {
    const path = await file('choices.json', '{"preset": "clustr", "roles": ["api", "medai"]}');
    await expect(loadConfig({ MILLRACE_CONFIG: path })).rejects.toMatchObject({
      problems: [
        'preset: expected "embedded" or "cluster"; did you mean cluster?',
        'roles.1: expected one of api, media, actors and worker; did you mean media?',
      ],
    });
  });
});
