import type { Log, LogFields } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { group } from './limits.ts';

/**
 * A log whose warnings do not repeat themselves: in an outage kafkajs and we say the same dozens of times a second, each new
 * connection anew. One with the same text, error and fields of its log comes once in `logInterval`, with the count of
 * those that were `left` out since.
 */
export function quietLog(log: Log, { clock }: { clock: Clock }): Log {
  const said = new Map<string, { at: number; left: number }>();
  const quiet = (own: Log, place: string): Log => ({
    debug: (...line) => own.debug(...line),
    info: (...line) => own.info(...line),
    error: (...line) => own.error(...line),
    with: (fields) => quiet(own.with(fields), place + JSON.stringify(fields)),
    warn(message, fields?: LogFields) {
      const text = `${place} ${message} ${String(fields?.error ?? '')}`;
      const last = said.get(text);
      const now = clock.now();
      if (last && now - last.at < group.logInterval) {
        last.left += 1;
        return;
      }
      said.delete(text);
      said.set(text, { at: now, left: 0 });
      const [oldest] = said.keys();
      if (said.size > group.logTexts && oldest !== undefined) said.delete(oldest);
      own.warn(message, last?.left ? { ...fields, left: last.left } : fields);
    },
  });
  return quiet(log, '');
}

/** Trouble that passes within `ms` is not worth a warning: brokers that start, and leaders that change, make some. */
export function lasting(
  log: Log,
  { clock, ms }: { clock: Clock; ms: number },
): { warn(message: string, fields: LogFields): void; isOver(): void } {
  let since: number | undefined;
  return {
    warn(message, fields) {
      since ??= clock.now();
      if (clock.now() - since >= ms) log.warn(message, fields);
      else log.info(message, fields);
    },
    isOver() {
      since = undefined;
    },
  };
}
