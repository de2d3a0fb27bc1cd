import type { Log } from '../../../../core/base/log.ts';
import type { KafkaAdmin } from './admin.ts';
import type { KafkaConnection } from './client.ts';
import { type GroupOptions, groupConsumer } from './consumer.ts';

/**
 * Hears what is written to a topic of one partition from now on, in order. Its group is its own and ends with it: the place is
 * remembered here, so what is written while a broker is away is heard when it is back. Where what comes next is gone, kafkajs
 * goes on with the oldest that there is. Returns its end.
 */
export async function listening(
  connection: KafkaConnection,
  options: Pick<GroupOptions, 'groupId' | 'topic' | 'sessionTimeout' | 'clock' | 'answersSince'> & {
    readonly admin: KafkaAdmin;
    readonly hear: (message: string) => void;
    readonly log: Log;
  },
): Promise<() => Promise<void>> {
  const { admin, topic, hear, log } = options;
  let next = (await admin.ranges(topic)).get(0)?.next ?? 0;
  let isOpen = true;
  const consumer = groupConsumer(connection, {
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
