import { cidr } from '../core/base/cidr.ts';
import { driversOf, isLegalSet } from './drivers.ts';
import type { Config } from './schema.ts';

/** Problems that no key shows alone. The config may be as a person wrote it, with values of other types. */
export function contradictions(config: Partial<Config>): string[] {
  return [
    ...addressProblems(config),
    ...problemsAmong(rtmpRules(config)),
    ...problemsAmong(driverRules(config)),
    ...policyProblems(config.plugins),
  ];
}

/** Of `plugins.playback.policy`, which other plugins carry out. */
function policyProblems(slices: unknown): string[] {
  const { playback, protection, ingest } = (slices ?? {}) as Readonly<Record<string, unknown>>;
  const policy = (playback as { policy?: unknown } | null | undefined)?.policy;
  if (policy === undefined || policy === 'public') return [];
  const { type, countries } = policy as { type?: unknown; countries?: unknown };
  const isOpen = type === 'public' && Object.keys(policy as object).length === 1;
  const database = (ingest as { database?: unknown } | null | undefined)?.database;
  return problemsAmong([
    [
      protection === false && !isOpen,
      'plugins.playback.policy: needs the plugin protection, which is off; without it everybody may watch',
    ],
    [
      listOf(countries).length > 0 && database === undefined,
      'plugins.playback.policy.countries: needs plugins.ingest.database',
    ],
  ]);
}

/** Whether something is wrong, and what. */
type Rule = readonly [isWrong: boolean, problem: string];

function problemsAmong(rules: readonly Rule[]): string[] {
  return rules.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

function addressProblems({ publicUrl, http, outbound, redis, s3, node }: Partial<Config>): string[] {
  const urls = [
    ['publicUrl', publicUrl, 'a URL without a path, such as https://video.example.com'],
    ['redis.url', redis?.url, 'a URL such as redis://user:password@host:6379'],
    ['s3.endpoint', s3?.endpoint, 'a URL without a path, such as https://s3.example.com'],
    ['node.url', node?.url, 'a URL without a path, such as http://10.0.0.7:8080'],
  ] as const;
  const blocks = [
    ['http.trustedProxies', http?.trustedProxies, '10.0.0.0/8 or 2001:db8::/32'],
    ['outbound.allow', outbound?.allow, '10.0.0.0/8 or fd00::/8'],
  ] as const;
  return [
    ...problemsAmong(
      urls.map(([key, url, expected]) => [
        typeof url === 'string' && !URL.canParse(url),
        `${key}: expected ${expected}`,
      ]),
    ),
    ...blocks.flatMap(([key, list, example]) =>
      problemsAmong(
        listOf(list).map((text, index) => [
          typeof text === 'string' && !cidr(text),
          `${key}.${index}: expected a block such as ${example}`,
        ]),
      ),
    ),
  ];
}

function rtmpRules({ rtmp, tls, roles }: Partial<Config>): Rule[] {
  const hasPort = rtmp?.tlsPort !== undefined;
  const isElsewhere = Array.isArray(roles) && !roles.includes('media');
  return [
    [!hasPort && !!tls, 'tls: no port uses it; set rtmp.tlsPort (1936, for example), or take tls away'],
    [hasPort && !tls, 'rtmp.tlsPort: needs tls.cert and tls.key'],
    [hasPort && isElsewhere, 'rtmp.tlsPort: needs "media" among the roles; this node takes no broadcasts'],
  ];
}

function driverRules(config: Partial<Config>): Rule[] {
  const drivers = driversOf(config);
  const { store, bus, blobs } = drivers;
  const { redis, kafka, s3, node, secretsKey } = config;
  const { ssl, ca, cert, key, replication, minInsync } = kafka ?? {};
  const files = typeof ssl === 'object' ? ssl : { cert, key };
  const isPlainRedis = typeof redis?.url === 'string' && !redis.url.startsWith('rediss:');
  const areNumbers = typeof replication === 'number' && typeof minInsync === 'number';
  const [onKafka, onS3] = [bus === 'kafka', blobs === 's3'];
  return [
    [
      [store, bus].every((name) => engines.has(name)) && !isLegalSet(drivers),
      `drivers: expected store and bus to be both "sqlite", or "redis" and "kafka"; they are "${store}" and "${bus}"`,
    ],
    [store === 'redis' && redis?.url === undefined, 'redis.url: is required where the store is Redis'],
    [
      (redis?.tls?.ca ?? redis?.ca) !== undefined && isPlainRedis,
      'redis.tls.ca: needs a redis.url that begins with rediss://',
    ],
    [onKafka && listOf(kafka?.brokers).length === 0, 'kafka.brokers: is required where the bus is Kafka'],
    ...Object.entries({ ca, cert, key }).map(
      ([name, path]): Rule => [
        path !== undefined && ssl !== true,
        `kafka.${name}: needs kafka.ssl to be true; better set kafka.ssl.${name}`,
      ],
    ),
    [
      (files.cert === undefined) !== (files.key === undefined),
      'kafka.ssl.cert, kafka.ssl.key: expected both or neither',
    ],
    [
      areNumbers && minInsync > replication,
      `kafka.minInsync: expected at most kafka.replication, which is ${replication}`,
    ],
    [onS3 && s3?.bucket === undefined, 's3.bucket: is required where blobs are on S3'],
    [onS3 && s3?.accessKeyId === undefined, 's3.accessKeyId: is required where blobs are on S3'],
    [onS3 && s3?.secretAccessKey === undefined, 's3.secretAccessKey: is required where blobs are on S3'],
    [onKafka && node?.id === undefined, 'node.id: is required where there may be several nodes'],
    [
      onKafka && node?.secret === undefined,
      'node.secret: is required where there may be several nodes, the same on all of them',
    ],
    [
      onKafka && secretsKey === undefined,
      'secretsKey: is required where there may be several nodes, the same on all of them',
    ],
  ];
}

/** Another name is a problem of its key alone. */
const engines: ReadonlySet<unknown> = new Set(['sqlite', 'redis', 'kafka']);

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A warning for each key that older versions knew and this one accepts: without using it, or under another name. */
export function outdated(config: Pick<Config, 'recording' | 'drivers' | 'redis' | 'kafka'>): string[] {
  const { recording, drivers, redis, kafka } = config;
  const ofNoUse = { 'recording.direct': recording.direct, 'drivers.jobs': drivers.jobs };
  const renamed = {
    'redis.ca': [redis.ca, 'redis.tls.ca'],
    'kafka.ca': [kafka.ca, 'kafka.ssl.ca'],
    'kafka.cert': [kafka.cert, 'kafka.ssl.cert'],
    'kafka.key': [kafka.key, 'kafka.ssl.key'],
  };
  return [
    ...Object.entries(ofNoUse)
      .filter(([, value]) => value !== undefined)
      .map(([key]) => `${key} has no effect any more. Remove it from the config.`),
    ...Object.entries(renamed)
      .filter(([, [value]]) => value !== undefined)
      .map(([key, [, name]]) => `${key} is ${name} now. Rename it in the config.`),
  ];
}
