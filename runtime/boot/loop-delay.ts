import type { Metrics } from '../../core/base/metrics.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { processLimits } from './limits.ts';

const interval = processLimits.loopSample.value;

/** Samples how late timers fire: that long, at least, everything else waited too. */
export function sampleLoopDelay(metrics: Metrics, options: { clock: Clock }): Stop {
  const { clock } = options;
  const delays = metrics
    .histogram('millrace_event_loop_delay_seconds', {
      help: `How late a timer fired, sampled every ${interval} ms, in whole milliseconds.`,
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    })
    .with({});
  let cancel: Stop = () => {};
  const schedule = () => {
    const due = clock.now() + interval;
    cancel = clock.at(due, () => {
      delays.observe((clock.now() - due) / 1000);
      schedule();
    });
  };
  schedule();
  return () => cancel();
}
