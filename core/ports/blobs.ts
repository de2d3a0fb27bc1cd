/**
 * Files that are written once and read often: recordings, uploads, pictures, archives. A blob is there as a whole or
 * not at all, and is never changed: a put replaces it. A reader of one that is replaced or deleted gets the rest of
 * the old one, or a Fault; never a mixture, never a part that looks complete.
 *
 * What resolved is on disk: it survives `kill -9` and loss of power.
 *
 * **Keys** are `folder/folder/name.ext` (`keyProblem`); a wrong one is a RangeError that names it. The content type is a
 * matter of the ending (`typeOf`), so it needs no keeping and nobody can make a file look like something else.
 *
 * **Faults**: `blobs.unavailable` (503: no answer, nothing is known of a write), `blobs.full` (507), `blobs.denied` (503: the
 * credentials may not), `blobs.busy` (503), `blobs.too_large` (413), `blobs.wrong_length` (400: the source had another
 * length than it said), `blobs.closed` (503). All may be tried again but `too_large` and `wrong_length`. What the source of
 * a put throws, and the reason of an aborted signal, are thrown as they are. After any of these nothing is there, but for
 * `unavailable`, after which a write may be done, or be done yet.
 */
export interface Blobs {
  /** Creates what is missing and checks the rest; a Fault of `startFaults` names what is wrong. Repeating it is harmless. */
  open(): Promise<void>;

  /** A source is read only as fast as it is written, and holds at most some parts in memory, however long it is. */
  put(key: string, source: BlobSource, options?: PutOptions): Promise<PutOutcome>;

  /**
   * Puts a file of this machine, which belongs to the driver from then on: afterwards it is gone. On the same disk it
   * is only given another name, however large it is. A refused or failed one leaves the file.
   */
  adopt(key: string, file: string, options?: PutOptions): Promise<PutOutcome>;

  /**
   * What `adopt` is: another name for a file on the same disk, or a copy that takes as long as the file is. What grows is
   * better uploaded meanwhile then.
   */
  readonly adopting: 'rename' | 'copy';

  /** Undefined when it is not there. */
  head(key: string): Promise<BlobFacts | undefined>;

  /** The body comes as it is read: at most some hundred KiB wait in memory. Read it to its end or cancel it. */
  get(key: string, options?: GetOptions): Promise<GetOutcome>;

  /**
   * Blobs whose keys begin with this text, ascending by their bytes. What was put or deleted meanwhile may be among them or
   * not. Files of others in the same place are passed over, so a page may have fewer than `limit` and still a next one.
   */
  list(prefix: string, options: ListOptions): Promise<BlobPage>;

  /** At most `blobLimits.listed`. One that is not there is as good as deleted. */
  delete(keys: readonly string[]): Promise<void>;

  /** Of stores that copy what they adopt. A directory has none: `begin` is refused. */
  readonly uploads: BlobUploads;

  /** What runs is ended; later calls are Fault `blobs.closed`. */
  close(): Promise<void>;
}

/**
 * A blob that comes in parts: in any order, side by side, from any node, over days. Nothing of it is visible before
 * `complete`. Part `n` (1 to 10,000) has `partSize` bytes, and the last one 1 to `partSize`: some stores want them alike.
 */
export interface BlobUploads {
  /** `partSize` is at least 5 MiB (S3). What it returns is plain JSON, to be kept by the caller. */
  begin(key: string, options: { readonly partSize: number }): Promise<BlobUpload>;

  /** Whatever the part was before is replaced. `gone`: the upload is completed, aborted or swept. */
  part(
    upload: BlobUpload,
    part: { readonly number: number; readonly bytes: Uint8Array; readonly signal?: AbortSignal },
  ): Promise<'ok' | 'gone'>;

  /** Those that are there, ascending: where to go on after a crash. */
  parts(upload: Pick<BlobUpload, 'key' | 'id'>): Promise<readonly BlobPart[] | 'gone'>;

  /**
   * Makes a blob of `size` bytes of it. Parts behind that are dropped. Repeating a call that may have been done is answered as
   * the first time, for a day and while the blob is not replaced. After `incomplete` and `conflict` the upload is still there.
   */
  complete(
    upload: BlobUpload,
    options: { readonly size: number } & Pick<PutOptions, 'ifAbsent'>,
  ): Promise<CompleteOutcome>;

