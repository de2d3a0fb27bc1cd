import { valuesOf } from '../../core/base/limit-table.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveReading } from '../../core/ports/media.ts';
import type { Json } from '../../core/ports/volatile.ts';
import type { LiveObserver } from './contract.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';
import { liveFiguresOf, liveKey } from './live-figures.ts';

const { attachTime, figuresLast, mostIssues, publishInterval, turnLength } = valuesOf(streamLimits);

/**
 * Reads the media once a second while something is on the air on this node, lets observers judge, and publishes
 * the figures to where every node can read them. While nothing is on the air it does nothing at all.
 */
export function livePublisher(kit: StreamsKit): LivePublisher {
  const { clock, log } = kit;
  const media = kit.use(services.media);
  const volatile = kit.use(services.volatile);
  const observers = new Set<LiveObserver>();
  let cancel: (() => void) | undefined;
  let isStopped = false;
  let wokenAt = 0;
  let isTold = true;

  const judged = (reading: LiveReading, now: number) => {
    const issues = [...reading.figures.issues];
    const remarks: string[] = [];
    for (const observer of observers) {
      issues.push(...observer.look(reading, now));
      if (observer.remark) remarks.push(...observer.remark(reading, now));
    }
    return { issues: issues.slice(0, mostIssues), remarks: remarks.slice(0, mostIssues) };
  };
  const publish = (readings: readonly LiveReading[]) => {
    const now = clock.now();
    const entries = readings.map((reading) => ({
      key: liveKey(reading.grant.streamId),
      value: liveFiguresOf(reading, judged(reading, now)) as unknown as Json,
    }));
    volatile.set(entries, { lasts: figuresLast }).then(
      () => {
        isTold = true;
      },
      (error: unknown) => {
        // Once for each outage, not once a second.
        if (isTold) log.warn('live figures could not be published', { error });
        isTold = false;
      },
    );
  };
  /** Some at a time, so that media waits for none of it; all of them, however long that takes, before the next. */
  const round = (readings: readonly LiveReading[], { from, next }: { from: number; next: number }) => {
    const to = from + turnLength;
    const isLast = to >= readings.length;
    const isOver = readings.length === 0 && clock.now() - wokenAt > attachTime;
    if (!isLast) cancel = clock.at(clock.now(), () => round(readings, { from: to, next }));
    else cancel = isOver ? undefined : clock.at(next, tick);
    if (from < readings.length) publish(readings.slice(from, to));
    if (!isLast) return;
    const sessions = new Set(readings.map(({ grant }) => grant.sessionId));
    for (const observer of observers) observer.seen(sessions);
  };
  const tick = () => round(media.readings(), { from: 0, next: clock.now() + publishInterval });

  return {
    wake() {
      wokenAt = clock.now();
      if (!isStopped) cancel ??= clock.at(wokenAt + publishInterval, tick);
    },
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    stop() {
      isStopped = true;
      cancel?.();
    },
  };
}

interface LivePublisher {
  /** A publish was let in: there will be something to read. */
  wake(): void;
  observe(observer: LiveObserver): () => void;
  stop(): void;
}
