import type { Recording } from '../../machines/recording.ts';
import { assets } from '../assets/contract.ts';
import { streams } from '../streams/contract.ts';
import type { RecordingsKit } from './config.ts';
import { isUnfinished, type RecordingDocument, recordingDocument, recordingKind } from './recording.ts';

type Of = Pick<Recording, 'streamId' | 'sessionId' | 'createdAt'>;

/** The stream shows this from now on, unless a newer session is recorded. Before the event that says so. */
export async function noteStatus(
  { streamId, sessionId, createdAt }: Of,
  { status, kit }: { status: 'waiting' | 'ready' | 'none'; kit: RecordingsKit },
): Promise<void> {
  const recording = { sessionId, sessionCreatedAt: createdAt, status };
  await kit.use(streams).noteRecording(streamId, { recording });
}

/** Notes that a recording is ready. Returns the stream as events show it; null when it was deleted. */
export async function noteReady(
  of: Of & Pick<Recording, 'assetId'>,
  kit: RecordingsKit,
): Promise<Readonly<Record<string, unknown>> | null> {
  await noteStatus(of, { status: 'ready', kit });
  // The asset may have been deleted before that was noted.
  if (!(await kit.use(assets).find(of.assetId))) await noteDeleted(of, kit);
  return (await kit.use(streams).describe(of.streamId))?.body ?? null;
}

/** A recording goes: the stream shows its newest one that is left. */
export async function noteDeleted(of: Of, kit: RecordingsKit): Promise<void> {
  const { streamId, sessionId } = of;
  const rows = await kit.resources.list(recordingKind, { where: { streamId }, limit: 2 });
  const left = rows.find(({ id }) => id !== sessionId);
  const recording = left
    ? {
        sessionId: left.id,
        sessionCreatedAt: left.createdAt,
        status: statusOf(recordingDocument(left)),
      }
    : { sessionId, sessionCreatedAt: of.createdAt, status: 'none' as const };
  await kit.use(streams).noteRecording(streamId, { recording, instead: sessionId });
}

function statusOf(document: RecordingDocument): 'waiting' | 'ready' | 'none' {
  if (isUnfinished(document)) return 'waiting';
  return document.status === 'ready' ? 'ready' : 'none';
}
