import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadPlan, LoadReport } from '../load-generator/main.ts';
import { bun, start, temporaryFolder } from './children.ts';
import { until } from './subject.ts';

export interface Load {
  readonly pid: number;
  /** The newest one; at most a second old. */
  readonly report: LoadReport;
  stop(): Promise<void>;
}

/** Starts publishers and readers on a core and answers once all publishers are accepted. */
export async function startLoad(plan: LoadPlan, options: { core: number }): Promise<Load> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'plan.json');
  writeFileSync(file, JSON.stringify(plan));
  let isOnAir = false;
  let report: LoadReport | undefined;
  const child = start([bun, 'bench/load-generator/main.ts', file], {
    core: options.core,
    onLine(line) {
      if (line === 'on air') isOnAir = true;
      else if (line.startsWith('{')) report = JSON.parse(line) as LoadReport;
    },
  });
  await until('the publishers', () => child.hasExited || (isOnAir && report !== undefined), {
    within: 30_000 + plan.startOver,
    every: 50,
  });
  if (child.hasExited) throw new Error(`the load generator ended; it printed:\n${child.output}`);
  return {
    pid: child.pid,
    get report() {
      return report as LoadReport;
    },
    async stop() {
      await child.stop();
      folder.remove();
    },
  };
}
