import {
  assetResource,
  field,
  object,
  oneOf,
  optional,
  type Static,
  stream,
  Type,
} from '../../sdk/plugin.ts';
import { maxEntries } from './settings.ts';

const text = (maxLength: number) => optional.string({ maxLength });
const anything = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 50 });

const muxSchema = object(
  {
    playbackIds: Type.Optional(
      Type.Array(object({ id: text(64), policy: oneOf(['public', 'signed']) }), {
        maxItems: maxEntries,
        description: 'Its playback ids. One without an `id` is `playbackId`.',
      }),
    ),
    ...{ passthrough: text(255), test: optional.boolean() },
    meta: Type.Optional(anything),
    newAssetSettings: Type.Optional(anything),
    simulcast: Type.Optional(
      Type.Array(
        object({
          id: Type.String({ maxLength: 64 }),
          url: Type.String({ maxLength: 2048 }),
          passthrough: text(255),
        }),
        {
          maxItems: maxEntries,
        },
      ),
    ),
    upload: Type.Optional(object({ corsOrigin: text(2048), isCancelled: optional.boolean() })),
    liveStreamId: text(64),
    masterAccess: Type.Optional(oneOf(['none', 'temporary'])),
  },
  { description: 'What clients of the API of Mux have set (plugin `mux-compat`).' },
);

/** What is kept with a stream or an asset, under the field `mux`. Absent: it was made with our own API. */
export type MuxFields = Static<typeof muxSchema>;

export const muxField = 'mux';

export const muxFields = [stream, assetResource].map((kind) =>
  field<MuxFields | undefined>(kind, muxField, {
    isOptional: true,
    schema: muxSchema,
    shown: Type.Optional(muxSchema),
    initial: undefined,
  }),
);
