import { afterAll, beforeAll, expect, it } from 'vitest';
import { type World, world } from '../kit/world.ts';
import { nextOf, plugins } from './list-walk.ts';

/** Streams with all the tags that one may have, 30 kB each: more than a page is to have. */
const count = 320;
const tags = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`${index}`.padEnd(90, 'x'), 'y'.repeat(500)]),
);
let w: World;

beforeAll(async () => {
  w = await world({ plugins });
  for (let at = 0; at < count; at += 40)
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        w.request('POST', '/api/stream', { body: { name: `n${at + index}`, userTags: tags } }),
      ),
    );
});
afterAll(() => w[Symbol.asyncDispose]());

/** Turns of the event loop while it is done. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

it.each(['', '&name=n', '&order=name-false'])(
  'ends a page of large rows early: limit=1000%s',
  async (query) => {
    const names: string[] = [];
    const sizes: number[] = [];
    for (let path: string | undefined = `/api/stream?limit=1000&count=1${query}`; path; ) {
      const { headers, body }: Awaited<ReturnType<World['request']>> = await w.request('GET', path);
      expect(headers.get('x-total-count')).toBe(String(count));
      names.push(...body.map(({ name }: { name: string }) => name));
      sizes.push(JSON.stringify(body).length);
      path = nextOf(headers);
    }
    expect([names.length, new Set(names).size]).toEqual([count, count]);
    expect(sizes.length).toBe(2);
    expect(Math.max(...sizes)).toBeLessThan(9_500_000);
  },
);

it.each(['limit=1000', 'limit=1', 'limit=1000&name=zzz'])(
  'lets others have their turn: %s',
  async (query) => {
    const filters = encodeURIComponent(
      JSON.stringify([{ id: 'name', value: query === 'limit=1' ? 'no' : 'n' }]),
    );
    const turns = await turnsOf(w.request('GET', `/api/stream?${query}&filters=${filters}`));
    // Some 10 MB, of which a millisecond takes a tenth.
    expect(turns).toBeGreaterThan(60);
  },
);

it('is whole for each of many at one time, with and without a body', async () => {
  const path = '/api/stream?limit=200';
  await Promise.all(Array.from({ length: 10 }, () => w.request('HEAD', path)));
  const all = await Promise.all(Array.from({ length: 10 }, () => w.request('GET', path)));
  expect(all.map(({ body }) => body.length)).toEqual(Array.from({ length: 10 }, () => 200));
});
