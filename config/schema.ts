import { type Static, Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../core/base/config-fields.ts';
import { object, oneOf, optional } from '../core/base/schema.ts';
import { allRoles } from '../core/plugin/nodes.ts';
import { driversSchema, kafkaSchema, redisSchema, s3Schema } from './engines.ts';
import { conversion, ffmpeg, hls, push, recording, renditions, rtmp, stills, tls } from './media.ts';
import { mebibytes, port, section } from './sections.ts';

const secret = (description: string) =>
  optional.string({
    isSecret: true,
    // What a header can carry.
    pattern: '^[!-~]{16,200}$',
    expected: '16 to 200 letters, digits or signs, without spaces',
    description,
  });

const http = section({
  host: Type.String({ default: '0.0.0.0', description: 'Address the HTTP server listens on.' }),
  port: port({ default: 8080, description: 'Port of the API and of playback. 0: any free port.' }),
  trustedProxies: Type.Array(Type.String(), {
    default: [],
    maxItems: 1000,
    description:
      'Address blocks of reverse proxies, such as ["10.0.0.0/8"]. Only their X-Forwarded-For, -Proto, -Host and -Port are trusted.',
  }),
  connectionsPerAddress: limitSchema(
    'HTTP connections of one address, or one /64 of IPv6. Further ones are closed at once. Does not apply to `http.trustedProxies`, nor to other nodes.',
    { default: 4096, unit: 'connections' },
  ),
  requests: limitSchema(
    'Concurrent HTTP requests, with blocked playlist requests and event streams. Further ones get 503 `server.busy`, except `/health/*` and `/metrics`.',
    { default: 100_000, unit: 'requests' },
  ),
});

const node = section({
  id: optional.string({
    pattern: '^[a-zA-Z0-9._-]+$',
    expected: 'letters, digits, ".", "_" or "-"',
    maxLength: 100,
    description:
      'Name of this node, the same after a restart. Required with several nodes. Default: `local`.',
  }),
  url: optional.string({
    pattern: '^https?://[^/?#@\\s]+$',
    schemes: ['http', 'https'],
    expected: 'a URL without a path, such as http://10.0.0.7:8080',
    description:
      'URL at which other nodes reach this one. Default: http.port at http.host, or at the first address of this machine.',
  }),
  ingestUrl: optional.string({
    pattern: '^rtmps?://[^/?#@\\s]+/[^?#@\\s]*[^/?#@\\s]$',
    expected: 'a URL such as rtmp://fra-rtmp.example.com/live, without a stream key',
    description:
      'URL at which encoders reach this node, as clients see it. Nodes behind one load balancer have the same URL. Default: rtmp.port at the host of node.url; with a single node at the host of the request.',
  }),
  secret: secret('Shared secret of the nodes, the same on all of them. Required with several nodes.'),
  timeout: durationSchema(
    'A node without a heartbeat for this long is dead: it stops, and its broadcasts continue on other nodes. Heartbeats are sent three times in this time. At least 1s.',
    { default: '10s', atLeast: '1s' },
  ),
});

const onError = { expected: '"refuse" or "allow"' };

/** Questions to plugins that decide: docs/plugins/decide.md. */
const decisions = section({
  timeout: durationSchema(
    'Time for the answer of a plugin that decides about broadcasts, playback, uploads, exports or webhook deliveries. 100ms to 8s.',
    { default: '3s', atLeast: '100ms', atMost: '8s' },
  ),
  onError: oneOf(['refuse', 'allow'], {
    ...onError,
    default: 'refuse',
    description:
      'What a plugin that fails to decide counts as: it throws an error, does not answer in time, or answers nonsense.',
  }),
  plugins: Type.Record(Type.String(), oneOf(['refuse', 'allow'], onError), {
    default: {},
    description: 'The same for single plugins: plugin id → `refuse` or `allow`.',
  }),
});

/** Everything a deployment can set, with its default. The reference in docs/ is made from this. */
export const configSchema = object({
  http,
  rtmp,
  tls: Type.Optional(tls),
  publicUrl: optional.string({
    pattern: '^https?://[^/?#]+$',
    schemes: ['http', 'https'],
    expected: 'a URL without a path, such as https://video.example.com',
    description:
      'Start of every URL shown to clients. Default: the address of the request; in events and webhooks http://localhost:<http.port>, or http.host where that is one address.',
  }),
  dataDir: Type.String({ default: './data', description: 'Folder of all persistent data.' }),
  bootstrapKey: secret(
    'API key of the admin account, the same on all nodes with the role `api`. Default: made in dataDir by the first node that starts.',
  ),
  secretsKey: secret(
    'Key that secrets are sealed with before they are stored, such as those of webhooks; the same on all nodes, and for the life of the data. Required with several nodes. Default: made by the first start as `secrets.key` in dataDir.',
  ),
  region: optional.string({
    pattern: '^[a-z]{3}$',
    expected: 'three lower-case letters, such as the airport code "fra"',
    description:
      'Region of this node, three lower-case letters. `/api/ingest?first=false` shows it, and nodes list media nodes of their own region first.',
  }),
  preset: oneOf(['embedded', 'cluster'], {
    default: 'embedded',
    expected: '"embedded" or "cluster"',
    description:
      '`embedded`: one process with everything. `cluster`: any number of nodes on Redis and Kafka.',
  }),
  drivers: driversSchema,
  redis: redisSchema,
  kafka: kafkaSchema,
  s3: s3Schema,
  roles: Type.Array(oneOf(allRoles, { expected: 'one of api, media, actors and worker' }), {
    default: [...allRoles],
    minItems: 1,
    uniqueItems: true,
    description:
      'What this node does: `api` answers the API, `media` takes broadcasts, `actors` runs the state machines, `worker` does jobs such as webhooks. Every node serves `/health/*`, `/metrics` and playback.',
  }),
  node,
  hls,
  recording,
  push,
  uploads: section({
    reserve: mebibytes(
      1,
      'Disk space that uploads and imports leave free, on the disk of the data and that of the blobs. Below it they get 507 `intake.full`. Default: twice `recording.reserve`, because a broadcast cannot be sent again.',
    ),
  }),
  outbound: section({
    allow: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1000,
        isReloaded: true,
        description:
          'Private address blocks that webhooks, imports, exports and pushes of every account may call. Default: the admin account may call this machine itself (127.0.0.0/8, ::1), except the ports of the server and of its engines; other accounts may call no private address.',
      }),
    ),
    requests: limitSchema('Concurrent outbound requests. Further ones fail and are tried again later.', {
      default: 1000,
      unit: 'requests',
    }),
  }),
  ffmpeg,
  renditions,
  conversion,
  stills,
  decisions,
  actors: section({
    hot: limitSchema(
      'Actors kept in memory, about 10 KB each. Others are loaded from the store when needed.',
      { default: 10_000, unit: 'actors' },
    ),
  }),
  log: section({
    level: oneOf(['debug', 'info', 'warn', 'error'], {
      default: 'info',
      isReloaded: true,
      description: 'Lowest level that is logged: debug, info, warn or error.',
    }),
  }),
  plugins: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: 'Plugin id → its config, or false to switch it off. Other names are packages.',
  }),
});

export type Config = Static<typeof configSchema>;
