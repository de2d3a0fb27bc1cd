import { Type } from '@sinclair/typebox';
import { section } from './sections.ts';

/** Names that Kafka and Redis take as part of theirs. */
const namespace = (description: string) =>
  Type.String({
    default: 'millrace',
    pattern: '^[a-zA-Z0-9_-]{1,50}$',
    expected: '1 to 50 letters, digits, "_" or "-"',
    description,
  });
const oneOf = <A extends string, B extends string>(a: A, b: B, description: string) =>
  Type.Optional(
    Type.Union([Type.Literal(a), Type.Literal(b)], { expected: `"${a}" or "${b}"`, description }),
  );

const pemFile = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, description: `Path of a PEM file. ${description}` }));

/** Which engine meets which port. What is not said here is as the preset has it. */
export const driversSchema = section({
  store: oneOf(
    'sqlite',
    'redis',
    'What holds everything that must last but media. Store, bus and jobs are all `sqlite`, or `redis`, `kafka` and `bullmq`. Default: by preset.',
  ),
  bus: oneOf('sqlite', 'kafka', 'How nodes speak to each other. Default: by preset.'),
  jobs: oneOf('sqlite', 'bullmq', 'Who queues work. Default: by preset.'),
  blobs: oneOf(
    'fs',
    's3',
    'Where files are kept. `fs` is a folder in dataDir, which several nodes must share. Default: `s3` when s3.bucket is set, else `fs`.',
  ),
});

export const redisSchema = section({
  url: Type.Optional(
    Type.String({
      pattern: '^rediss?://[^\\s]{1,500}$',
      expected: 'a URL such as redis://user:password@host:6379',
      schemes: ['redis', 'rediss'],
      description: '`redis://` or, over TLS, `rediss://`, with user and password where it has any.',
    }),
  ),
  ca: pemFile(
    'Authority that signed the certificate of Redis; needs `rediss://`. Default: those that are known to the system.',
  ),
  namespace: namespace('Begins every key, so that several deployments can share a Redis.'),
  fsync: Type.Union([Type.Literal('everysec'), Type.Literal('always')], {
    default: 'everysec',
    expected: '"everysec" or "always"',
    description:
      'What `appendfsync` of the Redis must be at least. With `everysec` a power failure of its machine may take up to a second of acknowledged writes, a crash of Redis alone takes none; with `always` neither does.',
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
      description: 'Some of the brokers, such as ["kafka-1:9092"]; the others are learnt from them.',
    },
  ),
  ssl: Type.Boolean({ default: false, description: 'Speaks to Kafka over TLS.' }),
  ca: pemFile(
    'Authority that signed the certificates of the brokers. Default: those that are known to the system.',
  ),
  cert: pemFile('Certificate that this node shows to brokers that ask for one.'),
  key: pemFile('Private key of kafka.cert.'),
  sasl: Type.Optional(
    Type.Object(
      {
        mechanism: Type.Union(
          [Type.Literal('plain'), Type.Literal('scram-sha-256'), Type.Literal('scram-sha-512')],
          {
            expected: '"plain", "scram-sha-256" or "scram-sha-512"',
            description:
              'How this node says who it is. `plain` sends the password as it is: only with kafka.ssl.',
          },
        ),
        username: Type.String({ minLength: 1, description: 'As whom it comes.' }),
        password: Type.String({ minLength: 1, description: 'Its password.' }),
      },
      { additionalProperties: false },
    ),
  ),
  replication: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description:
        'Copies of each topic that is made, on as many brokers. Default: what the brokers have. Topics that are there stay as they are.',
    }),
  ),
  minInsync: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description:
        'How many of these copies must have a record before it is acknowledged (`min.insync.replicas`); 2 of 3 survives the loss of a broker. Default: what the brokers have.',
    }),
  ),
  namespace: namespace('Begins the name of every topic and group.'),
  partitions: Type.Integer({
    default: 16,
    minimum: 1,
    maximum: 1024,
    description: 'Partitions that actors are spread over. Fixed for the life of the data.',
  }),
});

export const s3Schema = section({
  endpoint: Type.Optional(
    Type.String({
      pattern: '^https?://[^/?#@\\s]+/?$',
      expected: 'a URL without a path, such as https://s3.example.com',
      description: 'Of a server that is not the S3 of AWS.',
    }),
  ),
  bucket: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
      expected: '3 to 63 small letters, digits, "." or "-"',
      description: 'It is made at the first start where that is allowed.',
    }),
  ),
  region: Type.String({ default: 'us-east-1', minLength: 1, description: 'Region of the bucket.' }),
  accessKeyId: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Required with a bucket.',
    }),
  ),
  secretAccessKey: Type.Optional(Type.String({ minLength: 1, description: 'Required with a bucket.' })),
  forcePathStyle: Type.Optional(
    Type.Boolean({ description: 'The bucket is in the path, not in the host. Default: with an endpoint.' }),
  ),
});
