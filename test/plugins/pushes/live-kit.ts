/** A broadcast with targets, and what is known of its pushes. */
import type { World } from '../../kit/world.ts';
import { inShort, targets } from './kit.ts';

/** A broadcast with these targets, which are pushed to. */
export async function live(w: World, ids: readonly string[], more: Record<string, unknown> = {}) {
  const stream = await w.given.stream({ multistream: targets(...ids), ...more });
  const publish = await w.given.broadcast(stream);
  await w.advance('2s');
  return { stream, publish, id: stream.playbackId as string };
}

export const told = async (w: World) => inShort(await w.events());
export const orders = (w: World, playbackId: string) => w.pusher.orders(playbackId);
export const rows = (w: World) => w.store.resources.list('multistream-push', { limit: 100 });
export const shown = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}`)).body;
