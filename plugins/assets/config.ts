import { Type } from '@sinclair/typebox';
import { durationSchema, sizeSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

/** How much is kept of assets that come from one source. Each account has these bounds for itself. */
const kept = (what: string) =>
  Type.Object(
    {
      age: Type.Optional(
        durationSchema({
          atLeast: '1h',
          description: `How long ${what} are kept, from when the file came or failed to. At least 1h. Default: for ever.`,
          beyond: 'They are deleted, as by DELETE.',
        }),
      ),
      bytes: Type.Optional(
        sizeSchema({
          description: `What ${what} of one account may take together. Default: no bound.`,
          beyond: 'The oldest are deleted, as by DELETE, until the others fit.',
        }),
      ),
    },
    { default: {}, additionalProperties: false },
  );

export const config = Type.Object({
  unfinishedFor: durationSchema({
    default: '7d',
    atLeast: '1d',
    description:
      'How long an upload of an asset may be unfinished. At least 1d; one that still grows is never too old.',
    beyond: 'It is aborted, and what it stored is removed.',
  }),
  maxUploadSize: sizeSchema({
    default: '10GB',
    description: 'The largest file that may be uploaded.',
    beyond: '413 `intake.too_large`, before it is read where its length is known.',
  }),
  maxImportSize: sizeSchema({
    default: '10GB',
    description: 'The largest file that may be imported.',
    beyond: 'The import fails, before the file is fetched where its length is known.',
  }),
  importTime: durationSchema({
    default: '6h',
    atLeast: '1m',
    description: 'How long one try of an import may fetch its file. At least 1m.',
    beyond: 'The import fails.',
  }),
  leastRate: sizeSchema({
    default: '1KiB',
    description:
      'What an upload must bring in a second, by PUT or in a request of tus: on average over a minute of waiting for it.',
    beyond: '408 `intake.slow`; its place is free for others. What came by tus is kept.',
  }),
  uploads: Type.Integer({
    default: 100,
    minimum: 1,
    description: 'Files that one node takes at a time. Beyond: 503 `server.busy`; try again.',
  }),
  uploadsPerAccount: Type.Integer({
    default: 20,
    minimum: 1,
    description: 'The same of one account. Beyond: 429 `upload.too_many`; try again.',
  }),
  maxPerAccount: Type.Integer({
    default: 100_000,
    minimum: 1,
    description:
      'Assets an account may have before it may ask for no more uploads and imports. Beyond: 409 `asset.too_many`. Recordings become assets all the same.',
  }),
  normalise: Type.Optional(
    Type.Boolean({
      description:
        'Whether films of other containers and codecs are accepted too (WebM, Matroska, MPEG-TS and PS, FLV, AVI, QuickTime and mp4 with other codecs) and made mp4 with H.264 and AAC, by ffmpeg; what came is kept too. Default: where ffmpeg is found. With `false`, or without ffmpeg, they are 422; with `true` and without ffmpeg 503.',
    }),
  ),
  retention: Type.Object(
    {
      recording: kept('recordings'),
      upload: kept('uploads'),
      import: kept('imports'),
      transcode: kept('transcodes'),
    },
    { default: {}, additionalProperties: false },
  ),
  playbackMemory: Type.Integer({
    default: 64,
    minimum: 16,
    description:
      'MiB that playlists and indexes of assets and recordings may take in memory. Those of a day take 3 MiB, and 8 while they are made. Beyond: Those used longest ago are read again; what does not fit alone is 503 `server.busy`.',
  }),
});

/** What this plugin is given. */
export type AssetsKit = Kit<typeof config>;
