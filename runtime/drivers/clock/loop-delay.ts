import type { Log } from '../../../core/base/log.ts';
import type { Metrics } from '../../../core/base/metrics.ts';
import type { Stop } from '../../../core/plugin/plugin.ts';

/** ms. Rare enough to cost nothing, often enough that a second of trouble shows. */
const interval = 500;
/** A delay that the log tells of, ms: something computes on the main thread, and everything waits for it. */
const toldFrom = 5000;

/** Samples how late timers of this process fire: everything else waited at least as long. It is real time, whatever clock the program has. */
export function sampleLoopDelay(metrics: Metrics, { log }: { log: Log }): Stop {
  const delays = metrics
    .histogram('millrace_event_loop_delay_seconds', {
      help: `How late a timer fired, sampled every ${interval} ms, in whole milliseconds.`,
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    })
    .with({});
  let due = performance.now() + interval;
  let timer: ReturnType<typeof setTimeout>;
  const sample = () => {
    const now = performance.now();
    const late = Math.max(0, Math.floor(now - due));
    delays.observe(late / 1000);
    if (late >= toldFrom)
      log.error('something held up the main thread, and everything with it', { ms: late });
    due = now + interval;
    timer = setTimeout(sample, interval);
  };
  timer = setTimeout(sample, interval);
  return () => clearTimeout(timer);
}
