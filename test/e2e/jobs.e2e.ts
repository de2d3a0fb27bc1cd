import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startHookReceiver } from './harness/hook-receiver.ts';
import { root, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const emitter = join(root, 'test/kit/emitter-plugin.ts');

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s while jobs run: they begin again at the next start, as the same deliveries, and nothing is told as failed',
  async (signal) => {
    await using receiver = await startHookReceiver();
    await using server = await startServer({
      env: {
        MILLRACE_OUTBOUND__ALLOW: '["127.0.0.2/32"]',
        MILLRACE_PLUGINS: JSON.stringify({ [emitter]: {}, webhooks: { timeout: '20s' } }),
      },
    });
    const { never = '', ok = '' } = receiver.urls;
    const hook = { events: ['stream.started'] };
    const made = await server.api.request('POST', '/api/webhook', { ...hook, name: 'never', url: never });
    const { id } = (await made.json()) as { id: string };
    const good = await server.api.request('POST', '/api/webhook', { ...hook, name: 'ok', url: ok });
    const goodLog = `/api/webhook/${((await good.json()) as { id: string }).id}/log`;
    const emission = { type: 'stream.started', streams: ['a', 'b', 'c'], each: 2 };
    await server.api.request('POST', '/emit', emission);
    // One of each stream; the second waits for the first, which gets no answer.
    await until('attempts under way', () => receiver.received('never').length === 3, { within: 15_000 });
    await until('all at the good endpoint', () => receiver.received('ok').length === 6, { within: 15_000 });
    // What has arrived and is not yet committed is sent again after a kill, as it must be.
    const noted = async () => ((await (await server.api.request('GET', goodLog)).json()) as unknown[]).length;
    await until('all of them noted', async () => (await noted()) === 6, { within: 15_000 });
    const ids = () => receiver.received('never').map(({ headers }) => headers['webhook-id']);
    const first = ids().toSorted();

    if (signal === 'SIGTERM') expect(await server.stop()).toBe(0);
    else await server.kill();
    await server.restart();
    await until('the same attempts again', () => receiver.received('never').length === 6, { within: 15_000 });
    expect(ids().slice(3).toSorted()).toEqual(first);
    expect(receiver.received('ok')).toHaveLength(6);
    const log = await server.api.request('GET', `/api/webhook/${id}/log`);
    expect(await log.json()).toEqual([]);
    expect(server.output).not.toMatch(/"level":"error"/);
  },
);
