import type {
  EventLog,
  LoggedEvent,
  Order,
  Store,
  StoredActor,
  StoredTimer,
} from '../../../../core/ports/store.ts';
import { compareBytes } from './rows.ts';
import type { StoreParts } from './scripts.ts';

/** Entries that Redis reads in one go, so that others have their turn in between. */
export const stretch = 256;
/** The same of events that may be large. */
const smallStretch = 32;
/** Events of one read. */
const maxEvents = 1000;

/** Actors, and what their owners read when they take a partition over. */
export function actorReads({
  link,
  key,
}: StoreParts): Pick<Store, 'load' | 'loadAll' | 'isConsumed' | 'timers' | 'orders' | 'acknowledge'> {
  /** A whole hash, in stretches. */
  const readAll = async (name: string): Promise<[string, string][]> => {
    const fields = new Map<string, string>();
    let cursor = '0';
    do {
      const asked = ['HSCAN', key(name), cursor, 'COUNT', String(stretch)];
      const [next, values] = (await link.read(asked)) as [string, string[]];
      for (let at = 0; at < values.length; at += 2) fields.set(values[at] ?? '', values[at + 1] ?? '');
      cursor = next;
    } while (cursor !== '0');
    return [...fields];
  };
  const partitions = async () => Number((await link.read(['HGET', key('facts'), 'partitions'])) ?? 0);
  const scores = async (name: string, members: readonly string[]) =>
    members.length === 0 ? [] : ((await link.read(['ZMSCORE', key(name), ...members])) as (string | null)[]);

  return {
    async load(actor) {
      const stored = await link.read(['HGET', key('actors'), actor]);
      return stored === null ? undefined : actorOf(stored as string);
    },

    async loadAll(actors, causes) {
      const [stored, ended, consumed] = await Promise.all([
        actors.length === 0
          ? []
          : (link.read(['HMGET', key('actors'), ...actors]) as Promise<(string | null)[]>),
        scores('ended', actors),
        scores('causes', causes),
      ]);
      return {
        actors: new Map(
          actors.flatMap((actor, index): [string, StoredActor | null][] => {
            const text = stored[index];
            if (text) return [[actor, actorOf(text)]];
            return ended[index] == null ? [] : [[actor, null]];
          }),
        ),
        consumed: new Set(causes.filter((_, index) => consumed[index] != null)),
      };
    },

    async isConsumed(cause) {
      return (await link.read(['ZSCORE', key('causes'), cause])) !== null;
    },

    async timers(some) {
      const wanted = some ?? Array.from({ length: await partitions() }, (_, partition) => partition);
      const stored = await Promise.all(wanted.map((partition) => readAll(`timers\0${partition}`)));
      const timers = stored
        .flat()
        .flatMap(([actor, text]) =>
          Object.entries(JSON.parse(text) as Record<string, string>).map(
            ([name, due]): StoredTimer => ({ actor, name, due: Number(due) }),
          ),
        );
      return timers.sort(
        (one, other) =>
          one.due - other.due || compareBytes(one.actor, other.actor) || compareBytes(one.name, other.name),
      );
    },

    async orders(some) {
      const stored = (await readAll('orders')).map(([id, text]) => orderOf(id, text));
      return stored
        .filter(({ partition }) => some?.includes(partition) ?? true)
        .sort((one, other) => one.number - other.number)
        .map(({ order }) => order);
    },

    async acknowledge(orderIds) {
      if (orderIds.length > 0) await link.write(['HDEL', key('orders'), ...orderIds]);
    },
  };
}

