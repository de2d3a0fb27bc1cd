import type { StoredResource } from '../../core/ports/store.ts';

/** What of a stored session says how much of it is recorded. */
interface RecordedSession {
  readonly parentId: string | null;
  readonly isOver?: boolean;
  readonly fields: { readonly recordings?: { readonly record?: boolean } };
  readonly past: { readonly bytes: number };
  readonly current: { readonly bytes: number };
}

/** Bytes of the recording of a session, until it is an asset; 0 for a session that is not recorded. At most 30 s old. */
export function bytesRecorded({ body }: StoredResource): number {
  const { parentId, isOver, fields, past, current } = JSON.parse(body) as RecordedSession;
  const isRecording = parentId !== null && isOver === false && fields.recordings?.record === true;
  return isRecording ? past.bytes + current.bytes : 0;
}