  /** Removes it and its parts; one that is not there is as good as aborted. A part that is still being written may come back. */
  abort(upload: Pick<BlobUpload, 'key' | 'id'>): Promise<void>;

  /**
   * Some uploads that were begun before this time (epoch ms) and neither completed nor aborted, at most `limit` (1 to
   * `blobLimits.listed`): after those are aborted, the next call returns others.
   */
  unfinished(options: {
    readonly before: number;
    readonly limit: number;
  }): Promise<readonly UnfinishedUpload[]>;
}

/** Bytes, or what gives them piece by piece: a ReadableStream, a generator. */
export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface PutOptions {
  /** Only when there is none of this key. Decided when the bytes are complete: of all writers of all processes one succeeds. */
  readonly ifAbsent?: boolean;
  /** Bytes the source will give. Another length is Fault `blobs.wrong_length`. Known, it may be larger. */
  readonly size?: number;
  /** Ends it: nothing of it stays. */
  readonly signal?: AbortSignal;
}

/** `conflict`: the condition does not hold; nothing was changed. */
export type PutOutcome =
  | { readonly outcome: 'ok'; readonly etag: string; readonly size: number }
  | { readonly outcome: 'conflict' };

export type CompleteOutcome =
  | PutOutcome
  | { readonly outcome: 'gone' }
  /** Numbers of the first parts that are missing or have another length, at most 100. */
  | { readonly outcome: 'incomplete'; readonly missing: readonly number[] };

export interface BlobFacts {
  readonly key: string;
  readonly size: number;
  /** Visible ASCII without quotes. Two blobs of one key with the same etag have the same bytes. */
  readonly etag: string;
  /** Epoch ms, by the clock of the store, which may be cut to seconds. */
  readonly modified: number;
  /** Content type, from the key. */
  readonly type: string;
}

/** Bytes `from` up to `to`, which is not part of it, or to the end; or the `last` ones. */
export type BlobRange =
  | { readonly from: number; readonly to?: number; readonly last?: undefined }
  | { readonly last: number; readonly from?: undefined };

export interface GetOptions {
  readonly range?: BlobRange;
  /** Ends the body too, with its reason. */
  readonly signal?: AbortSignal;
}

export type GetOutcome =
  | {
      readonly outcome: 'ok';
      readonly blob: BlobFacts;
      /** What the body is of the blob: `from` up to `to`, which is at most its size. */
      readonly from: number;
      readonly to: number;
      /** Exactly `to - from` bytes, or it fails. */
      readonly body: ReadableStream<Uint8Array>;
    }
  | { readonly outcome: 'absent' }
  /** The range begins behind the end, so an empty blob has none. */
  | { readonly outcome: 'beyond'; readonly size: number };

export interface ListOptions {
  /** 1 to `blobLimits.listed`. */
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string;
}

export interface BlobPage {
  readonly blobs: readonly BlobFacts[];
  /** Only when there may be more. */
  readonly next?: string;
}

export interface BlobUpload {
  readonly key: string;
  readonly id: string;
  readonly partSize: number;
}

export interface BlobPart {
  readonly number: number;
  readonly size: number;
}

export interface UnfinishedUpload {
  readonly key: string;
  readonly id: string;
  /** Epoch ms. */
  readonly begun: number;
}

/** Bounds of every driver. */
export const blobLimits = {
  /** Characters of a key. */
  keyLength: 256,
  /** Characters between two slashes of a key. */
  segmentLength: 100,
  /** Folders of a key and its name. */
  segments: 8,
  /** Blobs on one page of a list, and keys deleted in one call: what S3 takes. */
  listed: 1000,
  /** Parts of one upload: what S3 takes. */
  parts: 10_000,
  /** Most bytes of a part, which lies in memory while it is sent. */
  partMost: 256 * 1_048_576,
  /** Missing parts named at once when an upload cannot be completed yet. */
  missingShown: 100,
} as const;

/** The content type of a key, by its ending; never one that a browser would run. */
export function typeOf(key: string): string {
  return types[key.slice(key.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
}

const types: Readonly<Record<string, string>> = {
  __proto__: null as never,
  car: 'application/vnd.ipld.car',
  jpg: 'image/jpeg',
  json: 'application/json',
  m3u8: 'application/vnd.apple.mpegurl',
  m4s: 'video/iso.segment',
  mp4: 'video/mp4',
  png: 'image/png',
  txt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  webp: 'image/webp',
};
