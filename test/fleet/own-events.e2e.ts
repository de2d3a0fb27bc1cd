import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { root } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { startFleet } from '../kit/engines/fleet/fleet.ts';
import { lacksEngines } from './three-nodes.ts';

describe.skipIf(await lacksEngines())('events of a plugin, on real Redis and Kafka', () => {
  test('are one for each id, whichever nodes write it and whoever dies, and reach webhooks', async () => {
    const plugins = { [join(root, 'test/kit/telling-plugin.ts')]: {} };
    await using fleet = await startFleet({ env: { MILLRACE_PLUGINS: JSON.stringify(plugins) } });
    const received: string[] = [];
    const server = createServer((request, response) => {
      received.push(String(request.headers['webhook-id']));
      request.resume().on('end', () => response.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const api = (node: string) => apiClient(fleet.node(node).url, { key: fleet.key });
      const post = (node: string, path: string, body: unknown) => api(node).request('POST', path, body);
      const events = ['telling.told'];
      const hook = { name: 'W', url: `http://127.0.0.1:${port}`, events };
      expect((await post('a', '/api/webhook', hook)).status).toBe(201);

      const told = async (node: string) =>
        ((await (await post(node, '/tell', { id: 'x', count: 40 })).json()) as { outcomes: string[] })
          .outcomes;
      const [byA, byB] = await Promise.all([told('a'), told('b')]);
      // Each is written by one of them.
      expect(byA.map((outcome, n) => [outcome, byB[n]].sort())).toEqual(
        Array.from({ length: 40 }, () => ['duplicate', 'ok']),
      );
      await until('40 deliveries', () => new Set(received).size === 40, { within: 60_000 });
      await fleet.node('b').kill();
      expect(new Set(await told('a'))).toEqual(new Set(['duplicate']));
      // Deliveries may come twice; none has an id of its own.
      expect(new Set(received).size).toBe(40);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }, 240_000);
});
