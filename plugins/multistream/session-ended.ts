import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { regularly } from '../../core/base/timing.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { LoggedEvent, StoredResource } from '../../core/ports/store.ts';
import { type SessionFacts, type Streams, streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { push, pushDocument, pushKind } from './push.ts';

/** Between two searches for pushes whose session has ended, ms. */
const interval = 600_000;

/** A session has ended: its pushes emit that they are disconnected, and end. */
export async function sessionEnded(event: LoggedEvent, kit: MultistreamKit): Promise<void> {
  const { stream, payload } = JSON.parse(event.body) as {
    stream: Readonly<Record<string, unknown>>;
    payload: SessionFacts;
  };
  const { id: sessionId } = payload;
  // Most sessions have no push: one lookup, since they lie beside their session.
  if (!(await kit.resources.find(pushKind, 'sessionId', sessionId))) return;
  for await (const rows of pagesOf({ sessionId }, kit)) {
    await sideBySide(rows, async ({ id }) => {
      const options = { cause: `push/over/${event.id}/${id}` };
      await kit.actors.ask(push, id, { type: 'over', stream }, options).catch(unlessRefused);
    });
  }
}

/** Tells every push that ran in a lost process. */
export async function lostNode(lost: LostNode, kit: MultistreamKit): Promise<void> {
  for await (const rows of pagesOf({ node: lost.id }, kit)) {
    const lastSign = await lost.lastSigns();
    await sideBySide(rows, async (row) => {
      const { incarnation, streamId } = pushDocument(row);
      if (incarnation === null || lastSign(incarnation) === undefined) return;
      // May be called before `start` has provided the streams: then the stream is shown as it was last.
      const known = kit.use(streams) as Streams | undefined;
      const stream = (await known?.describe(streamId))?.body;
      const event = { type: 'node.lost', incarnation, ...(stream && { stream }) } as const;
      await kit.actors.ask(push, row.id, event).catch(unlessRefused);
    });
  }
}

/**
 * Ends pushes that missed the end of their session, regularly: while this plugin is off it gets no events. Runs on one node at a
 * time; repeating it is harmless.
 */
export function reconcilePushes(kit: MultistreamKit): Stop {
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
      kit.log.warn('pushes of ended sessions could not be searched; it is retried', { error }),
  });
}

function pagesOf(where: Readonly<Record<string, string>>, { resources }: MultistreamKit) {
  return rowPages(pushKind, { where, page: 100, resources });
}
