import { cidr } from '../core/base/cidr.ts';
import { driversOf, isLegalSet } from './drivers.ts';
import type { Config } from './schema.ts';

/** What one key cannot tell alone. The config may be as a person wrote it. */
export function contradictions(config: Partial<Config>): string[] {
  return [
    ...addressProblems(config),
    ...rtmpProblems(config),
    ...driverProblems(config),
    ...nodeProblems(config),
  ];
}

function addressProblems({ publicUrl, http, outbound }: Partial<Config>): string[] {
  const problems: string[] = [];
  if (typeof publicUrl === 'string' && !URL.canParse(publicUrl)) {
    problems.push('publicUrl: expected a URL without a path, such as https://video.example.com');
  }
  for (const [index, text] of listOf(http?.trustedProxies).entries()) {
    if (typeof text === 'string' && !cidr(text)) {
      problems.push(
        `http.trustedProxies.${index}: expected a block of addresses such as 10.0.0.0/8 or 2001:db8::/32`,
      );
    }
  }
  for (const [index, text] of listOf(outbound?.allow).entries()) {
    if (typeof text === 'string' && !cidr(text)) {
      problems.push(`outbound.allow.${index}: expected a block such as 10.0.0.0/8 or fd00::/8`);
    }
  }
  return problems;
}

function rtmpProblems({ rtmp, tls, roles }: Partial<Config>): string[] {
  if (rtmp?.tlsPort === undefined) {
    return tls ? ['tls: no port uses it; set rtmp.tlsPort (1936, for example), or take tls away'] : [];
  }
  const problems = tls ? [] : ['rtmp.tlsPort: needs tls.cert and tls.key'];
  if (Array.isArray(roles) && !roles.includes('media')) {
    problems.push('rtmp.tlsPort: needs "media" among the roles; this node takes no broadcasts');
  }
  return problems;
}

function driverProblems(config: Partial<Config>): string[] {
  const drivers = driversOf(config);
  const problems: string[] = [];
  if (!isLegalSet(drivers)) {
    const { store, bus, jobs } = drivers;
    problems.push(
      `drivers: expected store, bus and jobs to be all "sqlite", or "redis", "kafka" and "bullmq"; they are "${store}", "${bus}" and "${jobs}"`,
    );
  }
  if (drivers.store === 'redis' && config.redis?.url === undefined) {
    problems.push('redis.url: is required where the store is Redis');
  }
  if (typeof config.redis?.url === 'string' && !URL.canParse(config.redis.url)) {
    problems.push('redis.url: expected a URL such as redis://user:password@host:6379');
  }
  if (drivers.bus === 'kafka' && listOf(config.kafka?.brokers).length === 0) {
    problems.push('kafka.brokers: is required where the bus is Kafka');
  }
  problems.push(...tlsProblems(config));
  const { bucket, endpoint, accessKeyId, secretAccessKey } = config.s3 ?? {};
  if (drivers.blobs === 's3' && bucket === undefined) {
    problems.push('s3.bucket: is required where blobs are on S3');
  }
  if (typeof endpoint === 'string' && !URL.canParse(endpoint)) {
    problems.push('s3.endpoint: expected a URL without a path, such as https://s3.example.com');
  }
  if (drivers.blobs === 's3' && accessKeyId === undefined) {
    problems.push('s3.accessKeyId: is required where blobs are on S3');
  }
  if (drivers.blobs === 's3' && secretAccessKey === undefined) {
    problems.push('s3.secretAccessKey: is required where blobs are on S3');
  }
  return problems;
}

function tlsProblems({ redis, kafka }: Partial<Config>): string[] {
  const problems: string[] = [];
  if (redis?.ca !== undefined && typeof redis.url === 'string' && !redis.url.startsWith('rediss:')) {
    problems.push('redis.ca: needs a redis.url that begins with rediss://');
  }
  const { ssl, ca, cert, key, replication, minInsync } = kafka ?? {};
  for (const [name, path] of Object.entries({ ca, cert, key })) {
    if (path !== undefined && ssl !== true) problems.push(`kafka.${name}: needs kafka.ssl to be true`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    problems.push('kafka.cert, kafka.key: expected both or neither');
  }
  if (typeof replication === 'number' && typeof minInsync === 'number' && minInsync > replication) {
    problems.push(`kafka.minInsync: expected at most kafka.replication, which is ${replication}`);
  }
  return problems;
}

function nodeProblems(config: Partial<Config>): string[] {
  const problems: string[] = [];
  const { id, url, secret } = config.node ?? {};
  if (typeof url === 'string' && !URL.canParse(url)) {
    problems.push('node.url: expected a URL without a path, such as http://10.0.0.7:8080');
  }
  if (driversOf(config).bus !== 'kafka') return problems;
  if (id === undefined) problems.push('node.id: is required where there may be several nodes');
  if (secret === undefined) {
    problems.push('node.secret: is required where there may be several nodes, the same on all of them');
  }
  return problems;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A warning for each key that older versions knew and this one accepts without using it. */
export function outdated({ recording }: Pick<Config, 'recording'>): string[] {
  return recording.direct === undefined
    ? []
    : ['recording.direct has no effect any more. Remove it from the config.'];
}
