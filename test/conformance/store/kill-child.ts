import { writeSync } from 'node:fs';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { event, row, step } from './fixtures.ts';

/** Commits without end and writes each acknowledged step to standard output at once. Killed by its parent. */
const place = process.argv[2] ?? '';
const store = place.startsWith('redis:')
  ? redisStore({ url: place, log: silentLog })
  : sqliteStore({ file: place });
const [lease] = await store.acquire(1);
if (!lease) throw new Error('acquire gave no lease');

async function work(index: number): Promise<never> {
  const actor = `a/${index}`;
  let sequence = (await store.load(actor))?.sequence ?? 0;
  for (;;) {
    const next = sequence + 1;
    const outcome = await store.commit(
      step(lease as NonNullable<typeof lease>, {
        actor,
        cause: `${actor}@${next}`,
        sequence,
        rows: [row({ id: `s${index}`, body: String(next), indexes: { at: String(next) } })],
        timers: [{ name: 't', due: next }],
        events: [event(`${actor}@${next}`)],
        orders: [{ id: `${actor}@${next}`, type: 'close', body: '{}' }],
      }),
    );
    if (outcome.outcome !== 'ok') throw new Error(`${actor} ${next}: ${outcome.outcome}`);
    writeSync(1, `${index} ${next}\n`);
    sequence = next;
  }
}

await Promise.all(Array.from({ length: 8 }, (_, index) => work(index)));
