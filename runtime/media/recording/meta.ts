import { createHash } from 'node:crypto';
import type { BlobUpload } from '../../../core/ports/blobs.ts';
import type { FinishedRecording, FinishedRendition, VideoSpec } from '../../../core/ports/recorder.ts';

/** `take.json` in the folder of a recording file: what the file itself cannot say. */
export interface RecordingMeta {
  readonly version: 1;
  readonly sessionId: string;
  readonly streamId: string;
  /** Where its blobs go. */
  readonly folder: string;
  /** Name of its blobs: several nodes may have files of one session. */
  readonly takeId: string;
  readonly gaps: number;
  /** Present when it is no source: the name of the rendition, and the place of its profile, from 0. */
  readonly rendition?: { readonly name: string; readonly order: number };
  /** It is being finished: nothing is added any more. */
  readonly isEnding?: boolean;
  /** The multipart upload that its closed extents go to while it grows. */
  readonly upload?: BlobUpload;
  /** The file is complete and hashed, head and index lie beside it. All of that is on disk. */
  readonly sealed?: SealedFile;
  /** What `finish` answered. */
  readonly finished?: FinishedRecording;
  /** Of a rendition: what it is in that answer. */
  readonly made?: FinishedRendition;
}

export interface SealedFile {
  readonly video: Omit<FinishedRecording['video'], 'key'>;
  readonly index: Omit<FinishedRecording['index'], 'key'>;
  /** Of a source. */
  readonly head?: Omit<FinishedRecording['head'], 'key'>;
  readonly spec?: VideoSpec;
  readonly startedAt?: number;
  /** Of a rendition. */
  readonly rendition?: Pick<FinishedRendition, 'variant' | 'share'>;
}

/**
 * Name of its folder. That of a rendition is made of a hash, because profile names are any text; a session id has no dot, so
 * the two never collide.
 */
export function folderName({ sessionId, rendition }: Pick<RecordingMeta, 'sessionId' | 'rendition'>): string {
  if (rendition === undefined) return sessionId;
  // As JSON, so that lone surrogates stay different too.
  const hash = createHash('sha256').update(JSON.stringify(rendition.name)).digest('hex');
  return `${sessionId}.${hash.slice(0, 0x20)}`;
}

export const fileNames = {
  meta: 'take.json',
  video: 'source.mp4',
  head: 'head.mp4',
  index: 'index.bin',
} as const;

/** Begins the folder names of files that are joined from others. */
export const joinMark = '.join-';

/** Throws an Error that says what is wrong with it. */
export function parseMeta(text: string, path: string): RecordingMeta {
  const meta = JSON.parse(text) as Partial<RecordingMeta> | null;
  const problem = problemOf(meta);
  if (problem !== undefined) throw new Error(`${path}: ${problem}`);
  return meta as RecordingMeta;
}

function problemOf(meta: Partial<RecordingMeta> | null): string | undefined {
  if (typeof meta !== 'object' || meta === null) return 'is not an object';
  if (meta.version !== 1) return `version is ${meta.version}, expected 1`;
  for (const name of ['sessionId', 'streamId', 'folder', 'takeId'] as const) {
    if (typeof meta[name] !== 'string' || meta[name] === '') return `${name} is missing`;
  }
  if (!Number.isInteger(meta.gaps)) return 'gaps is not a number';
  for (const name of ['upload', 'sealed', 'finished', 'made', 'rendition'] as const) {
    if (meta[name] === undefined) continue;
    if (typeof meta[name] !== 'object' || meta[name] === null) return `${name} is not an object`;
  }
  const { rendition } = meta;
  if (rendition && (typeof rendition.name !== 'string' || !Number.isInteger(rendition.order)))
    return 'rendition has no name, or no order';
  return undefined;
}
