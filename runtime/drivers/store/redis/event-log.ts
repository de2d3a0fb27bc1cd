import type { EventLog, LoggedEvent } from '../../../../core/ports/store.ts';
import { checkLimit } from './check-limit.ts';
import type { Engine } from './engine.ts';
import type { Keys } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Link } from './link.ts';

const stretch = redisLimits.stretch;

/** The highest position that this process has heard of. */
export interface Newest {
  position: number;
}

/** One stream for all events; `lua/append.lua` adds to it, its entries' ids are `<position>-0`. */
export function eventLog(options: { link: Link; engine: Engine; keys: Keys; newest: Newest }): EventLog {
  const { link, engine, keys, newest } = options;
  const head = keys.log('head');

  const stretchAfter = async (position: number, { account, limit }: { account?: string; limit: number }) => {
    const answer =
      account === undefined
        ? link.read([
            ...['XRANGE', keys.log('events'), `${position + 1}-0`, '+'],
            ...['COUNT', String(limit)],
          ])
        : engine.look('after', head, [account, String(position), String(limit)]);
    return ((await answer) as [string, string[]][]).map(eventOf);
  };

  return {
    async after(position, { account, limit }) {
      checkLimit(limit, redisLimits.readEvents);
      const events: LoggedEvent[] = [];
      for (let from = Math.max(position, 0); events.length < limit; ) {
        const asked = Math.min(stretch, limit - events.length);
        const next = await stretchAfter(from, { account, limit: asked });
        events.push(...next);
        if (next.length < asked) break;
        from = events.at(-1)?.position ?? from;
      }
      newest.position = Math.max(newest.position, events.at(-1)?.position ?? 0);
      return events;
    },
    async position(id) {
      const position = await link.read(['HGET', keys.log('ids'), id]);
      return position === null ? undefined : Number(position);
    },
    async last() {
      const last = Number((await link.read(['HGET', head, 'last'])) ?? 0);
      newest.position = Math.max(newest.position, last);
      return last;
    },
    cursor: async (consumer) => Number((await link.read(['HGET', keys.log('cursors'), consumer])) ?? 0),
    async advance(consumer, position) {
      await link.write(['HSET', keys.log('cursors'), consumer, String(position)]);
    },
  };
}

function eventOf([place, values]: [string, string[]]): LoggedEvent {
  const fields: Record<string, string> = {};
  for (let at = 0; at < values.length; at += 2) fields[values[at] ?? ''] = values[at + 1] ?? '';
  const { i = '', t = '', a = '', s = '', b = '', at = '0' } = fields;
  const position = Number.parseInt(place, 10);
  return { position, id: i, type: t, account: a, stream: s, body: b, at: Number(at) };
}
