import { derivedId } from '../../core/base/ids.ts';

/** The asset that the recording of a session becomes. It has its id from the first, so that its files can have their place. */
export function assetIdOf(sessionId: string): string {
  return derivedId(`recording/${sessionId}`);
}

/** Where the blobs of the recording of a session go. */
export function folderOf(sessionId: string): string {
  return `assets/${assetIdOf(sessionId)}`;
}

/** Where a recording is watched. */
export function linksOf(sessionId: string, { baseUrl }: { baseUrl: string }): RecordingLinks {
  const base = `${baseUrl}/recordings/${sessionId}`;
  return { recordingUrl: `${base}/index.m3u8`, mp4Url: `${base}/source.mp4` };
}

export interface RecordingLinks {
  readonly recordingUrl: string;
  readonly mp4Url: string;
}
