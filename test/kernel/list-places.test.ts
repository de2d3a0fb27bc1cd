import { expect, it } from 'vitest';
import { fairTurn } from '../../core/base/fair-turns.ts';
import { resourceList } from '../../core/http/list.ts';
import type { StoredResource } from '../../core/ports/store.ts';

const row = (index: number): StoredResource => ({
  ...{ id: String(index), account: 'a', createdAt: index, name: '', revision: 0 },
  body: JSON.stringify('x'.repeat(100_000)),
});
const rows = Array.from({ length: 40 }, (_, index) => row(index));
/** Lists that were begun in the store. */
let begun = 0;
const list = resourceList({
  ...{ kind: 'thing', fields: {} },
  caller: () => ({ baseUrl: 'http://localhost', address: undefined }),
  resources: {
    get: async () => undefined,
    find: async () => undefined,
    count: async () => rows.length,
    async list() {
      begun += 1;
      return rows;
    },
  },
});
const ask = (account: string, signal?: AbortSignal) =>
  list(new Request('http://localhost/api/thing?limit=1000', { ...(signal && { signal }) }), {
    account,
    present: ({ body }) => JSON.parse(body),
  });
/** Many turns of the event loop: a list of this size takes some forty. */
async function asLongAsItTakes(): Promise<void> {
  for (let turn = 0; turn < 2000; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

it('makes eight long lists of an account at one time, and holds a large one until it is sent', async () => {
  const asked = Array.from({ length: 10 }, () => ask('a'));
  const left = new AbortController();
  const gone = ask('a', left.signal).catch(({ code }) => code);
  await asLongAsItTakes();
  expect(begun).toBe(8);
  left.abort();
  expect(await gone).toBe('store.busy');
  // Another account has its own places.
  const other = await ask('b');
  expect(other.headers.get('content-length')).toBe(String((await other.text()).length));
  const [first, second] = await Promise.all(asked.slice(0, 2));
  await first?.body?.cancel();
  expect((await second?.json())?.length).toBe(rows.length);
  await asLongAsItTakes();
  expect(begun).toBe(8 + 1 + 2);
  for (const one of asked.slice(2)) await (await one).body?.cancel();
  expect((await ask('a')).status).toBe(200);
});

it('gives names their turn one after the other, one in a turn of the event loop', async () => {
  const order: string[] = [];
  const wait = async (name: string) => {
    await fairTurn(name);
    order.push(name);
  };
  let isNext = false;
  const all = ['a', 'a', 'a', 'b', 'c', 'b'].map((name) => wait(name));
  await all[0];
  expect(order).toEqual(['a']);
  setImmediate(() => {
    isNext = true;
  });
  await Promise.all(all);
  expect(isNext).toBe(true);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
});
