import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { nameSchema, userTagsSchema } from '../../../core/base/name.ts';
import { object, oneOf } from '../../../core/base/schema.ts';
import type { Caller } from '../../../core/http/caller.ts';
import { idSchema, momentSchema } from '../../../core/http/operation.ts';
import type { FieldSet } from '../../../core/plugin/resource.ts';
import { multivariantName, wholeName } from '../../../core/vod/file-name.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetFile, assetResource, hashesOf } from '../contract.ts';
import type { AssetDocument } from './document.ts';

/** The asset object, as its owner and events see it. Pure, because an event can be made again. */
export function presentAsset(
  document: AssetDocument,
  { baseUrl, fields }: { baseUrl: string; fields: FieldSet },
): Record<string, unknown> {
  const { id, name, status, account, createdAt, updatedAt, playbackId, source, userTags } = document;
  const { statusMessage, createdByTokenName, file } = document;
  return {
    ...{ id, name, status },
    ...(statusMessage !== null && { statusMessage }),
    ...(file?.uncut !== undefined && { statusMessage: `There is no HLS of this file: ${file.uncut}.` }),
    ...{ userId: account, createdAt, updatedAt, playbackId, source, userTags },
    ...fields.present(document.fields ?? {}),
    ...(createdByTokenName !== null && { createdByTokenName }),
    ...(file && {
      size: file.video.size,
      hash: hashesOf(file.video),
      videoSpec: file.spec,
      ...shownLinks({ playbackId, file }, baseUrl),
    }),
  };
}

/** URLs of the file of an asset. */
export function linksOf(
  { playbackId, file }: { playbackId: string; file: AssetFile },
  baseUrl: string,
): AssetLinks {
  const base = `${baseUrl}/asset/${playbackId}`;
  return {
    downloadUrl: `${base}/video`,
    ...(file.index && { playbackUrl: `${base}/${multivariantName}` }),
    ...(file.head && { fastUrl: `${base}/${wholeName}` }),
    ...(file.original && { originalUrl: `${base}/original` }),
  };
}

export interface AssetLinks {
  readonly downloadUrl: string;
  /** HLS. */
  readonly playbackUrl?: string;
  /** The film with its index in front, if the stored file has it elsewhere: players can start at once. */
  readonly fastUrl?: string;
  /** The original, if the stored file is a conversion of it. */
  readonly originalUrl?: string;
}

function shownLinks(asset: { playbackId: string; file: AssetFile }, baseUrl: string) {
  const { fastUrl: _, ...shown } = linksOf(asset, baseUrl);
  return shown;
}

export const assetName = nameSchema('Friday show');

/** The same of its own, which plugins may change too. */
export const ownChangeable = { name: Type.Optional(assetName), userTags: Type.Optional(userTagsSchema) };

/** Fields of the asset object that the service sets; accepted and ignored in bodies. */
export const readOnly = [
  ...['id', 'hash', 'size', 'status', 'statusMessage', 'userId', 'createdAt', 'updatedAt', 'videoSpec'],
  ...['playbackId', 'playbackUrl', 'downloadUrl', 'originalUrl', 'source', 'createdByTokenName'],
];

const seconds = Type.Number({ minimum: 0, description: 'Seconds.', examples: [84.2] });
const rate = Type.Number({ minimum: 0, description: 'bit/s', examples: [4_200_000] });
const videoTrack = object({
  type: Type.Literal('video'),
  codec: Type.String({ examples: ['h264'] }),
  duration: seconds,
  bitrate: rate,
  fps: Type.Optional(Type.Number({ minimum: 0, description: 'On average.', examples: [30] })),
  width: Type.Optional(Type.Integer({ minimum: 0, examples: [1920] })),
  height: Type.Optional(Type.Integer({ minimum: 0, examples: [1080] })),
  pixelFormat: Type.Optional(Type.String({ examples: ['yuv420p'] })),
});
const audioTrack = object({
  type: Type.Literal('audio'),
  codec: Type.String({ examples: ['aac'] }),
  duration: seconds,
  bitrate: rate,
  channels: Type.Optional(Type.Integer({ minimum: 0, examples: [2] })),
  sampleRate: Type.Optional(Type.Integer({ minimum: 0, examples: [48_000] })),
});

