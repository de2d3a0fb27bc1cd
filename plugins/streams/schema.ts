import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { milliseconds } from '../../core/base/config-fields.ts';
import { nameSchema, userTagsSchema } from '../../core/base/name.ts';
import { object, optional } from '../../core/base/schema.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import type { DerivationSet, FieldSet } from '../../core/plugin/resource.ts';
import type { StreamsKit } from './config.ts';

/** Fields of the stream object that the service sets; accepted and ignored in bodies. */
export const readOnly = [
  ...['id', 'kind', 'userId', 'createdAt', 'streamKey', 'playbackId', 'createdByTokenName', 'parentId'],
  ...['sourceSegmentsDuration', 'sourceBytes', 'sourceSegments', 'ingestRate', 'lastSeen', 'recordingStatus'],
  ...['isActive', 'isHealthy', 'issues', 'viewerCount'],
  ...['createdAtMs', 'ingestUrl', 'ingest', 'playbackUrl', 'watchUrl', 'recordingReadyBy'],
];

/** Fields of plugins that may be off: accepted all the same while they ask for nothing. */
export const toleratedFields = ['record', 'profiles', 'multistream'];

export const streamName = nameSchema('Friday show');

/** The fields of a stream that a client may set, those of other plugins too. */
export function changeable(kit: StreamsKit, fields: FieldSet): Record<string, TSchema> {
  const maximum = Math.floor(milliseconds(kit.config.reconnectWindow) / 1000);
  const extended = Object.entries(fields.schemas).map(([name, schema]) => [name, Type.Optional(schema)]);
  return {
    name: Type.Optional(streamName),
    suspended: optional.boolean({
      description: 'While true, there is no broadcast: a running one ends, and new ones are refused.',
    }),
    holdSeconds: optional.integer({
      minimum: 0,
      maximum,
      description:
        'How long a broadcast stays on the air after its connection broke, instead of `plugins.streams.hold`.',
      examples: [Math.min(30, maximum)],
    }),
    userTags: Type.Optional(userTagsSchema),
    ...Object.fromEntries(extended),
  };
}

/** The stream object for its owner; sessions have the same type. */
export function streamSchema(fields: FieldSet, derived: DerivationSet): TObject {
  const optional = Object.entries(derived.schemas).map(([name, schema]) => [name, Type.Optional(schema)]);
  return object({ ...ownFields, ...fields.shown, ...Object.fromEntries(optional) }, { $id: 'Stream' });
}

/** Fields of the stream object that no other plugin may add. */
export const ownFields = {
  id: idSchema,
  kind: Type.Literal('stream'),
  name: streamName,
  parentId: optional.string({ description: 'Sessions only: the stream.', examples: idSchema.examples }),
  userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
  createdAt: Type.Integer({ description: 'Epoch seconds.', examples: [1767225600] }),
  createdAtMs: Type.Integer({
    description: 'The same in milliseconds.',
    examples: momentSchema.examples,
  }),
  createdByTokenName: Type.String({ examples: ['Studio'] }),
  streamKey: optional.string({
    description: 'Secret of the encoder; not of sessions. Only for API keys that may PATCH the stream.',
    examples: ['x3k9-a8fh-20pq-7mzc'],
  }),
  ingestUrl: optional.string({
    description: 'URL for the encoder, with the key: a secret. Shown where `streamKey` is.',
    examples: ['rtmp://video.example.com:1935/live/x3k9-a8fh-20pq-7mzc'],
  }),
  ingest: Type.Optional(
    object(
      {
        url: Type.String({ examples: ['rtmp://video.example.com:1935/live'] }),
        key: Type.String({ examples: ['x3k9-a8fh-20pq-7mzc'] }),
      },
      { description: 'The same for encoders that want server and key separately.' },
    ),
  ),
  suspended: optional.boolean({ description: 'Not of sessions.' }),
  playbackId: Type.String({ description: 'Its id for viewers.', examples: ['6pukxh2m0ydr9h3q'] }),
  playbackUrl: optional.string({
    description: 'HLS. For a session while it is on the air, and again when its recording is ready.',
    examples: ['https://video.example.com/hls/6pukxh2m0ydr9h3q/index.m3u8'],
  }),
  watchUrl: optional.string({
    description: 'A page that plays the same.',
    examples: ['https://video.example.com/watch/6pukxh2m0ydr9h3q'],
  }),
  userTags: userTagsSchema,
  holdSeconds: optional.integer({ minimum: 0, examples: [30] }),
  isActive: Type.Boolean({ description: 'The playlist works.', examples: [true] }),
  isHealthy: optional.boolean({
    description:
      'While active: the broadcast itself has no issue. Issues of targets that it is sent on to leave it true.',
    examples: [true],
  }),
  ingestRate: optional.number({ minimum: 0, description: 'While active: bit/s.', examples: [4_200_000] }),
  viewerCount: optional.integer({
    minimum: 0,
    description: 'While active: different viewers of the last seconds.',
    examples: [12],
  }),
  issues: Type.Array(Type.String(), { description: 'What is wrong, in plain words.', examples: [[]] }),
  lastSeen: optional.number({
    description: 'Last media, epoch milliseconds.',
    examples: momentSchema.examples,
  }),
  sourceBytes: Type.Number({ minimum: 0, examples: [1_048_576] }),
  sourceSegments: Type.Integer({ minimum: 0, examples: [42] }),
  sourceSegmentsDuration: Type.Number({ minimum: 0, description: 'Seconds.', examples: [84.2] }),
};
