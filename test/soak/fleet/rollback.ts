import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { until } from '../../e2e/harness/wait.ts';
import { firsts, readyAfter } from './outages.ts';
import type { Stage } from './stage.ts';

const folder = 'appendonlydir';
const kept = 'appendonlydir.kept';

/**
 * Line 5: Redis comes back with what it held some time ago. Plain resources that were written since are lost by nature;
 * what actors did is on the log, and is done again.
 */
export async function rollback(
  on: Stage,
  { areNodesRestarted }: { areNodesRestarted: boolean },
): Promise<void> {
  const { fleet, ledger } = on;
  await Bun.sleep(10_000);
  await keep(on);
  // Plain rows from here on may be lost.
  on.ledger.plainUntil = performance.now();
  await Bun.sleep(20_000);
  if (areNodesRestarted) {
    // The node that takes the broadcasts dies as well: encoders have to come back.
    for (const entry of ledger.streams.values()) entry.isLeftAlone = false;
    ledger.hasMediaDied = true;
    await Promise.all(fleet.nodes.map((node) => node.kill()));
  }
  await fleet.redis.stop();
  const data = fleet.redis.folder;
  rmSync(join(data, folder), { recursive: true });
  renameSync(join(data, kept), join(data, folder));
  on.ledger.plainFrom = performance.now();
  ledger.isCatchingUp = true;
  await fleet.redis.restart();
  const back = performance.now();
  if (areNodesRestarted) await Promise.all(fleet.nodes.map((node) => node.restart()));
  const own = await firsts(on, back);
  const ready = await readyAfter(on, back);
  ledger.isCatchingUp = false;
  console.log(
    `rolled back${areNodesRestarted ? ', nodes restarted' : ''}: last partition with a write after ${(Math.max(...own) / 1000).toFixed(1)} s, all nodes ready after ${(ready / 1000).toFixed(1)} s; 404 for what was made until then: ${ledger.figures.notYet}`,
  );
  await Bun.sleep(20_000);
  for (const node of fleet.nodes) if (!node.isRunning) ledger.violation(`node ${node.id} has ended`);
}

/** Copies the append-only files while they grow: with no rewrite under way they change at their end alone. */
async function keep({ fleet }: Stage): Promise<void> {
  const client = createClient({ url: fleet.redis.url });
  await client.connect();
  await client.configSet('auto-aof-rewrite-percentage', '0');
  await until(
    'no rewrite under way',
    async () => /aof_rewrite_in_progress:0/.test(await client.info('persistence')),
    { within: 30_000 },
  );
  cpSync(join(fleet.redis.folder, folder), join(fleet.redis.folder, kept), { recursive: true });
  await client.configSet('auto-aof-rewrite-percentage', '100');
  client.destroy();
}
