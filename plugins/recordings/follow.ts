import { milliseconds } from '../../core/base/config-fields.ts';
import { hasCode, unlessRefused } from '../../core/base/fault.ts';
import { payloadOf } from '../../core/plugin/events.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { SessionFacts } from '../streams/contract.ts';
import { tasks } from '../tasks/contract.ts';
import type { RecordingsKit } from './config.ts';
import { taskIdOf } from './finish.ts';
import { assetIdOf, recording, recordingDocument, recordingKind } from './recording.ts';
import { noteDeleted, noteStatus } from './stream-status.ts';

/** Whether a session is recorded: what its parent's `record` was when it began. */
export function isRecorded({ fields }: Pick<SessionFacts, 'fields'>): boolean {
  return fields.record === true;
}

/**
 * A recorded session is on the air: its recording begins, or goes on. The cause names the event, so that one which is heard
 * of again changes nothing, however far the recording has come.
 */
export async function sessionStarted(event: LoggedEvent, kit: RecordingsKit): Promise<void> {
  const { stream, payload: session } = bodyOf(event);
  if (!isRecorded(session)) return;
  const { id: sessionId, streamId, createdAt } = session;
  // Before its event: who hears of that finds the stream in the same state.
  await noteStatus({ streamId, sessionId, createdAt }, { status: 'waiting', kit });
  const options = { cause: causeOf(event) };
  try {
    await kit.actors.ask(recording, session.id, { type: 'started', stream }, options);
    return;
  } catch (error) {
    // It is over: what is told late or twice.
    if (hasCode(error, 'actor.not_possible')) return;
    if (!hasCode(error, 'actor.not_found')) throw error;
  }
  const { account, name, createdByTokenName } = session;
  const settings = {
    ...{ sessionId, streamId, account, createdAt, name, createdByTokenName },
    assetId: assetIdOf(sessionId),
    giveUp: milliseconds(kit.config.giveUp),
  };
  await kit.actors
    .spawn(recording, sessionId, { recording: settings, stream }, options)
    // Its asset was deleted since.
    .catch(unlessRefused);
}

/** `idle`: it is off the air, and may come back. `over`: it will not. */
export function sessionChanged(
  type: 'idle' | 'over',
): (event: LoggedEvent, kit: RecordingsKit) => Promise<void> {
  return async (event, kit) => {
    const { stream, payload: session } = bodyOf(event);
    if (!isRecorded(session)) return;
    const { endsAt } = session;
    const change = { type, stream, ...(type === 'idle' && endsAt !== undefined && { endsAt }) };
    await kit.actors.ask(recording, session.id, change, { cause: causeOf(event) }).catch(unlessRefused);
  };
}

/** With its asset the recording goes. */
export async function assetDeleted(event: LoggedEvent, kit: RecordingsKit): Promise<void> {
  const { asset } = payloadOf<{ asset: { source: { type: string; sessionId?: string } } }>(event);
  const { type, sessionId } = asset.source;
  if (type !== 'recording' || sessionId === undefined) return;
  await kit.use(tasks).cancel(taskIdOf(sessionId));
  const row = await kit.resources.get(recordingKind, sessionId);
  if (row) {
    const { streamId } = recordingDocument(row);
    await noteDeleted({ streamId, sessionId, createdAt: row.createdAt }, kit);
  }
  await kit.actors
    .ask(recording, sessionId, { type: 'assetDeleted' }, { cause: causeOf(event) })
    .catch(unlessRefused);
}

function bodyOf(event: LoggedEvent): {
  readonly stream: Readonly<Record<string, unknown>>;
  readonly payload: SessionFacts;
} {
  const { stream, payload } = JSON.parse(event.body);
  // The session is the newest recorded one. The stream may have said so before it was told.
  return { stream: stream.record === true ? { ...stream, recordingStatus: 'waiting' } : stream, payload };
}

function causeOf({ id }: LoggedEvent): string {
  return `recording/${id}`;
}
