import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { until } from '../e2e/harness/wait.ts';
import { startFleet } from '../kit/engines/fleet/fleet.ts';
import { lacksEngines } from './three-nodes.ts';

const isMissing = await lacksEngines();

test.skipIf(isMissing)(
  'a first start on fresh engines has no warnings; while Kafka is silent every write is answered within 10 s',
  async () => {
    const roles = ['api', 'actors', 'worker'] as const;
    await using fleet = await startFleet({ nodes: ['a', 'b'].map((id) => ({ id, roles })) });
    const { url } = fleet.node('a');
    const { createStream, request } = apiClient(url, { key: fleet.key });
    await createStream({ name: 'the first' });
    for (const { logFile } of fleet.nodes) {
      const log = readFileSync(logFile, 'utf8');
      expect(log).toContain('"ready"');
      expect(log.split('\n').filter((line) => /"level":"(warn|error)"|Warning/.test(line))).toEqual([]);
    }
    const authorization = `Bearer ${fleet.key}`;
    const outcomes = (writes: readonly Write[]) =>
      Promise.all(
        writes.map(async ([method, path, body]) => {
          const from = performance.now();
          const answer = await fetch(url + path, {
            ...{ method, headers: { authorization, 'content-type': 'application/json' } },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          });
          await answer.text();
          const seconds = (performance.now() - from) / 1000;
          return {
            what: `${method} ${path}`,
            status: answer.status,
            seconds,
            after: answer.headers.get('retry-after'),
          };
        }),
      );
    const silences = [
      [() => fleet.kafka.freeze(), async () => fleet.kafka.thaw()],
      [() => fleet.kafka.stop(), () => fleet.kafka.restart()],
    ] as const;
    for (const [begin, end] of silences) {
      const stream = await createStream({ name: 'made before' });
      const made = await idOf(request('POST', '/api/asset/request-upload', { name: 'made before' }), 'asset');
      const writes = writesTo(stream.id, made);
      await begin();
      // At once, and when it has been away for a while.
      const seen = [...(await outcomes(writes)), ...(await outcomes(writes))];
      expect(seen.filter(({ seconds }) => seconds >= 10)).toEqual([]);
      expect(
        seen.filter(({ status, after }) => status >= 500 && !(status === 503 && Number(after) > 0)),
      ).toEqual([]);
      const isOfActors = ({ what }: { what: string }) =>
        /api.(stream|asset)/.test(what) && !what.startsWith('GET');
      expect(seen.filter((one) => isOfActors(one) && one.status !== 503)).toEqual([]);
      await end();
      // Partitions may change hands once more when Kafka is back: enough creates at one time to reach each of them.
      const create = async () => (await request('POST', '/api/stream', { name: 'after' })).status;
      const statuses = () => Promise.all(Array.from({ length: 24 }, create));
      await until('writes', async () => (await statuses()).every((status) => status === 201), {
        within: 60_000,
      });
    }
  },
  240_000,
);

type Write = readonly [method: string, path: string, body?: unknown];

const writesTo = (stream: string, asset: string): readonly Write[] => [
  ['POST', '/api/stream', { name: 'a' }],
  ['PATCH', `/api/stream/${stream}`, { name: 'b' }],
  ['PATCH', `/api/stream/${stream}/record`, { record: true }],
  ['POST', `/api/stream/${stream}/rotate-key`],
  ['DELETE', `/api/stream/${stream}/terminate`],
  ['DELETE', `/api/stream/${stream}`],
  ['POST', '/api/asset/request-upload', { name: 'c' }],
  ['POST', '/api/asset/import', { url: 'https://example.org/film.mp4', name: 'd' }],
  ['PATCH', `/api/asset/${asset}`, { name: 'e' }],
  ['DELETE', `/api/asset/${asset}`],
  ['POST', '/api/webhook', { name: 'f', url: 'https://example.org/', events: ['stream.started'] }],
  ['POST', '/api/multistream/target', { name: 'g', url: 'rtmp://example.org/live/key' }],
  ['POST', '/api/api-token', { name: 'h' }],
  ['GET', '/api/stream'],
];

async function idOf(asked: Promise<Response>, name: string): Promise<string> {
  return ((await (await asked).json()) as Record<string, { id: string }>)[name]!.id;
}
