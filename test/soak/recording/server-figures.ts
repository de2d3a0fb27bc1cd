import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { memoryOf, percentOf, usageOf } from '../../../bench/harness/process-figures.ts';

export interface ServerFigures {
  /** Bytes of resident memory: at the beginning, at most, and now. `tenths`: the most in each tenth of the time. */
  readonly memory: {
    readonly before: number;
    readonly most: number;
    readonly after: number;
    readonly tenths: readonly number[];
  };
  /** Below which 99 of 100 samples of the delay of its event loop are, ms; of the worst bucket +Inf. */
  readonly loopDelay: number;
  /** Percent of a core. */
  readonly cpu: number;
  /** Seconds that its threads were ready and had no core: what others on the machine took. */
  readonly waited: number;
}

/** Watches a server's process from now until it is asked. */
export async function watchServer(server: {
  readonly pid: number;
  readonly url: string;
}): Promise<{ figures(): Promise<ServerFigures> }> {
  const { pid } = server;
  const before = memoryOf(pid).rss;
  const usage = usageOf(pid);
  const began = performance.now();
  const delays = await readDelays(server.url);
  const seen: number[] = [];
  const look = () => {
    seen.push(memoryOf(pid).rss);
  };
  const timer = setInterval(look, 100);
  return {
    async figures() {
      clearInterval(timer);
      look();
      const now = usageOf(pid);
      const cpu = percentOf(usage, now, (performance.now() - began) / 1000);
      const loopDelay = percentile99(delays, await readDelays(server.url)) * 1000;
      const tenths = Array.from({ length: 10 }, (_, n) =>
        Math.max(...seen.slice(Math.floor((n * seen.length) / 10), Math.ceil(((n + 1) * seen.length) / 10))),
      );
      const memory = { before, most: Math.max(...tenths), after: memoryOf(pid).rss, tenths };
      return { memory, loopDelay, cpu, waited: now.waited - usage.waited };
    },
  };
}

/** Upper edges of the buckets, seconds, and how many samples are below each. */
type Delays = ReadonlyMap<number, number>;

async function readDelays(url: string): Promise<Delays> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.matchAll(/^millrace_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  const delays = new Map(
    [...lines].map(([, edge, count]) => [
      edge === '+Inf' ? Number.POSITIVE_INFINITY : Number(edge),
      Number(count),
    ]),
  );
  if (delays.size === 0) throw new Error('/metrics says nothing of the event loop');
  return delays;
}

function percentile99(before: Delays, after: Delays): number {
  const samples = [...after].map(([edge, count]) => ({ edge, count: count - (before.get(edge) ?? 0) }));
  const all = Math.max(...samples.map(({ count }) => count));
  return (
    samples.toSorted((a, b) => a.edge - b.edge).find(({ count }) => count >= all * 0.99)?.edge ?? Number.NaN
  );
}

/** All its threads come before other programs of a machine that is shared. Needs root. */
export function goFirst({ pid }: { readonly pid: number }): void {
  // Those that begin later inherit it.
  const threads = readdirSync(`/proc/${pid}/task`);
  execFileSync('renice', ['-n', '-20', '-p', ...threads], { stdio: 'ignore' });
}
