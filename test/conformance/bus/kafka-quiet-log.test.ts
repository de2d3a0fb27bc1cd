import { expect, it } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import { quietLog } from '../../../runtime/drivers/bus/kafka/quiet-log.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

it('a warning is told once in a while, whoever repeats it, with the count of what was left out', async () => {
  const clock = virtualClock({ start: 0, idle: () => Promise.resolve() });
  const lines: Record<string, unknown>[] = [];
  const plain = jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(JSON.parse(line)) });
  const log = quietLog(plain, { clock });
  for (let n = 0; n < 500; n += 1) {
    log.warn('no connection', { error: 'refused' });
    log.with({ topic: 'a' }).warn('no connection', { error: 'refused' });
    await clock.advance(25);
  }
  expect(lines).toMatchObject([
    { message: 'no connection', error: 'refused' },
    { topic: 'a' },
    { left: 399 },
    { topic: 'a', left: 399 },
  ]);
  log.warn('no connection', { error: 'reset' });
  log.error('no connection', { error: 'refused' });
  log.error('no connection', { error: 'refused' });
  expect(lines.slice(4)).toMatchObject([{ error: 'reset' }, { level: 'error' }, { level: 'error' }]);
});
