import { keepAsItIs, putBack } from '../../kit/older-redis.ts';
import { firsts, readyAfter } from './outages.ts';
import type { Stage } from './stage.ts';

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
  await keepAsItIs(fleet.redis);
  // Plain rows from here on may be lost.
  on.ledger.plainUntil = performance.now();
  await Bun.sleep(20_000);
  if (areNodesRestarted) {
    // The node that takes the broadcasts dies as well: encoders have to come back.
    for (const entry of ledger.streams.values()) entry.isLeftAlone = false;
    ledger.hasMediaDied = true;
    await Promise.all(fleet.nodes.map((node) => node.kill()));
  }
  await putBack(fleet.redis);
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
