import { Type } from '@sinclair/typebox';
import { derivedId } from '../../core/ids.ts';
import { nameSchema } from '../../core/name.ts';
import { idSchema, momentSchema } from '../../core/operation.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import { token } from '../../core/token.ts';
import { userTagsSchema } from '../../core/user-tags.ts';
import type { Vod } from '../../core/vod/answer.ts';

/** How other plugins make assets. The file lies below `assets/<id>/`, and belongs to the asset once that is ready. */
export interface Assets {
  /** Begins an asset as `waiting`; one of this id that is there stays as it is. */
  begin(asset: {
    id: string;
    account: string;
    name: string;
    source: AssetSource;
    userTags?: Readonly<Record<string, unknown>>;
    createdByTokenName?: string;
  }): Promise<void>;
  /**
   * Its file is there. Repeating it is harmless; of a deleted asset nothing happens: 'gone', and the file's blobs are
   * the caller's to delete.
   */
  ready(id: string, file: AssetFile): Promise<'ok' | 'gone'>;
  /** It will not come. */
  fail(id: string, message: string): Promise<void>;
  find(id: string): Promise<AssetReference | undefined>;
  /** The asset object, as its owner sees it. */
  show(id: string): Promise<Record<string, unknown> | undefined>;
  /** Before a request makes one. Fault `asset.too_many` (409); `intake.full`, `intake.unavailable` when this node has no room. */
  admit(account: string): Promise<void>;
  /** One that failed waits for its file once more. False: it was deleted, or has its file. */
  awaitAnew(id: string): Promise<boolean>;
  /**
   * Takes a film that is made on this node while it is made: written down, looked into, stored, and the asset's file unless it has
   * one. Whatever it throws, nothing of it stays: what the film throws, what `check` throws, the reason of the signal,
   * `upload.refused`, `intake.too_large`.
   */
  take(id: string, film: ReadableStream<Uint8Array>, options: TakeOptions): Promise<FileOutput | 'gone'>;
  findByPlaybackId(playbackId: string): Promise<(AssetReference & { readonly id: string }) | undefined>;
}

export interface TakeOptions {
  readonly signal: AbortSignal;
  /** What is in it, before it is stored. */
  check(spec: VideoSpec): void;
}

/** What is known of an accepted file, as tasks show it and as it lies beside the video. */
export interface FileOutput {
  readonly assetSpec: Readonly<Record<string, unknown>>;
  /** Keys of blobs. */
  readonly videoFilePath: string;
  readonly metadataFilePath: string;
}

/** `output` of the task of an asset's file, under the name of its type. */
export function outputOf(file: AssetFile, { name }: { readonly name: string }): FileOutput {
  return {
    assetSpec: { name, ...specOf(file) },
    videoFilePath: file.video.key,
    metadataFilePath: file.metadata?.key ?? '',
  };
}

/** The task that makes an asset of another has its id from that of its asset, so that each is found from the other. */
export function transcodeTaskOf(assetId: string): string {
  return derivedId(`transcode to asset ${assetId}`);
}

export interface AssetReference {
  readonly status: 'waiting' | 'ready' | 'failed';
  readonly account: string;
  readonly name: string;
  readonly playbackId: string;
  readonly file?: AssetFile;
}

/** Where it comes from. */
export type AssetSource =
  | { readonly type: 'recording'; readonly sessionId: string }
  | { readonly type: 'directUpload' }
  /** `url`: without what may be a secret in it. */
  | { readonly type: 'url'; readonly url: string }
  /** Made of that asset, which may be gone since. */
  | { readonly type: 'transcode'; readonly inputAssetId: string };

/** The blobs of an asset, by key. */
export interface AssetFile {
  readonly video: {
    readonly key: string;
    readonly size: number;
    readonly md5: string;
    readonly sha256: string;
  };
  /** Followed by the bytes `from` up to `to` of the video it is the same film with its index in front. */
  readonly head?: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  /** Where its HLS segments lie: core/segment-index.ts. */
  readonly index?: { readonly key: string; readonly size: number };
  /** Of a film that was not packaged for HLS: what the index names lies here (core/vod/films.ts). */
  readonly heads?: { readonly key: string; readonly size: number };
  /** Why a file that could have HLS has none: follows "there is no HLS of it: ". */
  readonly uncut?: string;
  /** What is known of it, as JSON beside it. */
  readonly metadata?: { readonly key: string; readonly size: number };
  readonly spec: VideoSpec;
}

/**
 * Where others keep what they made of an asset's file, and told somebody of: the CAR of an export. It stays as long as the asset
 * does, also when another file takes the place of that one, and is erased with it.
 */
