import { percentile } from '../../../bench/harness/figures.ts';
import { partitions, type Stage } from './stage.ts';

/** Line 3: actor nodes die at random moments, and are started again after a while. */
export async function kills(on: Stage, times: number): Promise<void> {
  const { fleet, ledger } = on;
  const gaps: number[] = [];
  const worst: number[] = [];
  for (let n = 1; n <= times; n += 1) {
    await Bun.sleep(3000 + Math.random() * 9000);
    const victim = fleet.node(Math.random() < 0.7 ? 'a' : 'b');
    const killedAt = performance.now();
    await victim.kill();
    const away = Math.random() * 15_000;
    await Bun.sleep(away);
    await victim.restart();
    const back = performance.now();
    const own: number[] = [];
    const deadline = performance.now() + 30_000;
    for (let partition = 0; partition < partitions; partition += 1) {
      let first: number | undefined;
      while (first === undefined && performance.now() < deadline) {
        first = firstAfterTheGap(ledger.moments.get(partition) ?? [], killedAt);
        if (first === undefined) await Bun.sleep(200);
      }
      if (first === undefined)
        ledger.violation(`no write succeeds in partition ${partition} after kill ${n}`);
      else own.push(first - killedAt);
    }
    gaps.push(...own);
    worst.push(Math.max(...own));
    console.log(
      `kill ${n}: ${victim.id}, away ${(away / 1000).toFixed(1)} s, up after ${((back - killedAt) / 1000).toFixed(1)} s; first write by partition: median ${seconds(percentile(own, 50))}, last ${seconds(Math.max(...own))}; ${ledger.figures.acknowledged} writes so far`,
    );
  }
  console.log(
    `from a kill to the first write: median over partitions ${seconds(percentile(gaps, 50))}, p90 ${seconds(percentile(gaps, 90))}, the longest ${seconds(Math.max(...worst))}`,
  );
}

/** Answers that were on their way at the kill are not it: the first one after 300 ms. */
function firstAfterTheGap(moments: readonly number[], killedAt: number): number | undefined {
  return moments.find((moment) => moment > killedAt + 300);
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
