import type { Order, StoredActor, StoredTimer } from '../../../../core/ports/store.ts';
import { compareBytes } from './rows.ts';

/** Reads `<sequence> <version> <state>`. */
export function actorOf(stored: string): StoredActor {
  const first = stored.indexOf(' ');
  const second = stored.indexOf(' ', first + 1);
  return {
    state: stored.slice(second + 1),
    version: Number(stored.slice(first + 1, second)),
    sequence: Number(stored.slice(0, first)),
  };
}

/** Those of actors with their timers as JSON, earliest first. */
export function timersOf(stored: ReadonlyMap<string, string>): StoredTimer[] {
  const timers = [...stored].flatMap(([actor, text]) =>
    Object.entries(JSON.parse(text) as Record<string, string>).map(([name, due]) => ({
      ...{ actor, name, due: Number(due) },
    })),
  );
  return timers.sort(
    (one, other) =>
      one.due - other.due || compareBytes(one.actor, other.actor) || compareBytes(one.name, other.name),
  );
}

/** Those of one partition, `<number>\n<type>\n<body>` by id, oldest first. */
export function ordersOf(stored: ReadonlyMap<string, string>): Order[] {
  return [...stored]
    .map(([id, text]) => {
      const first = text.indexOf('\n');
      const second = text.indexOf('\n', first + 1);
      const order = { id, type: text.slice(first + 1, second), body: text.slice(second + 1) };
      return { number: Number(text.slice(0, first)), order };
    })
    .sort((one, other) => one.number - other.number)
    .map(({ order }) => order);
}
