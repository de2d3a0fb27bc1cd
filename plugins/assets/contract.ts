import type { TObject } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import type { Caller } from '../../core/http/caller.ts';
import { resource } from '../../core/plugin/resource.ts';
import { collection, token } from '../../core/plugin/token.ts';
import type { Container } from '../../core/ports/inspector.ts';
import type { FinishedRendition, VideoSpec } from '../../core/ports/recorder.ts';
import type { Vod } from '../../core/vod/answer.ts';
import type { FilmFile } from '../../core/vod/film-media.ts';
import type { NewTask, TaskReference, TaskWork, taskSchema } from '../tasks/contract.ts';

/** The asset object. Other plugins tell fields of it. */
export const assetResource = resource('asset');

/** How other plugins make assets. The file lies below `assets/<id>/`, and belongs to the asset once that is ready. */
export interface Assets {
  /** Begins an asset as `waiting`; one of this id that is there stays as it is. */
  begin(asset: NewAsset): Promise<void>;
  /**
   * For a request: an asset, and the task that brings its file; both as this caller sees them. Faults `asset.too_many`,
   * `task.too_many` (409), and `intake.full`, `intake.unavailable` when this node has no room.
   */
  order(asset: AssetOrder, caller: Caller): Promise<Readonly<Record<'asset' | 'task', unknown>>>;
  /** What `order` answers. */
  readonly ordered: { readonly asset: TObject; readonly task: typeof taskSchema };
  /** For the work of such a task: its asset, which is made where the request died before that. Undefined: it was deleted. */
  ofWork(work: TaskWork, source: AssetSource): Promise<AssetReference | undefined>;
  /** Before such a task is retried: its asset waits for a file again; its id. Fault `task.not_possible`: deleted, or has its file. */
  renew(task: TaskReference): Promise<string>;
  /** The file of the asset that is the input of a task. Undefined: it was deleted. */
  inputOf(task: Pick<TaskReference, 'account' | 'inputAssetId'>): Promise<AssetFile | undefined>;
  /**
   * Its file is there. Repeating it is harmless; of a deleted asset nothing happens: 'gone', and the file's blobs are
   * the caller's to delete.
   */
  ready(id: string, file: AssetFile): Promise<'ok' | 'gone'>;
  /** It will not come. */
  fail(id: string, message: string): Promise<void>;
  find(id: string): Promise<AssetReference | undefined>;
  findByPlaybackId(playbackId: string): Promise<AssetReference | undefined>;
  /**
   * Takes a film that is made on this node while it is made: written down, looked into, stored, and the asset's file unless it has
   * one. Whatever it throws, nothing of it stays: what the film throws, what `check` throws, the reason of the signal,
   * `upload.refused`, `intake.too_large`.
   *
   * @param options.check sees what is in it, before it is stored
   */
  take(
    id: string,
    film: ReadableStream<Uint8Array>,
    options: { readonly signal: AbortSignal; check(spec: VideoSpec): void },
  ): Promise<FileOutput | 'gone'>;
}

export interface NewAsset {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly source: AssetSource;
  readonly userTags?: Readonly<Record<string, unknown>> | undefined;
  readonly createdByTokenName?: string;
}

export interface AssetOrder
  extends NewAsset,
    Pick<NewTask, 'params' | 'secret' | 'deadline' | 'lateMessage'> {
  readonly source: Exclude<AssetSource, { type: 'recording' }>;
}

/** Of a route that orders an asset. */
export const orderFaults = [
  ...['asset.too_many', 'asset.not_found', 'task.too_many', 'intake.full', 'intake.unavailable'],
];

/** The types of the tasks that bring files of assets, by where those come from. */
export const fileTasks = { directUpload: 'upload', url: 'import', transcode: 'transcode' } as const;

/** The task that brings the file of an asset has its id from that of the asset, so that each is found from the other. */
export function fileTaskOf(assetId: string, type: (typeof fileTasks)[keyof typeof fileTasks]): string {
  return derivedId(`${type} ${type === 'transcode' ? 'to' : 'of'} asset ${assetId}`);
}

export function assetNotFound(id: string): Fault {
  return new Fault('asset.not_found', { status: 404, message: `There is no asset ${idOrNone(id)}.` });
}

/** Of an asset without a file. */
export function assetNotReady({ status }: AssetReference): Fault {
  const message =
    status === 'failed'
      ? 'The asset failed: it has no file.'
      : 'The asset has no file yet. Wait until it is ready.';
  return new Fault('asset.not_ready', { status: 409, message });
}

/** What is known of an accepted file, as tasks show it and as it lies beside the video. */
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
  /** Where its HLS segments lie: core/vod/segment-index.ts. */
  readonly index?: { readonly key: string; readonly size: number };
  /** Of a film that was not packaged for HLS: what the index names lies here (core/vod/films.ts). */
  readonly heads?: { readonly key: string; readonly size: number };
  /** Other pictures of the same film, beside its own in HLS. */
  readonly renditions?: readonly Rendition[];
  /** Why a file that could have HLS has none: follows "there is no HLS of it: ". */
  readonly uncut?: string;
  /** What is known of it, as JSON beside it. */
  readonly metadata?: { readonly key: string; readonly size: number };
  /** What came, where the video was made of it. */
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

/** Of a recording; `name` is that of its profile. */
export type Rendition = Omit<FinishedRendition, 'share'>;

/**
 * Where others keep what they made of an asset's file, and told somebody of: the CAR of an export. It stays as long as the asset
 * does, also when another file takes the place of that one, and is erased with it.
 */
export function exportsFolder(id: string): string {
  return `assets/${id}/exports/`;
}

/**
 * Where pictures of an asset's files lie, by the key of the video: whoever makes them makes them again, should they be gone. They stay as
 * long as the asset does, and are erased with it. Undefined: a video that belongs to no asset.
 */
export function picturesFolder(videoKey: string): string | undefined {
  const [folder, id, name] = videoKey.split('/');
  return folder === 'assets' && name !== undefined ? `assets/${id}/pictures/` : undefined;
}

/** Keys of all blobs of a file: what is deleted with it, and what a sweep leaves. */
export function keysOf(file: Blobs): string[] {
  return blobsOf(file).map(({ key }) => key);
}

/** What all blobs of a file take together. */
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

/** What films have beside their playlists: `/asset/{playbackId}/{name}`, and wherever else films are watched. */
export const filmFiles = collection<FilmFile>('assets.film-files');
