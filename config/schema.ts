import { type Static, Type } from '@sinclair/typebox';
import { durationSchema } from '../core/duration.ts';

const port = (options: { default: number; description: string }) =>
  Type.Integer({ minimum: 0, maximum: 65_535, ...options });
const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { default: {}, additionalProperties: false });

/** Everything a deployment can set, with its default. The reference in docs/ is made from this. */
export const configSchema = Type.Object(
  {
    http: section({
      host: Type.String({ default: '0.0.0.0', description: 'Address the HTTP server listens on.' }),
      port: port({ default: 8080, description: 'Port of the API and of playback. 0 = any free one.' }),
    }),
    rtmp: section({
      host: Type.String({ default: '0.0.0.0', description: 'Address the RTMP server listens on.' }),
      port: port({ default: 1935, description: 'Port encoders connect to. 0 = any free one.' }),
      tlsPort: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 65_535, description: 'Port for RTMPS; needs tls.' }),
      ),
      connectionsPerAddress: Type.Integer({
        default: 500,
        minimum: 1,
        description: 'RTMP connections one address may have; further ones are closed.',
      }),
      connections: Type.Integer({
        default: 10_000,
        minimum: 1,
        description: 'RTMP connections in all; further ones are closed.',
      }),
      publishTimeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'Time an encoder has from connecting to publishing, then it is closed. At least 1s.',
      }),
      idleTimeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'An encoder that sends nothing for this long is closed. At least 1s.',
      }),
      messageSize: Type.Integer({
        default: 10,
        minimum: 1,
        maximum: 16,
        description: 'MiB one RTMP message, a picture, may have. A larger one ends its connection.',
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
        expected: 'a URL without a path, such as https://video.example.com',
        description: 'Base of every URL shown to clients. Default: http://localhost:<http.port>.',
      }),
    ),
    dataDir: Type.String({ default: './data', description: 'Folder for everything that must last.' }),
    bootstrapKey: Type.Optional(
      Type.String({
        // What a header can carry: a key with a space in it would never be found.
        pattern: '^[!-~]{16,200}$',
        expected: '16 to 200 letters, digits or signs, without spaces',
        description: 'API key of the admin account. Default: made at the first start, in dataDir.',
      }),
    ),
    preset: Type.Literal('embedded', {
      default: 'embedded',
      description: 'Everything in one process, nothing beside it.',
    }),
    kafka: section({
      partitions: Type.Integer({
        default: 16,
        minimum: 1,
        maximum: 1024,
        description: 'Partitions that actors are spread over. Fixed for the life of the data.',
      }),
    }),
    node: section({
      id: Type.String({ default: 'local', minLength: 1, maxLength: 100, description: 'Name of this node.' }),
      timeout: durationSchema({
        default: '10s',
        atLeast: '1s',
        description: 'A node not heard of for this long is dead. It beats every third of it. At least 1s.',
      }),
    }),
    hls: section({
      part: durationSchema({
        default: '350ms',
        atLeast: '200ms',
        atMost: '500ms',
        description:
          'Longest part of a segment, 200ms to 500ms. Viewers are three to four of them behind live; each costs a request.',
      }),
      window: durationSchema({
        default: '12s',
        atLeast: '12s',
        description: 'Length of a live playlist, at least 12s. From 26s on reloads carry only what is new.',
      }),
      waitingRequests: Type.Integer({
        default: 20_000,
        minimum: 1,
        description: 'Blocked playlist and part requests one stream may have; further ones get 503.',
      }),
      memory: Type.Optional(
        Type.Integer({
          minimum: 64,
          description:
            'MiB that live media may hold in all. Beyond it a broadcast that grows is ended and a new one refused. Default: half of the memory of the machine.',
        }),
      ),
    }),
    outbound: section({
      allow: Type.Array(Type.String(), {
        default: ['127.0.0.0/8', '::1/128'],
        maxItems: 1000,
        description:
          'Blocks of addresses that webhooks, imports and exports may call although they are not public. `[]` where strangers have accounts.',
      }),
      requests: Type.Integer({
        default: 1000,
        minimum: 1,
        description: 'Outbound requests under way at once; further ones fail and are tried again later.',
      }),
    }),
    actors: section({
      hot: Type.Integer({
        default: 10_000,
        minimum: 1,
        description: 'Actors kept restored in memory, about 10 KB each.',
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