/** The asset object. */
export const assetSchema = object(
  {
    id: idSchema,
    name: assetName,
    status: oneOf(['waiting', 'ready', 'failed']),
    statusMessage: Type.Optional(
      Type.String({
        description: 'Why it failed; when ready, why there is no HLS of it.',
        examples: ['No media could be read.'],
      }),
    ),
    userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
    createdAt: momentSchema,
    updatedAt: momentSchema,
    playbackId: Type.String({ description: 'Names it to viewers.', examples: ['6pukxh2m0ydr9h3q'] }),
    source: Type.Union(
      [
        object({
          type: Type.Literal('recording'),
          sessionId: Type.String({
            description: 'The session that was recorded.',
            examples: idSchema.examples,
          }),
        }),
        object({ type: Type.Literal('directUpload') }),
        object({
          type: Type.Literal('url'),
          url: Type.String({
            description: 'From where it was imported, without user, password and query.',
            examples: ['https://films.example.com/friday.mp4'],
          }),
        }),
        object({
          type: Type.Literal('transcode'),
          inputAssetId: Type.String({
            description: 'The asset that it was made of, which may be gone since.',
            examples: idSchema.examples,
          }),
        }),
      ],
      { description: 'Where it comes from.' },
    ),
    userTags: userTagsSchema,
    createdByTokenName: Type.Optional(Type.String({ examples: ['Studio'] })),
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'When ready: bytes.', examples: [146_515] })),
    hash: Type.Optional(
      Type.Array(
        object({
          hash: Type.String({ examples: ['9e107d9d372bb6826bd81d3542a419d6'] }),
          algorithm: oneOf(['md5', 'sha256']),
        }),
        { description: 'When ready: of the bytes at `downloadUrl`.' },
      ),
    ),
    videoSpec: Type.Optional(
      object(
        {
          format: Type.String({
            description: '`mp4`, or `mov` of a QuickTime film with these codecs.',
            examples: ['mp4'],
          }),
          duration: seconds,
          bitrate: rate,
          tracks: Type.Array(Type.Union([videoTrack, audioTrack])),
        },
        { description: 'When ready. What is not known of a track is left out.' },
      ),
    ),
    downloadUrl: Type.Optional(
      Type.String({
        description: 'When ready: the file, for everyone who knows the URL.',
        examples: ['https://video.example.com/asset/6pukxh2m0ydr9h3q/video'],
      }),
    ),
    originalUrl: Type.Optional(
      Type.String({
        description:
          'When ready, of a film that was made an mp4: the file that came, for everyone who knows the URL.',
        examples: ['https://video.example.com/asset/6pukxh2m0ydr9h3q/original'],
      }),
    ),
    playbackUrl: Type.Optional(
      Type.String({
        description:
          'When ready, of a file that can be played in pieces: HLS, for everyone who knows the URL.',
        examples: ['https://video.example.com/asset/6pukxh2m0ydr9h3q/index.m3u8'],
      }),
    ),
  },
  { $id: 'Asset' },
);

/** The asset object as the API shows it, with the fields of other plugins. */
export interface ShownAsset {
  readonly schema: TObject;
  /** Schemas of the fields that other plugins add and that a client may set. */
  readonly extended: Readonly<Record<string, TSchema>>;
  /** Accepted and ignored in bodies. */
  readonly readOnly: readonly string[];
  present(document: AssetDocument, caller: Caller): Promise<Record<string, unknown>>;
}

export function shownAsset(kit: Pick<AssetsKit, 'resources'>): ShownAsset {
  const derived = kit.resources.derived(assetResource);
  const fields = kit.resources.fields(assetResource);
  const extended = Object.entries(fields.schemas).map(([name, schema]) => [name, Type.Optional(schema)]);
  const told = Object.entries(derived.schemas).map(([name, schema]) => [name, Type.Optional(schema)]);
  const { $id } = assetSchema;
  return {
    schema: object(
      { ...assetSchema.properties, ...fields.shown, ...Object.fromEntries(told) },
      { ...($id !== undefined && { $id }) },
    ),
    extended: Object.fromEntries(extended),
    readOnly: [...readOnly, ...Object.keys(derived.schemas)],
    present: (document, caller) =>
      derived.complete(presentAsset(document, { baseUrl: caller.baseUrl, fields }), caller),
  };
}
