import type { TObject } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import type { Caller } from '../../core/http/caller.ts';
import { type FieldValues, resource } from '../../core/plugin/resource.ts';
import { collection, token } from '../../core/plugin/token.ts';
import type { Container } from '../../core/ports/inspector.ts';
import type { FinishedRendition, VideoSpec } from '../../core/ports/recorder.ts';
import type { Vod } from '../../core/vod/answer.ts';
import type { FilmFile } from '../../core/vod/film-media.ts';
import type { NewTask, TaskReference, TaskWork, taskSchema } from '../tasks/contract.ts';

/** The asset object. Other plugins add fields to it. */
export const assetResource = resource('asset');

/** How other plugins make assets. The file is below `assets/<id>/`, and belongs to the asset as soon as the asset is ready. */
export interface Assets {
  /** Creates an asset as `waiting`; an existing asset with this id stays as it is. */
  begin(asset: NewAsset): Promise<void>;
  /**
   * For a request: creates an asset and the task that brings its file, and returns both as this caller sees them. Faults `orderFaults`.
   */
  order(asset: AssetOrder, caller: Caller): Promise<Readonly<Record<'asset' | 'task', unknown>>>;
  /** Schema of what `order` returns. */
  readonly ordered: { readonly asset: TObject; readonly task: typeof taskSchema };
  /** For the work of such a task: its asset, which is created if the request died before it could. Undefined: it was deleted. */
  ofWork(work: TaskWork, source: AssetSource): Promise<AssetReference | undefined>;
  /** Before such a task is retried: its asset waits again. Returns its id. Fault `task.not_possible`: it was deleted, or has its file. */
  renew(task: TaskReference): Promise<string>;
  /** The file of the asset that is the input of a task. Undefined: it was deleted. */
  inputOf(task: Pick<TaskReference, 'account' | 'inputAssetId'>): Promise<AssetFile | undefined>;
  /**
   * The file is there. May be repeated. 'gone': the asset was deleted, and the caller must delete the blobs of the file.
   */
  ready(id: string, file: AssetFile): Promise<'ok' | 'gone'>;
  /** There will be no file. */
  fail(id: string, message: string): Promise<void>;
  /**
   * Changes an asset as `PATCH /api/asset/{id}` does; `userTags` replaces all of them. 'gone': it was deleted. Fault `body.invalid`
   * (422) for values that a client could not send.
   */
  change(id: string, changes: AssetChanges): Promise<'ok' | 'gone'>;
  find(id: string): Promise<AssetReference | undefined>;
  findByPlaybackId(playbackId: string): Promise<AssetReference | undefined>;
  /**
   * Takes a film while this node produces it: writes it to disk, inspects it, stores it, and makes it the file of the asset unless
   * the asset has one. Throws the error of the film or of `check`, the reason of the signal, `upload.refused`,
   * `upload.not_allowed` or `intake.too_large`; then nothing remains.
   *
   * @param options.check called with what is in the film, before it is stored
   */
  take(
    id: string,
    film: ReadableStream<Uint8Array>,
    options: { readonly signal: AbortSignal; check(spec: VideoSpec): void },
  ): Promise<FileOutput | 'gone'>;
}

export interface AssetChanges {
  readonly name?: string;
  readonly userTags?: Readonly<Record<string, unknown>>;
}

export interface NewAsset {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly source: AssetSource;
  readonly userTags?: Readonly<Record<string, unknown>> | undefined;
  readonly createdByTokenName?: string;
  /** Values of the fields that plugins add to assets. Absent: what `assetTerms` say, else their initial values. */
  readonly fields?: FieldValues | undefined;
}

/**
 * What a plugin sets in an asset that is made of something else: fields of its own for a recording, or for the output of a transcode. Called before the
 * asset is there, and again when that is repeated.
 */
export type AssetTerms = (asset: {
  readonly account: string;
  readonly source: AssetSource;
}) => Promise<Readonly<Record<string, unknown>>>;

export const assetTerms = collection<{ readonly plugin: string; readonly terms: AssetTerms }>('assets.terms');

export interface AssetOrder
  extends NewAsset,
    Pick<NewTask, 'params' | 'secret' | 'deadline' | 'lateMessage'> {
  readonly source: Exclude<AssetSource, { type: 'recording' }>;
}

/** Fault codes of a route that orders an asset. */
export const orderFaults = [
  ...['asset.too_many', 'asset.not_found', 'task.too_many', 'intake.full', 'intake.unavailable'],
  ...['upload.not_allowed', 'decision.unavailable'],
];

/** Types of the tasks that bring files of assets, by the source of the asset. */
export const fileTasks = { directUpload: 'upload', url: 'import', transcode: 'transcode' } as const;

/** The id of the task that brings the file of an asset. It is derived from the id of the asset. */
export function fileTaskOf(assetId: string, type: (typeof fileTasks)[keyof typeof fileTasks]): string {
  return derivedId(`${type} ${type === 'transcode' ? 'to' : 'of'} asset ${assetId}`);
}

export function assetNotFound(id: string): Fault {
  return new Fault('asset.not_found', { status: 404, message: `There is no asset ${idOrNone(id)}.` });
}

