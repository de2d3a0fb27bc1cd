/** A node of its own process that consumes, for a test that kills it. Prints a line for each partition it gets and each delivery. */
import { jsonLog } from '../../../core/base/log.ts';
import { kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';

const clock = systemClock();
const options = JSON.parse(process.env.BUS_OPTIONS as string);
const bus = kafkaBus({
  ...options,
  node: 'child',
  clock,
  log: jsonLog({ level: 'error', now: clock.now, write: (line) => console.error(line) }),
});
await bus.open();
await bus.own({
  async assigned(partition, { next }) {
    console.log(`assigned ${partition}`);
    return next;
  },
  revoked: () => {},
  async records(partition, records) {
    console.log(`records ${partition} ${records.length}`);
  },
});
