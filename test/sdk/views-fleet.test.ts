/** The example `views` on several nodes, which the tests of an outside package cannot start. */
import { expect, it } from 'vitest';
import views from '../../examples/views/index.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { type FleetNode, fleet } from '../kit/fleet.ts';

const plugins = [...(await allPlugins()), views as never];

/** Answers come from other nodes as virtual time passes: nobody waits for them. */
function fetchAs(node: FleetNode, { playbackId, viewer }: { playbackId: string; viewer: string }) {
  node.request('GET', `/hls/${playbackId}/index.m3u8`, { headers: { 'user-agent': viewer } }).catch(() => {});
}

async function started() {
  const f = await fleet({ plugins });
  const nodes = [await f.start('a'), await f.start('b'), await f.start('c')] as const;
  const [a] = nodes;
  const stream = (await a.request('POST', '/api/stream', { body: { name: 'A stream' } })).body;
  const publish = await a.media.publish(stream.streamKey);
  publish.playable();
  await f.settle();
  const count = async () => (await a.request('GET', `/api/data/views/${stream.playbackId}`)).body;
  return { f, nodes, playbackId: stream.playbackId as string, count };
}

it('counts a viewer once, whichever nodes serve it', async () => {
  const { f, nodes, playbackId, count } = await started();
  await using _ = f;
  for (let second = 0; second < 60; second += 1) {
    for (const [number, viewer] of ['p', 'q', 'r', 's', 't'].entries()) {
      fetchAs(nodes[(second + number) % 3] as FleetNode, { playbackId, viewer });
    }
    await f.advance('1s');
  }
  await f.advance('10s');
  const { viewCount, watchTime } = await count();
  expect(viewCount).toBe(5);
  // Each of them watched for a minute, to within a turn.
  expect(watchTime).toBeGreaterThanOrEqual(5 * 50);
  expect(watchTime).toBeLessThanOrEqual(5 * 60);
});

it('goes on when a node dies, and counts nobody anew', async () => {
  const { f, nodes, playbackId, count } = await started();
  await using _ = f;
  const [a, b] = nodes;
  const watch = async (node: FleetNode, seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      for (const viewer of ['p', 'q', 'r', 's', 't']) fetchAs(node, { playbackId, viewer });
      await f.advance('1s');
    }
  };
  await watch(a, 30);
  nodes[2].cut();
  await watch(b, 60);
  await f.advance('10s');
  expect((await count()).viewCount).toBe(5);
});
