import { unlessRefused } from '../../core/base/fault.ts';
import { regularly } from '../../core/base/timing.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { assets } from '../assets/contract.ts';
import { streams } from '../streams/contract.ts';
import type { RecordingsKit } from './config.ts';
import { type RecordingDocument, recording, recordingDocument, recordingKind } from './recording.ts';

/** Recordings that are read at a time. */
const page = 100;
/** Time between two checks, ms. */
const interval = 600_000;

/** Makes up for events that nobody heard: at the start and regularly, on one node at a time. */
export function reconciling(kit: RecordingsKit): Stop {
  let hasReleased = false;
  return regularly(interval, {
    clock: kit.clock,
    async work(signal) {
      await endUnheard(kit, signal);
      // Once is enough: while this plugin is on it hears of each asset that is deleted.
      if (!hasReleased) await releaseDeleted(kit, signal);
      hasReleased = true;
    },
    failed: (error) =>
      kit.log.warn('recordings whose sessions are over could not be looked for; it is tried again', {
        error,
      }),
  });
}

/**
 * Ends recordings whose session has ended unheard: while a plugin is off it gets no events, and nothing would ever finish
 * such a recording or free its files. Repeating it is harmless, and so is being ahead of the event.
 */
async function endUnheard(kit: RecordingsKit, signal: AbortSignal): Promise<void> {
  for (const status of ['recording', 'waiting'] as const) {
    for await (const row of rowsOf(status, { kit, signal })) await endIfOver(row, kit);
  }
}

/** Lets go of recordings whose asset was deleted while nobody heard of it: their links lead nowhere. */
async function releaseDeleted(kit: RecordingsKit, signal: AbortSignal): Promise<void> {
  for await (const row of rowsOf('ready', { kit, signal })) {
    const { sessionId, assetId } = recordingDocument(row);
    if (await kit.use(assets).find(assetId)) continue;
    const options = { cause: `recording/deleted/${sessionId}` };
    await kit.actors.ask(recording, sessionId, { type: 'assetDeleted' }, options).catch(unlessRefused);
  }
}

async function* rowsOf(
  status: RecordingDocument['status'],
  { kit, signal }: { kit: RecordingsKit; signal: AbortSignal },
): AsyncGenerator<StoredResource> {
  const { resources } = kit;
  for await (const rows of rowPages(recordingKind, { where: { status }, page, resources }))
    for (const row of rows) {
      signal.throwIfAborted();
      yield row;
    }
}

async function endIfOver(row: StoredResource, kit: RecordingsKit): Promise<void> {
  const { sessionId, streamId } = recordingDocument(row);
  const session = await kit.use(streams).describe(sessionId);
  if (!session?.isOver) return;
  // As it is now, which is what whoever hears of the recording will find. One that was deleted stays as it was last heard of.
  const parent = await kit.use(streams).describe(streamId);
  const event = { type: 'over', ...(parent && { stream: parent.body }) } as const;
  await kit.actors
    .ask(recording, sessionId, event, { cause: `recording/missed/${sessionId}` })
    .catch(unlessRefused);
}