/** One stream for all events, see `lua/events.lua`. */
export function eventReads({ link, scripts, key, onEvents }: StoreParts): EventLog {
  const stretchAfter = async (position: number, { account, limit }: { account?: string; limit: number }) => {
    const answer =
      account === undefined
        ? link.read(['XRANGE', key('events'), `${position + 1}-0`, '+', 'COUNT', String(limit)])
        : scripts.run('after', [account, String(position), String(limit)], { isRead: true });
    return ((await answer) as [string, string[]][]).map(eventOf);
  };

  const stretchBefore = async (position: number, { account, limit }: { account?: string; limit: number }) => {
    const answer =
      account === undefined
        ? link.read(['XREVRANGE', key('events'), `${position - 1}-0`, '-', 'COUNT', String(limit)])
        : scripts.run('before', [account, String(position), String(limit)], { isRead: true });
    return ((await answer) as [string, string[]][]).map(eventOf);
  };

  return {
    async before(position, { account, limit, characters }) {
      checkLimit(limit, maxEvents);
      const events: LoggedEvent[] = [];
      let left = characters ?? Number.POSITIVE_INFINITY;
      for (let from = position; events.length < limit && from > 0 && left >= 0; ) {
        const asked = Math.min(characters === undefined ? stretch : smallStretch, limit - events.length);
        const next = await stretchBefore(from, { account, limit: asked });
        events.push(...next);
        left -= charactersOf(next);
        if (next.length < asked) break;
        from = events.at(-1)?.position ?? from;
      }
      return events;
    },
    async after(position, { account, limit, characters }) {
      checkLimit(limit, maxEvents);
      const events: LoggedEvent[] = [];
      let left = characters ?? Number.POSITIVE_INFINITY;
      for (let from = Math.max(position, 0); events.length < limit && left >= 0; ) {
        const asked = Math.min(characters === undefined ? stretch : smallStretch, limit - events.length);
        const next = await stretchAfter(from, { account, limit: asked });
        events.push(...next);
        left -= charactersOf(next);
        if (next.length < asked) break;
        from = events.at(-1)?.position ?? from;
      }
      onEvents(events.at(-1)?.position ?? 0);
      return events;
    },
    async position(id) {
      const position = await link.read(['HGET', key('event-ids'), id]);
      return position === null ? undefined : Number(position);
    },
    async last() {
      const last = Number((await link.read(['HGET', key('heads'), 'last'])) ?? 0);
      onEvents(last);
      return last;
    },
    cursor: async (consumer) => Number((await link.read(['HGET', key('cursors'), consumer])) ?? 0),
    async advance(consumer, position) {
      await link.write(['HSET', key('cursors'), consumer, String(position)]);
    },
  };
}

function charactersOf(events: readonly LoggedEvent[]): number {
  return events.reduce((sum, { body }) => sum + body.length, 0);
}

/** Bounds what one read can cost everybody. */
export function checkLimit(limit: number, most: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new RangeError(`limit ${limit} is outside 1..${most}`);
  }
}

/** Reads `<sequence> <version> <state>`. */
function actorOf(stored: string): StoredActor {
  const first = stored.indexOf(' ');
  const second = stored.indexOf(' ', first + 1);
  return {
    state: stored.slice(second + 1),
    version: Number(stored.slice(first + 1, second)),
    sequence: Number(stored.slice(0, first)),
  };
}

/** Reads `<partition> <number>\n<type>\n<body>`. */
function orderOf(id: string, text: string): { partition: number; number: number; order: Order } {
  const first = text.indexOf('\n');
  const second = text.indexOf('\n', first + 1);
  const [partition = 0, number = 0] = text.slice(0, first).split(' ').map(Number);
  return {
    partition,
    number,
    order: { id, type: text.slice(first + 1, second), body: text.slice(second + 1) },
  };
}

function eventOf([place, values]: [string, string[]]): LoggedEvent {
  const fields: Record<string, string> = {};
  for (let at = 0; at < values.length; at += 2) fields[values[at] ?? ''] = values[at + 1] ?? '';
  const { i = '', t = '', a = '', s = '', b = '', at = '0', e = '' } = fields;
  const position = Number.parseInt(place, 10);
  const event = { position, id: i, type: t, account: a, stream: s, body: b, at: Number(at) };
  return e === '' ? event : { ...event, epoch: Number(e) };
}
