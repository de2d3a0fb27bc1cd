import type { KafkaAdmin } from './admin.ts';
import type { KafkaConnection } from './client.ts';
import { GroupConsumer, type GroupOptions } from './consumer.ts';

/**
 * Hears what is written to a topic of one partition from now on, in order. Its group is its own and ends with it: the place is
 * remembered here, so what is written while a broker is away is heard when it is back. Where what comes next is gone, kafkajs
 * goes on with the oldest that there is. Returns its end.
 */
export async function listening(
  connection: KafkaConnection,
  options: Omit<GroupOptions, 'given' | 'taken' | 'got'> & { admin: KafkaAdmin; hear(message: string): void },
): Promise<() => Promise<void>> {
  const { admin, topic, hear, log } = options;
  let next = (await admin.ranges(topic)).get(0)?.next ?? 0;
  let isOpen = true;
  const consumer = new GroupConsumer(connection, {
    ...options,
    given: () => consumer.read(0, next),
    taken: () => {},
    got(_, { records }) {
      for (const { offset, value } of records) {
        if (!isOpen) return;
        next = offset + 1;
        try {
          hear(value);
        } catch (error) {
          log.error('what this node was told was not handled', { error });
        }
      }
    },
  });
  return () => {
    isOpen = false;
    return consumer.leave();
  };
}
