import { expect } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import events from '../../../plugins/events/index.ts';
import health from '../../../plugins/health/index.ts';
import streams from '../../../plugins/streams/index.ts';
import type { Fleet, FleetNode } from '../../kit/fleet.ts';

export const plugins = [accounts, streams, events, health] as unknown as Plugin[];
export const types = (list: { event: string }[]) =>
  list.map(({ event }) => event).filter((event) => event !== 'stream.health');

/** One node with the actors, two that take broadcasts. */
export async function three(f: Fleet) {
  const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
  const m = await f.start('m', { roles: ['media'] });
  const n = await f.start('n', { roles: ['media'] });
  return { a, m, n };
}

export const created = async (node: FleetNode, body: Record<string, unknown> = {}) => {
  const answer = await node.request('POST', '/api/stream', { body: { name: 'A stream', ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
};
export const onAir = async (f: Fleet, node: FleetNode, { streamKey }: { streamKey: string }) => {
  const publish = await node.media.publish(streamKey);
  publish.playable();
  await f.settle();
  return publish;
};
export const shown = async (node: FleetNode, id: string) =>
  (await node.request('GET', `/api/stream/${id}`)).body;
