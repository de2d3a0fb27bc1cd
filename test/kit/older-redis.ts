import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { until } from '../e2e/harness/wait.ts';

interface Redis {
  readonly url: string;
  readonly folder: string;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

const folder = 'appendonlydir';
const kept = 'appendonlydir.kept';

/** Copies the append-only files while they grow: with no rewrite under way they change at their end alone. */
export async function keepAsItIs(redis: Redis): Promise<void> {
  const client = createClient({ url: redis.url });
  await client.connect();
  await client.configSet('auto-aof-rewrite-percentage', '0');
  await until(
    'no rewrite under way',
    async () => /aof_rewrite_in_progress:0/.test(await client.info('persistence')),
    { within: 30_000 },
  );
  cpSync(join(redis.folder, folder), join(redis.folder, kept), { recursive: true });
  await client.configSet('auto-aof-rewrite-percentage', '100');
  client.destroy();
}

/** Redis has ended, and what it will find is what was kept. `restart` is the caller's. */
export async function putBack(redis: Redis): Promise<void> {
  await redis.stop();
  rmSync(join(redis.folder, folder), { recursive: true });
  renameSync(join(redis.folder, kept), join(redis.folder, folder));
}
