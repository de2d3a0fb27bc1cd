import { safeCalls } from '../../core/plugin/safe-calls.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveReading } from '../../core/ports/media.ts';
import type { Json } from '../../core/ports/volatile.ts';
import type { StreamsKit } from './config.ts';
import type { LiveObserver } from './contract.ts';
import { type LiveFigures, liveKey } from './live-figures.ts';

/** Between two readings of the media, ms. */
const interval = 1000;
/** How long other nodes believe live figures, ms: longer than a process may be busy with something else. */
const figuresLast = 5000;
/** How long after the last admitted publish the media is still read, ms. */
const attachTime = 15_000;
/** Broadcasts read in one turn of the event loop, some 10 µs each: media must not wait for it. */
const turnLength = 50;
/** Issues of one broadcast in its live figures, and as many remarks. */
const maxIssues = 20;

/**
 * Reads the media once a second while something is on the air on this node, lets observers judge, and publishes the
 * figures to all nodes.
 */
export function livePublisher(kit: StreamsKit) {
  const { clock, log } = kit;
  const media = kit.use(services.media);
  const volatile = kit.use(services.volatile);
  const observers = new Set<LiveObserver>();
  const safely = safeCalls(kit);
  let cancel: (() => void) | undefined;
  let isStopped = false;
  let wokenAt = 0;
  let hasFailed = false;

  const figuresOf = (reading: LiveReading, now: number): LiveFigures => {
    const { grant, figures, viewers, memory = 0 } = reading;
    const { bytes, segments, duration, ingestRate, lastMediaAt, targetDuration } = figures;
    const issues = [...figures.issues];
    const remarks: string[] = [];
    for (const observer of observers) {
      issues.push(...safely('look', { call: () => observer.look(reading, now), otherwise: [] }));
      if (!observer.remark) continue;
      remarks.push(...safely('remark', { call: () => observer.remark?.(reading, now) ?? [], otherwise: [] }));
    }
    return {
      ...{ token: grant.token, bytes, segments, duration, ingestRate, lastMediaAt, targetDuration },
      ...{ viewers, memory },
      issues: issues.slice(0, maxIssues),
      ...(remarks.length > 0 && { remarks: remarks.slice(0, maxIssues) }),
    };
  };
  const publish = (readings: readonly LiveReading[]) => {
    const now = clock.now();
    const entries = readings.map((reading) => ({
      key: liveKey(reading.grant.streamId),
      value: figuresOf(reading, now) as unknown as Json,
    }));
    volatile.set(entries, { lasts: figuresLast }).then(
      () => {
        hasFailed = false;
      },
      (error: unknown) => {
        // Once for each outage, not once a second.
        if (!hasFailed) log.warn('live figures could not be published', { error });
        hasFailed = true;
      },
    );
  };
  const round = (readings: readonly LiveReading[], { from, next }: { from: number; next: number }) => {
    const to = from + turnLength;
    const isLast = to >= readings.length;
    const isIdle = readings.length === 0 && clock.now() - wokenAt > attachTime;
    if (!isLast) cancel = clock.at(clock.now(), () => round(readings, { from: to, next }));
    else cancel = isIdle ? undefined : clock.at(next, tick);
    if (from < readings.length) publish(readings.slice(from, to));
    if (!isLast) return;
    const sessions = new Set(readings.map(({ grant }) => grant.sessionId));
    for (const observer of observers)
      safely('seen', { call: () => observer.seen(sessions), otherwise: undefined });
  };
  const tick = () => round(media.readings(), { from: 0, next: clock.now() + interval });

  return {
    /** A publish was admitted: there will be something to read. */
    wake(): void {
      wokenAt = clock.now();
      if (!isStopped) cancel ??= clock.at(wokenAt + interval, tick);
    },
    observe(observer: LiveObserver): () => void {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    stop(): void {
      isStopped = true;
      cancel?.();
    },
  };
}
