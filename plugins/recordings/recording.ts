import { derivedId } from '../../core/base/ids.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { ResourceReader, StoredResource } from '../../core/ports/store.ts';
import { type RecordingContext, type RecordingEmitted, recordingMachine } from '../../machines/recording.ts';

/** One per session that is recorded, with the id of the session. */
export const recording: ActorType<typeof recordingMachine> = {
  type: 'recording',
  machine: recordingMachine,
  version: 1,
  get kinds() {
    return { [recordingKind]: 'own' } as const;
  },
  rows(context, state) {
    const { account, streamId, sessionId, name, createdAt } = context.recording;
    const row = { kind: recordingKind, id: sessionId, account, createdAt, name };
    if (state === 'gone') return [{ ...row, body: null, indexes: {} }];
    const document = documentFor(context, statusOf(state));
    return [{ ...row, body: JSON.stringify(document), indexes: { streamId, status: document.status } }];
  },
  describe(emitted, { recording: { account, streamId } }) {
    const { type: _, stream, ...rest } = emitted as unknown as RecordingEmitted;
    return { account, stream: streamId, body: { stream, ...rest } };
  },
};

export const recordingKind = 'recording';

/** What is stored of a recording. Its files are its asset's. */
export interface RecordingDocument {
  readonly sessionId: string;
  readonly streamId: string;
  readonly assetId: string;
  readonly status: RecordingStatus;
  /** What keeps it from being finished, or why it failed, in plain words; empty when nothing. */
  readonly problem: string;
  /** Nodes whose part could not be had. */
  readonly missing: readonly string[];
  /** Times that a node could not write down what was broadcast. */
  readonly gaps: number;
  /** When it will be ready unless there is trouble, epoch ms; absent while that cannot be known. */
  readonly readyBy?: number;
}

type RecordingStatus = 'recording' | 'waiting' | 'finishing' | 'retrying' | 'ready' | 'failed';

/** The recording of a session, if it has one. */
export async function recordingOf(
  sessionId: string,
  resources: Pick<ResourceReader, 'get'>,
): Promise<RecordingDocument | undefined> {
  const row = await resources.get(recordingKind, sessionId);
  return row && recordingDocument(row);
}

export function recordingDocument(row: StoredResource): RecordingDocument {
  return JSON.parse(row.body) as RecordingDocument;
}

/** It is still being made. */
export function isUnfinished({ status }: RecordingDocument): boolean {
  return status !== 'ready' && status !== 'failed';
}

function documentFor(context: RecordingContext, status: RecordingStatus): RecordingDocument {
  const { sessionId, streamId, assetId } = context.recording;
  const { problem, missing, gaps } = context;
  const readyBy = readyByOf(context, status);
  return {
    ...{ sessionId, streamId, assetId, status, missing, gaps },
    ...(readyBy !== undefined && { readyBy }),
    problem: status === 'ready' ? '' : problem,
  };
}

/** Finishing takes seconds whatever the length; 5 min is what clients may count on. */
const finishBound = 300_000;

function readyByOf({ endsAt = 0, overAt }: RecordingContext, status: RecordingStatus): number | undefined {
  if (status === 'waiting' && endsAt > 0) return endsAt + finishBound;
  return status === 'finishing' ? overAt + finishBound : undefined;
}

function statusOf(state: unknown): RecordingStatus {
  return (typeof state === 'string' ? state : Object.keys(state as object)[0]) as RecordingStatus;
}

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
