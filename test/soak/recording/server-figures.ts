import { memoryOf, percentOf, usageOf } from '../../../bench/harness/process-figures.ts';

export interface ServerFigures {
  /** Bytes of resident memory: at the beginning, at most, and now. */
  readonly memory: { readonly before: number; readonly most: number; readonly after: number };
  /** Below which 99 of 100 samples of the delay of its event loop are, ms; of the worst bucket +Inf. */
  readonly loopDelay: number;
  /** Percent of a core. */
  readonly cpu: number;
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
  let most = before;
  const look = () => {
    most = Math.max(most, memoryOf(pid).rss);
  };
  const timer = setInterval(look, 100);
  return {
    async figures() {
      clearInterval(timer);
      look();
      const cpu = percentOf(usage, usageOf(pid), (performance.now() - began) / 1000);
      const loopDelay = percentile99(delays, await readDelays(server.url)) * 1000;
      return { memory: { before, most, after: memoryOf(pid).rss }, loopDelay, cpu };
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
