import type { Bus, PartitionOwner } from '../../../core/ports/bus.ts';
import { busChecks } from './suite.ts';

export interface Mutant {
  /** The check that is about its fault. */
  readonly breaks: string;
  readonly mutate: (bus: Bus) => Bus;
}

const owning = (bus: Bus, change: (owner: PartitionOwner) => PartitionOwner): Bus => ({
  ...bus,
  own: (owner) => bus.own(change(owner)),
});

/** Drivers with one fault each: the suite is worth something only if the check that is about it fails. */
export const mutants: Readonly<Record<string, Mutant>> = {
  'begins at the oldest record, wherever the owner wants to begin': {
    breaks: 'delivery begins where the owner says, also at the end of the log',
    mutate: (bus) =>
      owning(bus, (owner) => ({
        ...owner,
        async assigned(partition, range) {
          await owner.assigned(partition, range);
          return range.first;
        },
      })),
  },
  'does not wait until records are handled': {
    breaks: 'the next records come when those before are handled; a slow partition holds no other',
    mutate: (bus) =>
      owning(bus, (owner) => ({
        ...owner,
        async records(partition, records) {
          owner.records(partition, records).catch(() => {});
        },
      })),
  },
  'handles partitions one after the other': {
    breaks: 'the next records come when those before are handled; a slow partition holds no other',
    mutate(bus) {
      let last: Promise<unknown> = Promise.resolve();
      return owning(bus, (owner) => ({
        ...owner,
        records(partition, records) {
          const turn = last.then(() => owner.records(partition, records));
          last = turn.catch(() => {});
          return turn;
        },
      }));
    },
  },
  'goes on behind records that were not handled': {
    breaks: 'records that throw begin the partition anew, and it alone',
    mutate: (bus) =>
      owning(bus, (owner) => ({
        ...owner,
        records: (partition, records) => owner.records(partition, records).catch(() => {}),
      })),
  },
  'never restarts': {
    breaks: 'restart() asks anew for the place, and begins there: behind, and ahead',
    mutate: (bus) => ({ ...bus, restart: () => {} }),
  },
  'keeps a partition that its owner could not take': {
    breaks: 'a partition that its owner cannot take is offered again, while others go on',
    mutate: (bus) =>
      owning(bus, (owner) => ({
        ...owner,
        assigned: (partition, range) => owner.assigned(partition, range).catch(() => range.next),
      })),
  },
  'does not say that a partition is gone': {
    breaks: 'when a node leaves, others begin where their owner says, not where the last one was',
    mutate: (bus) => owning(bus, (owner) => ({ ...owner, revoked: () => {} })),
  },
  'sends two at a time, the later one first': {
    breaks: 'what is sent one after the other, and at once, is delivered in its order and once',
    mutate(bus) {
      const held = new Map<number, () => Promise<void>>();
      return {
        ...bus,
        async send(command) {
          const { partition } = command;
          const first = held.get(partition);
          if (first) {
            held.delete(partition);
            await bus.send(command);
            return first();
          }
          return new Promise<void>((resolve, reject) => {
            const go = () => bus.send(command).then(resolve, reject);
            held.set(partition, go);
            // Alone it is not held for long.
            setImmediate(() => {
              if (held.get(partition) === go && held.delete(partition)) void go();
            });
          });
        },
      };
    },
  },
  'answers for an engine that it has not asked': {
    breaks: 'a node knows whether the engine answers, also one that owns nothing; a closed bus does not',
    mutate: (bus) => ({ ...bus, ping: async () => {} }),
  },
  'acknowledges what it has not written': {
    breaks: 'what was acknowledged before anybody owned it is delivered',
    mutate(bus) {
      let count = 0;
      return { ...bus, send: async (command) => (++count % 100 === 0 ? undefined : bus.send(command)) };
    },
  },
  'repeats words to a listener in another order': {
    breaks:
      'a node hears what it is told from the moment it listens, in order for each teller, and nothing else',
    mutate(bus) {
      let held: string | undefined;
      return {
        ...bus,
        listen: (hear) =>
          bus.listen((message) => {
            if (held === undefined) {
              held = message;
              return;
            }
            hear(message);
            hear(held);
            held = undefined;
          }),
      };
    },
  },
  'sends whatever it is given': {
    breaks: 'what is too large or of no partition is refused by name, and nothing is sent',
    mutate: (bus) => ({ ...bus, send: (command) => bus.send(command).catch(() => {}) }),
  },
};

/** The check that a mutant must fail. */
export function checkOf({ breaks }: Mutant): (typeof busChecks)[number] {
  const found = busChecks.find(({ name }) => name === breaks);
  if (!found) throw new Error(`there is no check "${breaks}"`);
  return found;
}
