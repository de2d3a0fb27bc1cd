import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { Link } from './link.ts';
import { reader } from './reader.ts';

/**
 * Hears what is written to a topic of one partition from now on, in order. Without a group: the place is remembered here,
 * so what is written while a broker is away is heard when it is back. Returns its end.
 */
export async function listening(options: {
  link: Link;
  topic: string;
  hear: (message: string) => void;
  clock: Clock;
  log: Log;
}): Promise<() => void> {
  const { link, topic, hear, clock, log } = options;
  let { next } = await link.range(topic, 0);
  let isOpen = true;
  let isLost = false;

  /** What was there is gone: its retention has passed, or the topic was made anew. From the oldest on that there is. */
  const find = async (): Promise<void> => {
    try {
      next = (await link.range(topic, 0)).first;
    } catch (error) {
      log.warn('what this node is told cannot be read', { error: String(error) });
    } finally {
      isLost = false;
      reading.wake();
    }
  };

  const reading = reader({
    link,
    topic,
    clock,
    log,
    wanted: () => (isLost ? new Map() : new Map([[0, next]])),
    got({ from, records }) {
      if (from !== next || isLost) return;
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
    // Its own topic: only an operator removes it, and until it is there again there is nothing to hear.
    missing: () => {},
    outOfRange() {
      if (isLost) return;
      isLost = true;
      log.warn('some of what this node was told is gone', { next });
      void find();
    },
  });
  return () => {
    isOpen = false;
    reading.close();
  };
}