export function exportsFolder(id: string): string {
  return `assets/${id}/exports/`;
}

/** Keys of all blobs of a file: what is deleted with it, and what a sweep leaves. */
export function keysOf({ video, head, index, heads, metadata }: Omit<AssetFile, 'spec'>): string[] {
  return [video, head, index, heads, metadata].flatMap((blob) => (blob ? [blob.key] : []));
}

/** What is known of a file, as tasks show it. */
export function specOf({ video, spec }: Pick<AssetFile, 'video' | 'spec'>) {
  return { type: 'video', size: video.size, hash: hashesOf(video), videoSpec: spec };
}

/** As assets show them. */
export function hashesOf({ md5, sha256 }: AssetFile['video']) {
  return [
    { hash: md5, algorithm: 'md5' },
    { hash: sha256, algorithm: 'sha256' },
  ];
}

export const assets = token<Assets>('assets');

/** Playback of their files: what it keeps in memory is kept once, by whatever address a film is watched. */
export const films = token<Vod>('films');

export const assetName = nameSchema('Friday show');

const seconds = Type.Number({ minimum: 0, description: 'Seconds.', examples: [84.2] });
const rate = Type.Number({ minimum: 0, description: 'bit/s', examples: [4_200_000] });
const videoTrack = Type.Object(
  {
    type: Type.Literal('video'),
    codec: Type.String({ examples: ['h264'] }),
    duration: seconds,
    bitrate: rate,
    fps: Type.Optional(Type.Number({ minimum: 0, description: 'On average.', examples: [30] })),
    width: Type.Optional(Type.Integer({ minimum: 0, examples: [1920] })),
    height: Type.Optional(Type.Integer({ minimum: 0, examples: [1080] })),
    pixelFormat: Type.Optional(Type.String({ examples: ['yuv420p'] })),
  },
  { additionalProperties: false },
);
const audioTrack = Type.Object(
  {
    type: Type.Literal('audio'),
    codec: Type.String({ examples: ['aac'] }),
    duration: seconds,
    bitrate: rate,
    channels: Type.Optional(Type.Integer({ minimum: 0, examples: [2] })),
    sampleRate: Type.Optional(Type.Integer({ minimum: 0, examples: [48_000] })),
  },
  { additionalProperties: false },
);

/** The asset object. */
export const assetSchema = Type.Object(
  {
    id: idSchema,
    name: assetName,
    status: Type.Union([Type.Literal('waiting'), Type.Literal('ready'), Type.Literal('failed')]),
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
        Type.Object(
          {
            type: Type.Literal('recording'),
            sessionId: Type.String({
              description: 'The session that was recorded.',
              examples: idSchema.examples,
            }),
          },
          { additionalProperties: false },
        ),
        Type.Object({ type: Type.Literal('directUpload') }, { additionalProperties: false }),
        Type.Object(
          {
            type: Type.Literal('url'),
            url: Type.String({
              description: 'From where it was imported, without user, password and query.',
              examples: ['https://films.example.com/friday.mp4'],
            }),
          },
          { additionalProperties: false },
        ),
        Type.Object(
          {
            type: Type.Literal('transcode'),
            inputAssetId: Type.String({
              description: 'The asset that it was made of, which may be gone since.',
              examples: idSchema.examples,
            }),
          },
          { additionalProperties: false },
        ),
      ],
      { description: 'Where it comes from.' },
    ),
    userTags: userTagsSchema,
    createdByTokenName: Type.Optional(Type.String({ examples: ['Studio'] })),
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'When ready: bytes.', examples: [146_515] })),
    hash: Type.Optional(
      Type.Array(
        Type.Object(
          {
            hash: Type.String({ examples: ['9e107d9d372bb6826bd81d3542a419d6'] }),
            algorithm: Type.Union([Type.Literal('md5'), Type.Literal('sha256')]),
          },
          { additionalProperties: false },
        ),
        { description: 'When ready: of the bytes at `downloadUrl`.' },
      ),
    ),
    videoSpec: Type.Optional(
      Type.Object(
        {
          format: Type.String({ examples: ['mp4'] }),
          duration: seconds,
          bitrate: rate,
          tracks: Type.Array(Type.Union([videoTrack, audioTrack])),
        },
        { description: 'When ready. What is not known of a track is left out.', additionalProperties: false },
      ),
    ),
    downloadUrl: Type.Optional(
      Type.String({
        description: 'When ready: the file, for everyone who knows the URL.',
        examples: ['https://video.example.com/asset/6pukxh2m0ydr9h3q/video'],
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
  { $id: 'Asset', additionalProperties: false },
);
