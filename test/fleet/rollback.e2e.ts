import { expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { until } from '../e2e/harness/wait.ts';
import { startFleet } from '../kit/engines/fleet/fleet.ts';
import { keepAsItIs, putBack } from '../kit/older-redis.ts';
import { lacksEngines } from './three-nodes.ts';

const isMissing = await lacksEngines();

test.skipIf(isMissing).each([
  ['', false],
  [', and all nodes with it', true],
] as const)(
  'Redis comes back older than it was%s: what was made since is never said not to be there',
  async (_, areNodesRestarted) => {
    await using fleet = await startFleet();
    const on = (id: string) => apiClient(fleet.node(id).url, { key: fleet.key });
    const make = (name: string) => on('a').createStream({ name });
    await Promise.all(Array.from({ length: 4 }, (_, n) => make(`early ${n}`)));
    await keepAsItIs(fleet.redis);
    const late = await Promise.all(Array.from({ length: 24 }, (_, n) => make(`late ${n}`)));
    if (areNodesRestarted) await Promise.all(fleet.nodes.map((node) => node.kill()));
    await putBack(fleet.redis);
    const restarted = fleet.redis.restart();

    const seen = new Map<string, number>();
    const ask = async (url: string, headers: Record<string, string> = {}) => {
      const status = await fetch(url, { headers, signal: AbortSignal.timeout(15_000) }).then(
        async (answer) => {
          await answer.text();
          return answer.status;
        },
        // The node is not up yet.
        () => 0,
      );
      seen.set(`${status}`, (seen.get(`${status}`) ?? 0) + 1);
      return status;
    };
    const authorization = `Bearer ${fleet.key}`;
    const everything = () =>
      late.flatMap(({ id, playbackId }) => [
        ...['a', 'b'].map((node) => ask(`${fleet.node(node).url}/api/stream/${id}`, { authorization })),
        ...['a', 'b', 'media'].map((node) => ask(`${fleet.node(node).url}/api/playback/${playbackId}`)),
      ]);
    if (areNodesRestarted) {
      await restarted;
      void Promise.all(fleet.nodes.map((node) => node.restart()));
    }
    await until(
      'all of them to be found everywhere',
      async () => {
        const statuses = await Promise.all(everything());
        return statuses.every((status) => status === 200);
      },
      { within: 60_000, every: 50 },
    );
    await restarted;
    expect(
      [...seen.keys()].filter((status) => !['0', '200', '503'].includes(status)),
      [...seen].join(' '),
    ).toEqual([]);
    // And what never was is still told from it.
    for (const node of ['a', 'b']) {
      await until(
        'what never was to be known not to be there',
        async () => (await on(node).request('GET', `/api/stream/${crypto.randomUUID()}`)).status === 404,
        { within: 20_000 },
      );
    }
  },
  180_000,
);
