import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { redisVolatile } from '../../../runtime/drivers/volatile/redis/index.ts';
import { until } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { certificates } from '../../outbound/certificates.ts';
import { create, row, step } from './fixtures.ts';

const redis = await engineFor('redis');
const { authority: ca, good, key } = certificates;

/** A Redis that is to be reached over TLS alone, by a user with a password. */
async function secured() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-redis-tls-'));
  const files = { 'tls-cert-file': good, 'tls-key-file': key, 'tls-ca-cert-file': ca };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const [port = 0] = await findFreePorts(1);
  const engine = await redis.start({
    settings: {
      ...{ 'tls-port': String(port), 'tls-auth-clients': 'no' },
      ...Object.fromEntries(Object.keys(files).map((name) => [name, join(folder, name)])),
    },
  });
  rmSync(folder, { recursive: true });
  const admin = createClient({ url: engine.url });
  await admin.connect();
  await admin.sendCommand(['ACL', 'SETUSER', 'app', 'on', '>p@ss word', '~*', '&*', '+@all']);
  await admin.sendCommand(['ACL', 'SETUSER', 'default', 'off']);
  admin.destroy();
  return {
    at: (user: string) => `rediss://${user}@127.0.0.1:${port}`,
    good: `rediss://app:p%40ss%20word@127.0.0.1:${port}`,
  };
}

describe.skipIf(redis.isMissing)('a Redis over TLS, with users', () => {
  test('is what store, jobs and volatile need no more than the URL and the authority for', async () => {
    const { good: url, at } = await secured();
    const options = { url, ca, namespace: 'secure', log: silentLog };
    const [store, volatile] = [redisStore(options), redisVolatile(options)];
    try {
      const [lease] = await store.acquire(1);
      expect(await create(store, [row({ id: 'one' })])).toMatchObject({ outcome: 'ok' });
      let woken = 0;
      const unsubscribe = store.jobs.subscribe(() => (woken += 1));
      await until('the subscription', () => woken > 0, { within: 10_000 });
      const job = { id: 'c/0/k', kind: 'k', child: 'x', input: '{}', due: 0 };
      expect(await store.commit(step(lease!, { jobs: [job] }))).toMatchObject({ outcome: 'ok' });
      await until('the wake', () => woken > 1, { within: 10_000 });
      unsubscribe();
      const heard: string[] = [];
      const end = await volatile.listen('topic', (message) => heard.push(String(message)));
      await volatile.set([{ key: 'k', value: 1 }], { lasts: 60_000 });
      expect(await volatile.get(['k'])).toEqual([1]);
      await end();
    } finally {
      await Promise.all([store.close(), volatile.close()]);
    }
    const refused = async (more: object) => {
      const other = redisStore({ ...options, ...more });
      const fault = await other.acquire(1).catch((error) => error);
      await other.close();
      return fault;
    };
    const stranger = await refused({ ca: undefined });
    expect(stranger).toMatchObject({
      code: 'store.refused',
      message: expect.stringMatching(/^redis\.tls\.ca: /),
    });
    for (const user of ['app:wrong', 'nobody:p%40ss%20word', ''])
      expect(await refused({ url: at(user).replace('//@', '//') })).toMatchObject({ code: 'store.refused' });
  });
});
