import { expect, it } from 'vitest';
import { Metrics } from '../../core/base/metrics.ts';
import { decisionsOf } from '../../runtime/boot/decisions.ts';
import { silentLog } from '../kit/silent-log.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

it('a kind that nobody decides cannot be asked: not even its question is made', () => {
  const { decide } = decisionsOf([], {
    ...{ settings: undefined, clock: virtualClock({ start: 0 }), log: silentLog, metrics: new Metrics() },
    ...{ kits: undefined as never, failed: undefined as never },
  });
  const question = (): never => expect.unreachable('the question was made');
  expect(decide.delivery?.(question())).toBeUndefined();
  expect(decide).toEqual({});
});
