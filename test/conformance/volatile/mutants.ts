import type { Json, Volatile } from '../../../core/ports/volatile.ts';

export interface Mutant {
  /** The check that is about its fault. */
  readonly breaks: string;
  readonly mutate: (volatile: Volatile) => Volatile;
  /** Its nodes know nothing of each other. */
  readonly isApart?: boolean;
}

/** Drivers with one fault each: the suite is worth something only if the check that is about it fails. */
export const mutants: Readonly<Record<string, Mutant>> = {
  'never forgets': {
    breaks: 'a value is gone when its time is over, and not before',
    mutate: (volatile) => ({ ...volatile, set: (entries) => volatile.set(entries, { lasts: 3_600_000 }) }),
  },
  'forgets too soon': {
    breaks: 'a value is gone when its time is over, and not before',
    mutate: (volatile) => ({
      ...volatile,
      set: (entries, { lasts }) => volatile.set(entries, { lasts: Math.max(1, lasts / 10) }),
    }),
  },
  'keeps the first value': {
    breaks: 'setting again replaces value and time',
    mutate: (volatile) => ({
      ...volatile,
      async set(entries, options) {
        const there = await volatile.get(entries.map(({ key }) => key));
        await volatile.set(
          entries.filter((_, index) => there[index] === undefined),
          options,
        );
      },
    }),
  },
  'leaves out what is not there': {
    breaks: 'get answers in the order of the keys, undefined for what is not there',
    mutate: (volatile) => ({
      ...volatile,
      get: async (keys) => (await volatile.get(keys)).filter((value) => value !== undefined),
    }),
  },
  'hands out what it keeps': {
    breaks: 'what is kept is a copy',
    mutate(volatile) {
      const kept = new Map<string, Json>();
      return {
        ...volatile,
        async set(entries) {
          for (const { key, value } of entries) kept.set(key, value);
        },
        get: async (keys) => keys.map((key) => kept.get(key)),
      };
    },
  },
  'writes numbers as text': {
    breaks: 'what was set is read, whatever JSON it is',
    mutate: (volatile) => ({
      ...volatile,
      set: (entries, options) =>
        volatile.set(
          entries.map(({ key, value }) => ({ key, value: typeof value === 'number' ? `${value}` : value })),
          options,
        ),
    }),
  },
  'keeps to itself what it is given': {
    breaks: 'what one node sets, every node reads',
    mutate: (volatile) => volatile,
    isApart: true,
  },
  'tells only who listened first': {
    breaks: 'an announcement is heard by all who listen to its topic, on all nodes, in order',
    mutate(volatile) {
      const heard = new Set<string>();
      return {
        ...volatile,
        listen(topic, hear) {
          if (heard.has(topic)) return () => {};
          heard.add(topic);
          return volatile.listen(topic, hear);
        },
      };
    },
  },
  'hands one object to all who listen': {
    breaks: 'what is heard is a copy for each who listens',
    mutate(volatile) {
      const said = new Map<string, Json>();
      return {
        ...volatile,
        announce(topic, message) {
          said.set(topic, message);
          return volatile.announce(topic, message);
        },
        listen: (topic, hear) => volatile.listen(topic, () => hear(said.get(topic) as Json)),
      };
    },
  },
  'tells who listens to the beginning of a topic': {
    breaks: 'topics are apart',
    mutate: (volatile) => ({
      ...volatile,
      async announce(topic, message) {
        await volatile.announce(topic, message);
        const parent = topic.slice(0, topic.lastIndexOf('/'));
        if (parent.includes('/')) await volatile.announce(parent, message);
      },
    }),
  },
  'goes on telling whoever has ended their listening': {
    breaks: 'whose listening has ended hears nothing more, others do, and may begin again',
    mutate: (volatile) => ({
      ...volatile,
      listen(topic, hear) {
        volatile.listen(topic, hear);
        return () => {};
      },
    }),
  },
  'cannot be closed': {
    breaks: 'a node that is closed hears nothing more',
    mutate: (volatile) => ({ ...volatile, close: async () => {} }),
  },
};
