import { Type } from '@sinclair/typebox';
import { durationSchema, sizeSchema } from '../../core/base/config-fields.ts';
import { object } from '../../core/base/schema.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

/** Retention of assets from one kind of source. The limits apply to each account. */
const kept = (what: string) =>
  object(
    {
      age: Type.Optional(
        durationSchema(
          `How long ${what} are kept, counted from the arrival or the failure of the file. At least 1h. Default: for ever. Older ones are deleted, as by DELETE.`,
          { atLeast: '1h' },
        ),
      ),
      bytes: Type.Optional(
        sizeSchema(
          `Disk space of all ${what} of one account. Default: no limit. Beyond it the oldest are deleted, as by DELETE, until the others fit.`,
        ),
      ),
    },
    { default: {} },
  );

export const config = Type.Object({
  unfinishedFor: durationSchema(
    'How long an upload of an asset may be unfinished. At least 1d. An upload that still receives data is never too old. Older ones are aborted, and their data is deleted.',
    { default: '7d', atLeast: '1d' },
  ),
  maxUploadSize: sizeSchema(
    'The largest file that may be uploaded. A larger file gets 413 `intake.too_large`; if its length is known, before it is read.',
    { default: '10GB' },
  ),
  maxImportSize: sizeSchema(
    'The largest file that may be imported. The import of a larger file fails; if its length is known, before it is fetched.',
    { default: '10GB' },
  ),
  importTime: durationSchema(
    'Time for one attempt at fetching the file of an import. At least 1m. Then the import fails.',
    { default: '6h', atLeast: '1m' },
  ),
  leastRate: sizeSchema(
    'Lowest speed of an upload per second, for a PUT or one tus request: the average over a minute of waiting for data. A slower upload gets 408 `intake.slow`, and its slot is free. Received bytes of a tus upload are kept.',
    { default: '1KiB' },
  ),
  uploads: Type.Integer({
    default: 100,
    minimum: 1,
    description: 'Concurrent uploads on one node. Further ones get 503 `server.busy`.',
  }),
  uploadsPerAccount: Type.Integer({
    default: 20,
    minimum: 1,
    description: 'Concurrent uploads of one account on one node. Further ones get 429 `upload.too_many`.',
  }),
  maxPerAccount: Type.Integer({
    default: 100_000,
    minimum: 1,
    description:
      'Assets of one account. Further uploads and imports get 409 `asset.too_many`. Recordings still become assets.',
  }),
  normalise: Type.Optional(
    Type.Boolean({
      description:
        'Whether uploads and imports accept films of other containers and codecs too: WebM, Matroska, MPEG-TS, MPEG-PS, FLV, AVI, and QuickTime and mp4 with other codecs. ffmpeg converts them to mp4 with H.264 and AAC; the uploaded file is kept too. Default: true if ffmpeg is found. Otherwise such films get 422; with `true` and without ffmpeg 503.',
    }),
  ),
  retention: object(
    {
      recording: kept('recordings'),
      upload: kept('uploads'),
      import: kept('imports'),
      transcode: kept('transcodes'),
    },
    { default: {} },
  ),
  playbackMemory: Type.Integer({
    default: 64,
    minimum: 16,
    description:
      'Memory in MiB for playlists and indexes of assets and recordings. A film of a day takes 3 MiB, and 8 MiB while they are made. The least recently used ones are dropped and read again when needed. A film that does not fit alone gets 503 `server.busy`.',
  }),
});

/** What this plugin is given. */
export type AssetsKit = Kit<typeof config>;
