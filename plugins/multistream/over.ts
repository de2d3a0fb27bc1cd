import { every } from '../../core/every.ts';
import { unlessRefused } from '../../core/fault.ts';
import type { LostNode } from '../../core/nodes.ts';
import type { Stop } from '../../core/plugin.ts';
import type { LoggedEvent, StoredResource } from '../../core/ports/store.ts';
import { type SessionFacts, type Streams, streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { multistreamLimits } from './limits.ts';
import { push, pushDocument, pushKind } from './push.ts';

const page = multistreamLimits.pushesRead.value;
const interval = multistreamLimits.missed.value;

/** A session will not come back: what was pushed of it is told to be disconnected, and forgotten. */
export async function sessionOver(event: LoggedEvent, kit: MultistreamKit): Promise<void> {
  const { stream, payload } = JSON.parse(event.body) as {
    stream: Readonly<Record<string, unknown>>;
    payload: SessionFacts;
  };
  const { id: sessionId } = payload;
  // Most sessions are pushed nowhere, which one look tells: all of one session lie beside it.
  if (!(await kit.resources.find(pushKind, 'sessionId', sessionId, { isBeside: true }))) return;
  for await (const rows of pagesOf({ sessionId }, kit)) {
    await allOf(rows, async ({ id }) => {
      const options = { cause: `push/over/${event.id}/${id}` };
      await kit.actors.ask(push, id, { type: 'over', stream }, options).catch(unlessRefused);
    });
  }
}

/** Tells every push that ran in processes which are gone. */
export async function lostNode(lost: LostNode, kit: MultistreamKit): Promise<void> {
  for await (const rows of pagesOf({ node: lost.id }, kit)) {
    const lastSign = await lost.lastSigns();
    await allOf(rows, async (row) => {
      const { incarnation, streamId } = pushDocument(row);
      if (incarnation === null || lastSign(incarnation) === undefined) return;
      // Nothing has started yet when a process tells of the one before it: then the stream is as it was last heard of.
      const known = kit.use(streams) as Streams | undefined;
      const stream = (await known?.describe(streamId))?.body;
      const event = { type: 'node.lost', incarnation, ...(stream && { stream }) } as const;
      await kit.actors.ask(push, row.id, event).catch(unlessRefused);
    });
  }
}

/**
 * Ends what was never told that its session is over, now and ever again: while this plugin is off nobody hears of it. A duty of
 * one node at a time; repeating it is harmless.
 */
export function endingMissed(kit: MultistreamKit): Stop {
  let running: Promise<void> | undefined;
  const { signal, log } = kit;
  const end = async (row: StoredResource) => {
    if (signal.aborted) return;
    const { sessionId, streamId } = pushDocument(row);
    const session = await kit.use(streams).describe(sessionId);
    if (session && !session.isOver) return;
    const parent = await kit.use(streams).describe(streamId);
    const event = { type: 'over', ...(parent && { stream: parent.body }) } as const;
    await kit.actors.ask(push, row.id, event, { cause: `push/missed/${row.id}` }).catch(unlessRefused);
  };
  const look = async () => {
    for await (const rows of pagesOf({}, kit)) await allOf(rows, end);
  };
  const work = () => {
    running ??= look()
      .catch((error: unknown) =>
        log.warn('pushes whose sessions are over could not be looked for; it is tried again', { error }),
      )
      .finally(() => {
        running = undefined;
      });
  };
  work();
  const stop = every(interval, { clock: kit.clock, work });
  return async () => {
    stop();
    await running;
  };
}

/** All with these values. */
async function* pagesOf(
  where: Readonly<Record<string, string>>,
  { resources }: MultistreamKit,
): AsyncGenerator<readonly StoredResource[]> {
  for (let after: StoredResource | undefined; ; ) {
    const rows = await resources.list(pushKind, { where, limit: page, ...(after && { after }) });
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (rows.length < page) return;
  }
}

/** Side by side. One that fails keeps no other from it, and then fails the whole. */
async function allOf(
  rows: readonly StoredResource[],
  work: (row: StoredResource) => Promise<void>,
): Promise<void> {
  const failed = (await Promise.allSettled(rows.map(work))).find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