/** For an asset without a file. */
export function assetNotReady({ status }: AssetReference): Fault {
  const message =
    status === 'failed'
      ? 'The asset failed: it has no file.'
      : 'The asset has no file yet. Wait until it is ready.';
  return new Fault('asset.not_ready', { status: 409, message });
}

/** Facts about an accepted file, as tasks show them. */
export type FileOutput = {
  readonly assetSpec: Readonly<Record<string, unknown>>;
  /** Keys of blobs. */
  readonly videoFilePath: string;
  readonly metadataFilePath: string;
};

/** `output` of the task of an asset's file, under the name of its type. */
export function outputOf(file: AssetFile, { name }: { readonly name: string }): FileOutput {
  return {
    assetSpec: { name, ...specOf(file) },
    videoFilePath: file.video.key,
    metadataFilePath: file.metadata?.key ?? '',
  };
}

export interface AssetReference {
  readonly id: string;
  readonly status: 'waiting' | 'ready' | 'failed';
  readonly account: string;
  readonly name: string;
  readonly userTags: Readonly<Record<string, unknown>>;
  readonly playbackId: string;
  /** What it was made of. */
  readonly source: AssetSource;
  /** Values of the fields that plugins add to assets, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly file?: AssetFile;
}

/** Where it comes from. */
export type AssetSource =
  | { readonly type: 'recording'; readonly sessionId: string }
  | { readonly type: 'directUpload' }
  /** `url`: without secrets. */
  | { readonly type: 'url'; readonly url: string }
  /** The input may have been deleted since. */
  | { readonly type: 'transcode'; readonly inputAssetId: string };

/** The blobs of an asset, by key. */
export interface AssetFile {
  readonly video: {
    readonly key: string;
    readonly size: number;
    readonly md5: string;
    readonly sha256: string;
  };
  /** This blob, followed by the bytes `from` up to `to` of the video, is the same film with its index in front. */
  readonly head?: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  /** Positions of its HLS segments: core/vod/segment-index.ts. */
  readonly index?: { readonly key: string; readonly size: number };
  /** For a film that was not packaged for HLS: the blob that the index refers to (core/vod/films.ts). */
  readonly heads?: { readonly key: string; readonly size: number };
  /** Further HLS variants of the film. */
  readonly renditions?: readonly Rendition[];
  /** Why there is no HLS of the file, as the end of a sentence. */
  readonly uncut?: string;
  /** The facts about the video, as JSON. */
  readonly metadata?: { readonly key: string; readonly size: number };
  /** The received file, if the video is a conversion of it. */
  readonly original?: Original;
  readonly spec: VideoSpec;
}

export interface Original {
  readonly key: string;
  readonly size: number;
  readonly sha256: string;
  /** Its container. */
  readonly format: Container | 'mov';
}

/** Of a recording; `name` is the name of its profile. */
export type Rendition = Omit<FinishedRendition, 'share'>;

/**
 * Folder for exports (CAR files) of an asset. They stay as long as the asset, also when its file is replaced, and are deleted with
 * it.
 */
export function exportsFolder(id: string): string {
  return `assets/${id}/exports/`;
}

/**
 * Folder for pictures of an asset, by the key of its video. Missing pictures are made again. They stay as long as the asset and are
 * deleted with it. Undefined: the video belongs to no asset.
 */
export function picturesFolder(videoKey: string): string | undefined {
  const [folder, id, name] = videoKey.split('/');
  return folder === 'assets' && name !== undefined ? `assets/${id}/pictures/` : undefined;
}

/** Keys of all blobs of a file: they are deleted with it, and the sweep leaves them. */
export function keysOf(file: Blobs): string[] {
  return blobsOf(file).map(({ key }) => key);
}

/** Bytes of all blobs of a file. */
export function bytesOf(file: Blobs): number {
  return blobsOf(file).reduce((sum, { size }) => sum + size, 0);
}

type Blobs = Omit<AssetFile, 'spec' | 'renditions'> & {
  readonly renditions?: readonly Pick<Rendition, 'video' | 'index'>[];
};

function blobsOf({ video, head, index, heads, metadata, original, renditions = [] }: Blobs) {
  const others = renditions.flatMap((rendition) => [rendition.video, rendition.index]);
  return [video, head, index, heads, metadata, original, ...others].flatMap((blob) => blob ?? []);
}

/** Facts about a file, as tasks show them. */
export function specOf({ video, spec }: Pick<AssetFile, 'video' | 'spec'>) {
  return { type: 'video', size: video.size, hash: hashesOf(video), videoSpec: spec };
}

/** Hashes, as assets show them. */
export function hashesOf({ md5, sha256 }: AssetFile['video']) {
  return [
    { hash: md5, algorithm: 'md5' },
    { hash: sha256, algorithm: 'sha256' },
  ];
}

export const assets = token<Assets>('assets');

/** Playback of stored films. All routes share its memory. */
export const films = token<Vod>('films');

/** Further files beside the playlists of films: `/asset/{playbackId}/{name}`, and the same for recordings. */
export const filmFiles = collection<FilmFile>('assets.film-files');
