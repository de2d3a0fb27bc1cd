import { expect, it } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import { Trouble } from '../../../runtime/drivers/bus/kafka/trouble.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

it('is worth a warning when it lasts, and then one in ten seconds', async () => {
  const clock = virtualClock({ start: 0, idle: () => Promise.resolve() });
  const lines: Record<string, unknown>[] = [];
  const log = jsonLog({ level: 'warn', now: clock.now, write: (line) => lines.push(JSON.parse(line)) });
  const trouble = new Trouble({ log, clock, ms: 1000 });
  const last = async (ms: number) => {
    for (const end = clock.now() + ms; clock.now() < end; await clock.advance(25))
      trouble.warn('no connection', { error: 'refused' });
  };
  await last(900);
  trouble.isOver();
  await last(900);
  expect(lines).toEqual([]);
  await last(11_000);
  expect(lines).toMatchObject([{ message: 'no connection', error: 'refused' }, { message: 'no connection' }]);
});
