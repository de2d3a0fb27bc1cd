import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { regularly } from '../../core/base/timing.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
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
    await sideBySide(rows, async ({ id }) => {
      const options = { cause: `push/over/${event.id}/${id}` };
      await kit.actors.ask(push, id, { type: 'over', stream }, options).catch(unlessRefused);
    });
  }
}

/** Tells every push that ran in processes which are gone. */
export async function lostNode(lost: LostNode, kit: MultistreamKit): Promise<void> {
  for await (const rows of pagesOf({ node: lost.id }, kit)) {
    const lastSign = await lost.lastSigns();
    await sideBySide(rows, async (row) => {
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
  const end = async (row: StoredResource) => {
    const { sessionId, streamId } = pushDocument(row);
    const session = await kit.use(streams).describe(sessionId);
    if (session && !session.isOver) return;
    const parent = await kit.use(streams).describe(streamId);
    const event = { type: 'over', ...(parent && { stream: parent.body }) } as const;
    await kit.actors.ask(push, row.id, event, { cause: `push/missed/${row.id}` }).catch(unlessRefused);
  };
  return regularly(interval, {
    clock: kit.clock,
    async work(signal) {
      for await (const rows of pagesOf({}, kit)) {
        if (signal.aborted) return;
        await sideBySide(rows, end);
      }
    },
    failed: (error) =>
      kit.log.warn('pushes whose sessions are over could not be looked for; it is tried again', { error }),
  });
}

function pagesOf(where: Readonly<Record<string, string>>, { resources }: MultistreamKit) {
  return rowPages(pushKind, { where, page, resources });
}
