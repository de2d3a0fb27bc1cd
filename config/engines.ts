import { Type } from '@sinclair/typebox';
import { object, oneOf, optional } from '../core/base/schema.ts';
import { section } from './sections.ts';

/** Names that Kafka and Redis take as part of theirs. */
const namespace = (description: string) =>
  Type.String({
    default: 'millrace',
    pattern: '^[a-zA-Z0-9_-]{1,50}$',
    expected: '1 to 50 letters, digits, "_" or "-"',
    description,
  });
/** A plugin cannot replace these: one commit writes the rows, the timers, the events and the jobs of a step. */
const driver = <T extends string>(a: T, b: T, description: string) =>
  Type.Optional(
    oneOf([a, b], {
      expected: `"${a}" or "${b}"; plugins can bring drivers for blobs only, because store, bus and jobs commit together`,
      description,
    }),
  );

const pemFile = (description: string) =>
  optional.string({ minLength: 1, description: `Path of a PEM file. ${description}` });

/** Which engine meets which port. What is not said here is as the preset has it. */
export const driversSchema = section({
  store: driver(
    'sqlite',
    'redis',
    'Store of all persistent data except media, jobs included. Store and bus are both `sqlite`, or `redis` and `kafka`. Default: by preset.',
  ),
  bus: driver('sqlite', 'kafka', 'Messages between nodes. Default: by preset.'),
  jobs: driver('sqlite', 'redis', 'Has no effect any more: jobs are in the store.'),
  blobs: optional.string({
    minLength: 1,
    maxLength: 300,
    expected: '"fs", "s3" or the name of a plugin',
    description:
      'Where files are kept. `fs` is a folder in dataDir, which several nodes must share. Another name is a plugin that brings a driver; `plugins` must name it too. Default: `s3` when s3.bucket is set, else `fs`.',
  }),
});

export const redisSchema = section({
  url: optional.string({
    pattern: '^rediss?://[^\\s]{1,500}$',
    expected: 'a URL such as redis://user:password@host:6379',
    schemes: ['redis', 'rediss'],
    description: 'URL of Redis: `redis://`, or `rediss://` for TLS, with user and password if needed.',
  }),
  tls: section({
    ca: pemFile('Certificate authority of Redis; needs `rediss://`. Default: the authorities of the system.'),
  }),
  sentinels: Type.Array(
    object({
      host: Type.String({ minLength: 1, maxLength: 253, description: 'Host name or address.' }),
      port: Type.Integer({ minimum: 1, maximum: 65_535, default: 26_379, description: 'Port.' }),
      username: optional.string({ minLength: 1, description: 'User at the Sentinel.' }),
      password: optional.string({ isSecret: true, minLength: 1, description: 'Password at the Sentinel.' }),
    }),
    {
      default: [],
      maxItems: 100,
      description:
        'Redis Sentinels, such as [{"host": "sentinel-1", "port": 26379}]. They tell the host and port of the primary; user, password, database and TLS are those of redis.url. They use TLS where redis.url does.',
    },
  ),
  master: Type.String({
    default: 'mymaster',
    pattern: '^[^\\s]{1,100}$',
    expected: 'a name without spaces',
    description: 'Name of the primary in the Sentinels.',
  }),
  ca: pemFile('Former name of redis.tls.ca.'),
  namespace: namespace('Prefix of every key, so that several deployments can share a Redis.'),
  fsync: oneOf(['everysec', 'always'], {
    default: 'everysec',
    expected: '"everysec" or "always"',
    description:
      'Minimum for `appendfsync` of Redis. With `everysec` a power failure of its machine can lose one second of acknowledged writes; with `always` it loses none. A crash of Redis alone loses nothing.',
  }),
  allowLoss: Type.Boolean({
    default: false,
    description: 'Starts on a Redis that does not keep its writes (no AOF). For tests.',
  }),
});

export const kafkaSchema = section({
  brokers: Type.Array(
    Type.String({
      pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^\\s:/@]{1,253}):\\d{1,5}$',
      expected: 'host:port',
    }),
    {
      default: [],
      maxItems: 100,
      description: 'Some of the brokers, such as ["kafka-1:9092"]; these name the others.',
    },
  ),
  ssl: Type.Union(
    [
      Type.Boolean(),
      object({
        ca: pemFile('Certificate authority of the brokers. Default: the authorities of the system.'),
        cert: pemFile('Client certificate for brokers that request one.'),
        key: pemFile('Private key of `cert`.'),
      }),
    ],
    {
      default: false,
      expected: 'true, false, or paths of PEM files: {"ca", "cert", "key"}',
      description:
        'TLS to Kafka: true, or paths of PEM files. `ca` is the authority of the brokers (default: those of the system), `cert` and `key` are for brokers that request a client certificate.',
    },
  ),
  ca: pemFile('Former name of kafka.ssl.ca.'),
  cert: pemFile('Former name of kafka.ssl.cert.'),
  key: pemFile('Former name of kafka.ssl.key.'),
  sasl: Type.Optional(
    object({
      mechanism: oneOf(['plain', 'scram-sha-256', 'scram-sha-512'], {
        expected: '"plain", "scram-sha-256" or "scram-sha-512"',
        description:
          'Authentication method. `plain` sends the password unencrypted, so use it only with kafka.ssl.',
      }),
      username: Type.String({ minLength: 1, description: 'User for SASL.' }),
      password: Type.String({ isSecret: true, minLength: 1, description: 'Password for SASL.' }),
    }),
  ),
  replication: optional.integer({
    minimum: 1,
    maximum: 100,
    description:
      'Replication factor of new topics. Existing topics do not change. Default: the setting of the brokers.',
  }),
  minInsync: optional.integer({
    minimum: 1,
    maximum: 100,
    description:
      'Replicas that must have a record before it is acknowledged (`min.insync.replicas`). 2 of 3 survives the loss of a broker. Default: the setting of the brokers.',
  }),
  namespace: namespace('Prefix of the name of every topic and group.'),
  partitions: Type.Integer({
    default: 16,
    minimum: 1,
    maximum: 1024,
    description: 'Number of partitions for the actors. It cannot change later.',
  }),
});

export const s3Schema = section({
  endpoint: optional.string({
    pattern: '^https?://[^/?#@\\s]+/?$',
    expected: 'a URL without a path, such as https://s3.example.com',
    description: 'URL of an S3 server other than AWS.',
  }),
  bucket: optional.string({
    pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
    expected: '3 to 63 small letters, digits, "." or "-"',
    description: 'Name of the bucket. The first start creates it, if the credentials allow that.',
  }),
  region: Type.String({ default: 'us-east-1', minLength: 1, description: 'Region of the bucket.' }),
  accessKeyId: optional.string({
    minLength: 1,
    description: 'Required with a bucket.',
  }),
  secretAccessKey: optional.string({ isSecret: true, minLength: 1, description: 'Required with a bucket.' }),
  forcePathStyle: optional.boolean({
    description:
      'Whether the bucket is in the path of URLs instead of the host. Default: true if s3.endpoint is set.',
  }),
});
