import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { WebhooksKit } from './kit.ts';
import { lane, laneKind } from './lane.ts';

/**
 * Wakes the lanes that a lost process would have woken: which lanes wait for a place or for the breaker is in its memory
 * alone, and they would wait a minute or two for nothing.
 */
export async function lostNode(lost: LostNode, kit: WebhooksKit): Promise<void> {
  for await (const rows of rowPages(laneKind, { where: {}, page, resources: kit.resources })) {
    const lanes = await Promise.all(
      rows.map(async ({ body }) => {
        const { actor } = JSON.parse(body) as { actor: string };
        return { actor, view: await kit.actors.read(lane, actor) };
      }),
    );
    const lastSign = await lost.lastSigns();
    const left = lanes.filter(({ view }) => {
      if (view?.value !== 'holding' || view.context.heldBy === null) return false;
      // Lanes of an older release do not say who wakes them: by now nobody does.
      return view.context.heldBy === undefined || lastSign(view.context.heldBy) !== undefined;
    });
    await sideBySide(left, async ({ actor }) => {
      await kit.actors.ask(lane, actor, { type: 'resume' }).catch(unlessRefused);
    });
  }
}

/** Lanes at a time: their commits share a sync, and leave room for those of others. */
const page = 100;
