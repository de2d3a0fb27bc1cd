import { type Static, Type } from '@sinclair/typebox';
import { durationSchema } from '../core/base/duration.ts';
import { limitSchema } from '../core/base/limit-schema.ts';
import { configLimits } from '../core/base/limits.ts';
import { allRoles } from '../core/plugin/nodes.ts';
import { driversSchema, kafkaSchema, redisSchema, s3Schema } from './engines.ts';

/** `isNoLimit`: a number that bounds nothing, and so is not in the table of limits. */
const port = (options: { default?: number; description: string }) =>
  Type.Integer({ minimum: 0, maximum: 65_535, isNoLimit: true, ...options });
const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { default: {}, additionalProperties: false });

/** Everything a deployment can set, with its default. The reference in docs/ is made from this. */
export const configSchema = Type.Object(
  {
    http: section({
      host: Type.String({ default: '0.0.0.0', description: 'Address the HTTP server listens on.' }),
      port: port({ default: 8080, description: 'Port of the API and of playback. 0 = any free one.' }),
      trustedProxies: Type.Array(Type.String(), {
        default: [],
        maxItems: configLimits.trustedProxies.value,
        description:
          'Address blocks of reverse proxies, such as ["10.0.0.0/8"], whose X-Forwarded-For, -Proto, -Host and -Port are believed. Nobody else\'s are.',
      }),
      requests: limitSchema({
        default: 100_000,
        unit: 'requests',
        description:
          'HTTP requests in hand at one time: those of viewers that wait, and event streams, count.',
        beyond: 'Further ones get 503 `server.busy`, but for `/health/*` and `/metrics`.',
      }),
    }),
    rtmp: section({
      host: Type.String({ default: '0.0.0.0', description: 'Address the RTMP server listens on.' }),
      port: port({ default: 1935, description: 'Port encoders connect to. 0 = any free one.' }),
      tlsPort: Type.Optional(port({ description: 'Port for RTMPS; needs tls.' })),
      connectionsPerAddress: limitSchema({
        default: 500,
        unit: 'connections',
        description: 'RTMP connections one address, or one /64 of IPv6, may have.',
        beyond: 'Further ones are closed at once.',
      }),
      connections: limitSchema({
        default: 10_000,
        unit: 'connections',
        description: 'RTMP connections in all.',
        beyond: 'Further ones are closed at once.',
      }),
      publishTimeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'Time an encoder has from connecting to publishing. At least 1s.',
        beyond: 'It is closed.',
      }),
      idleTimeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'How long an encoder may send nothing. At least 1s.',
        beyond: 'It is closed; its broadcast ends uncleanly.',
      }),
      messageSize: limitSchema({
        default: 10,
        maximum: configLimits.messageSize.value,
        unit: 'MiB',
        description: 'One RTMP message, that is a picture, in MiB.',
        beyond: 'It ends its connection.',
      }),
    }),
    tls: Type.Optional(
      Type.Object(
        {
          cert: Type.String({ description: 'Path of the certificate chain, PEM.' }),
          key: Type.String({ description: 'Path of the private key, PEM.' }),
        },
        { additionalProperties: false },
      ),
    ),
    publicUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#]+$',
        schemes: ['http', 'https'],
        expected: 'a URL without a path, such as https://video.example.com',
        description:
          'What every URL shown to clients begins with. Default: the address that a request came to; in events and webhooks, where there is none, http://localhost:<http.port>, or http.host where that is one address.',
      }),
    ),
    dataDir: Type.String({ default: './data', description: 'Folder for everything that must last.' }),
    bootstrapKey: Type.Optional(
      Type.String({
        // What a header can carry: a key with a space in it would never be found.
        pattern: '^[!-~]{16,200}$',
        expected: '16 to 200 letters, digits or signs, without spaces',
        description:
          'API key of the admin account. Default: made at the first start, in dataDir; of several nodes in that of the one that starts first. The same on all nodes with the role `api`.',
      }),
    ),
    region: Type.Optional(
      Type.String({
        pattern: '^[a-z]{3}$',
        expected: 'three lower-case letters, such as the airport code "fra"',
        description:
          'Where this node is: three lower-case letters. `/api/ingest?first=false` shows it, and nodes name media nodes of their own region first.',
      }),
    ),
    preset: Type.Union([Type.Literal('embedded'), Type.Literal('cluster')], {
      default: 'embedded',
      expected: '"embedded" or "cluster"',
      description:
        '`embedded`: everything in one process, nothing beside it. `cluster`: any number of nodes on Redis and Kafka.',
    }),
    drivers: driversSchema,
    redis: redisSchema,
    kafka: kafkaSchema,
    s3: s3Schema,
    roles: Type.Array(
      Type.Union(
        allRoles.map((role) => Type.Literal(role)),
        { expected: 'one of api, media, actors and worker' },
      ),
      {
        default: [...allRoles],
        minItems: 1,
        uniqueItems: true,
        description:
          'What this node does: `api` answers the API, `media` takes broadcasts, `actors` decides what becomes of them, `worker` does work such as calling webhooks. Every node serves `/health/*`, `/metrics` and playback.',
      },
    ),
    node: section({
      id: Type.Optional(
        Type.String({
          pattern: '^[a-zA-Z0-9._-]+$',
          expected: 'letters, digits, ".", "_" or "-"',
          maxLength: configLimits.nodeIdLength.value,
          description:
            'Name of this node, the same after a restart. Required where there are several. Default: `local`.',
        }),
      ),
      url: Type.Optional(
        Type.String({
          pattern: '^https?://[^/?#@\\s]+$',
          schemes: ['http', 'https'],
          expected: 'a URL without a path, such as http://10.0.0.7:8080',
          description:
            'Where other nodes reach this one. Default: http.port at http.host, or at the first address of this machine when it listens on all.',
        }),
      ),
      ingestUrl: Type.Optional(
        Type.String({
          pattern: '^rtmps?://[^/?#@\\s]+/[^?#@\\s]*[^/?#@\\s]$',
          expected: 'a URL such as rtmp://fra-rtmp.example.com/live, without a stream key',
          description:
            'Where encoders reach this node; clients are told so while it lives. Several nodes behind one balancer name the same. Default: rtmp.port at the host of node.url; alone at the address that a request came to.',
        }),
      ),
      secret: Type.Optional(
        Type.String({
          pattern: '^[!-~]{16,200}$',
          expected: '16 to 200 letters, digits or signs, without spaces',
          description:
            'By which nodes know each other. The same on all of them; required where there are several.',
        }),
      ),
      timeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'A node not heard of for this long is dead. It beats every third of it. At least 1s.',
        beyond: 'Its broadcasts go on elsewhere; the node itself stops.',
      }),
    }),
    hls: section({
      part: durationSchema({
        default: '350ms',
        atLeast: '200ms',
        atMost: '500ms',
        description:
          'Longest part of a segment, 200ms to 500ms. Viewers are three to four of them behind live; each costs a request.',
        beyond: 'The next part begins.',
      }),
      window: durationSchema({
        default: '12s',
        atLeast: '12s',
        description: 'Length of a live playlist, at least 12s. From 26s on reloads carry only what is new.',
        beyond: 'Older segments are no longer listed.',
      }),
      waitingRequests: limitSchema({
        default: 20_000,
        unit: 'requests',
        description: 'Blocked playlist and part requests one stream may have.',
        beyond: 'Further ones get 503 with `Retry-After`.',
      }),
      memory: Type.Optional(
        limitSchema({
          minimum: 64,
          unit: 'MiB',
          description: 'MiB that live media may hold in all. Default: half of the memory of the machine.',
          beyond: 'A broadcast that grows is ended, and a new one refused.',
        }),
      ),
    }),
    recording: section({
      queue: limitSchema({
        default: 64,
        unit: 'MiB',
        description:
          'Media of all recordings on its way to the disk, in MiB. It is memory that is used again and again.',
        beyond: 'Parts are left out of a recording up to the next key frame.',
      }),
      queuePerTake: limitSchema({
        default: 16,
        unit: 'MiB',
        description: 'The same of one recording, in MiB.',
        beyond: 'Parts are left out of that recording up to the next key frame.',
      }),
      sync: durationSchema({
        default: '5s',
        atLeast: '100ms',
        description:
          'What loss of power can take of a recording that grows. A crash of the process alone takes a second at most.',
        beyond: 'It is synced.',
      }),
      reserve: limitSchema({
        default: 512,
        unit: 'MiB',
        description: 'Disk that recordings leave free, in MiB, so that the database can commit.',
        beyond: 'Nothing more is recorded until there is room again; `issues` of the stream say so.',
      }),
      uploads: limitSchema({
        default: 4,
        unit: 'parts',
        description: 'Parts of recordings, 16 MiB each, on their way to S3 at one time.',
        beyond: 'Further ones wait on disk.',
      }),
      direct: Type.Optional(
        Type.Boolean({ description: 'Accepted and ignored since 0.2.0: recordings are buffered writes.' }),
      ),
    }),
    push: section({
      queue: limitSchema({
        default: 8,
        unit: 'MiB',
        description: 'Media that waits for one multistream target, in MiB.',
        beyond: 'Whole groups of pictures are left out, up to the newest key frame.',
      }),
      memory: Type.Optional(
        limitSchema({
          minimum: 16,
          unit: 'MiB',
          description:
            'Media that waits for all multistream targets together, in MiB. Default: an eighth of the memory of the machine.',
          beyond: 'The same, for the targets that hold more than the others.',
        }),
      ),
      batch: durationSchema({
        default: '100ms',
        atLeast: '10ms',
        atMost: '1s',
        description:
          'How long media is gathered before it is written to a target, 10ms to 1s. Shorter costs more of the processor.',
        beyond: 'It is written.',
      }),
      stall: durationSchema({
        default: '90s',
        atLeast: '5s',
        description: 'How long a target may take nothing of what waits for it. At least 5s.',
        beyond: 'Its connection is given up and made anew.',
      }),
      retryFirst: durationSchema({
        default: '1s',
        atLeast: '100ms',
        description: 'Wait before a target is tried again, twice as long after each attempt. At least 100ms.',
        beyond: 'It is tried again.',
      }),
      retryMost: durationSchema({
        default: '60s',
        atLeast: '1s',
        description: 'Longest wait between two attempts. At least 1s.',
        beyond: 'It is tried again.',
      }),
      targets: limitSchema({
        default: 1000,
        unit: 'targets',
        description:
          'Multistream targets that this node pushes to at one time. One account has at most three quarters of them.',
        beyond: 'Further ones fail, and are tried again until there is a place.',
      }),
    }),
    uploads: section({
      reserve: Type.Optional(
        limitSchema({
          unit: 'MiB',
          description:
            'Disk that files which are uploaded or imported leave free, in MiB, on that of the data and on that of the blobs. Default: twice `recording.reserve`, because a broadcast cannot be sent again.',
          beyond: '507 `intake.full`, before a byte is taken where the length is known.',
        }),
      ),
    }),
    outbound: section({
      allow: Type.Array(Type.String(), {
        default: ['127.0.0.0/8', '::1/128'],
        maxItems: configLimits.outboundAllow.value,
        description:
          'Blocks of addresses that webhooks, imports and exports may call although they are not public. `[]` where strangers have accounts.',
      }),
      requests: limitSchema({
        default: 1000,
        unit: 'requests',
        description: 'Outbound requests under way at once.',
        beyond: 'Further ones fail and are tried again later.',
      }),
    }),
    ffmpeg: section({
      path: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'The program ffmpeg, which SRT, renditions and stills take. Default: the one on the PATH. Without one all else works.',
        }),
      ),
      processes: limitSchema({
        default: 50,
        unit: 'processes',
        description:
          'Processes of ffmpeg on this node at one time: one for each push over SRT, each broadcast that has renditions, and each picture that is made. Renditions take three quarters at most.',
        beyond:
          'No further one is started; what needed it says so and is tried again. Pushes of one account get no more than its part of the last quarter.',
      }),
    }),
    renditions: section({
      encoder: Type.String({
        default: 'libx264',
        pattern: '^[a-z0-9_]{1,40}$',
        expected: 'the name of an H.264 encoder of ffmpeg, such as libx264 or h264_nvenc',
        description:
          'Encoder of ffmpeg for H.264: `libx264`, or one of hardware, such as `h264_nvenc`, `h264_vaapi`, `h264_qsv` or `h264_videotoolbox`.',
      }),
      preset: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9]{1,20}$',
          expected: 'a preset of that encoder, such as veryfast',
          description:
            'How much work it does for a picture, in its own words. Default: `veryfast` for libx264, otherwise that of the encoder.',
        }),
      ),
      device: Type.Optional(
        Type.String({
          pattern: '^/dev/[a-zA-Z0-9/_-]{1,100}$',
          expected: 'a device, such as /dev/dri/renderD128',
          description: 'Graphics processor that `h264_vaapi` encodes with. Default: /dev/dri/renderD128.',
        }),
      ),
      capacity: Type.Optional(
        limitSchema({
          unit: 'megapixels/s',
          description:
            'Megapixels a second that this node makes: width × height × frame rate of all renditions together, a quarter of that of each source, which is decoded, and 1 for each broadcast. 480p30 of 720p30 takes 20.2: 12.3, 6.9 and 1. Default: 48 for each core.',
          beyond:
            'Broadcasts that begin then have no renditions (`issues` say so), and get them when there is room again.',
        }),
      ),
      threads: limitSchema({
        default: 4,
        unit: 'threads',
        maximum: configLimits.encoderThreads.value,
        description: 'Threads of one encoder, and those that scale.',
        beyond: 'ffmpeg starts no more.',
      }),
      niceness: Type.Integer({
        default: 5,
        minimum: 0,
        maximum: configLimits.niceness.value,
        isNoLimit: true,
        expected: 'a whole number from 0 to 19',
        description:
          'How much less urgent than the server encoding is on a busy machine: 0 is as urgent, 19 comes last.',
      }),
      stall: durationSchema({
        default: '6s',
        atLeast: '2s',
        description: 'How long ffmpeg may give no picture for what it was given. At least 2s.',
        beyond: 'It is killed and started again.',
      }),
      behind: durationSchema({
        default: '4s',
        atLeast: '2s',
        description:
          'How far behind the source renditions may be before their process is thought too slow. At least 2s, which is how far behind viewers are offered them.',
        beyond: 'When that lasts for `renditions.patience`, the process is ended.',
      }),
      patience: durationSchema({
        default: '5s',
        atLeast: '1s',
        description: 'How long they may be so late and catch up by less than a second. At least 1s.',
        beyond: 'They are ended, and begun anew after 15 s at the soonest.',
      }),
      retryMost: durationSchema({
        default: '30s',
        atLeast: '1s',
        description:
          'Longest wait before an ffmpeg that ended by itself is started again; the first is 250 ms.',
        beyond: 'It is started again.',
      }),
    }),
    conversion: section({
      running: limitSchema({
        default: 2,
        unit: 'conversions',
        description:
          'Films that this node converts at one time: transcodes, and uploads and imports that are normalised. Each is a process of ffmpeg that is less urgent than the server.',
        beyond: 'Further ones wait, first come, first served.',
      }),
      threads: Type.Optional(
        limitSchema({
          unit: 'threads',
          description:
            'Threads that each of them decodes, filters and encodes with. Default: half of the processors.',
          beyond: 'It takes longer.',
        }),
      ),
    }),
    stills: section({
      running: limitSchema({
        default: 2,
        unit: 'pictures',
        description:
          'Thumbnails and storyboards that are made at one time, each by a process of ffmpeg that is less urgent than the server.',
        beyond: 'Others wait for their turn.',
      }),
      deadline: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'How long one picture may take, a storyboard four times as long. At least 1s.',
        beyond: 'Its process is killed: 503 `still.failed`.',
      }),
      memory: limitSchema({
        default: 64,
        unit: 'MiB',
        description: 'Pictures that are kept in memory, in MiB.',
        beyond: 'Those asked for longest ago are made again when they are asked for.',
      }),
    }),
    actors: section({
      hot: limitSchema({
        default: 10_000,
        unit: 'actors',
        description: 'Actors kept restored in memory, about 10 KB each.',
        beyond: 'The one used longest ago is restored from the store when it is needed again.',
      }),
    }),
    log: section({
      level: Type.Union(
        [Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')],
        { default: 'info', description: 'Least level that is logged: debug, info, warn or error.' },
      ),
    }),
    plugins: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: 'Plugin id → its config, or false to switch it off. Other names are packages.',
    }),
  },
  { additionalProperties: false },
);

export type Config = Static<typeof configSchema>;
