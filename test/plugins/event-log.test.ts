import { describe, expect, it } from 'vitest';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { logPage } from '../../plugins/events/event-log.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

/** All pages of `path`, and how many there were. */
async function pagesOf(w: World, path: string, key?: string) {
  const rows: { id: string; event: string; stream?: { id: string } }[] = [];
  let pages = 0;
  for (let next: string | undefined = path; next; pages += 1) {
    const { status, body, headers } = await w.request('GET', next, { ...(key && { key }) });
    expect([status, body.errors]).toEqual([200, undefined]);
    rows.push(...body);
    next = /<http:\/\/localhost:8080([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  return { rows, pages };
}

describe('the list of past events', () => {
  it('has those of the account, newest first, by type and stream, in pages of any size', async () => {
    await using w = await world({ plugins });
    const other = await anotherAccount(w);
    const [first, second] = [await w.given.stream(), await w.given.stream()];
    for (const stream of [first, second, first]) (await w.given.broadcast(stream)).end({ clean: true });
    await w.request('POST', '/api/asset/request-upload', { body: { name: 'A film' }, key: other.key });
    await w.settle();
    const logged = (await w.events()).toReversed();
    const { rows } = await pagesOf(w, '/api/events/log?limit=1000');
    const own = logged.filter(({ event }) => event.startsWith('stream.'));
    expect(rows.length).toBeGreaterThan(4);
    expect(rows).toEqual(own);

    for (const limit of [1, 3]) {
      const paged = await pagesOf(w, `/api/events/log?limit=${limit}`);
      expect(paged.rows).toEqual(rows);
      expect(paged.pages).toBe(Math.ceil(rows.length / limit));
    }
    const started = await pagesOf(w, '/api/events/log?type=stream.started&limit=1');
    expect(started.rows).toEqual(rows.filter(({ event }) => event === 'stream.started'));
    const ofSecond = await pagesOf(w, `/api/events/log?streamId=${second.id}&limit=2`);
    expect(ofSecond.rows.length).toBeGreaterThan(0);
    expect(ofSecond.rows).toEqual(rows.filter(({ stream }) => stream?.id === second.id));
    const theirs = await pagesOf(w, '/api/events/log', other.key);
    expect(theirs.rows.map(({ event }) => event)).toContain('task.spawned');
    expect(theirs.rows.some(({ event }) => event.startsWith('stream.'))).toBe(false);
  });

  it('refuses a cursor of another list, a misspelt type, and a key that may not read it', async () => {
    await using w = await world({ plugins });
    for (const stream of [await w.given.stream(), await w.given.stream()])
      (await w.given.broadcast(stream)).end({ clean: true });
    const { headers } = await w.request('GET', '/api/events/log?limit=1');
    const cursor = /cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
    for (const query of [`type=stream.idle&cursor=${cursor}`, 'cursor=x', 'type=stream.strated', 'limit=0'])
      expect([query, (await w.request('GET', `/api/events/log?${query}`)).status]).toEqual([query, 422]);
    const access = { rules: [{ resources: ['stream'] }] };
    const { body } = await w.request('POST', '/api/api-token', { body: { name: 'k', access } });
    expect((await w.request('GET', '/api/events/log', { key: body.key })).status).toBe(403);
  });

  it('reads only so much of the log for one page, and goes on from there', async () => {
    const log = Array.from({ length: 12_000 }, (_, index): LoggedEvent => {
      const position = 12_000 - index;
      const type = position === 3 ? 'stream.started' : 'stream.health';
      return {
        id: `e${position}`,
        type,
        account: 'a',
        stream: 's',
        body: `{"n":${position}}`,
        at: 0,
        position,
      };
    });
    let reads = 0;
    const feed = {
      before: async (position: number, { limit }: { limit: number }) => {
        reads += 1;
        return log.filter((event) => event.position < position).slice(0, limit);
      },
    };
    const wanted = { account: 'a', type: 'stream.started', streamId: null };
    const found: string[] = [];
    let cursor: string | null | undefined = null;
    let pages = 0;
    while (cursor !== undefined) {
      const page: Awaited<ReturnType<typeof logPage>> = await logPage(wanted, { feed, cursor, limit: 20 });
      found.push(page.body);
      cursor = page.cursor;
      pages += 1;
    }
    expect(found).toEqual(['[]', '[]', '[{"n":3}]']);
    expect([pages, reads]).toEqual([3, 61]);
  });

  it('lets others have their turn, and reads no more of long events that nobody asked for', async () => {
    const body = JSON.stringify({ payload: 'x'.repeat(60_000) });
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    let reads = 0;
    const feed = (size: string) => ({
      async before(position: number, { limit }: { limit: number }) {
        reads += 1;
        const event = { id: 'e', type: 't', account: 'a', stream: '', body: size, at: 0 };
        const first = Math.min(position, 100_000);
        return Array.from({ length: limit }, (_, index) => ({ ...event, position: first - index - 1 }));
      },
    });
    const wanted = { account: 'a', type: 'stream.started', streamId: null };
    expect((await logPage(wanted, { feed: feed('{}'), cursor: null, limit: 20 })).body).toBe('[]');
    expect(turns).toBeGreaterThan(10);
    reads = 0;
    const long = await logPage(wanted, { feed: feed(body), cursor: null, limit: 20 });
    isOver = true;
    expect([long.body, reads]).toEqual(['[]', 1]);
    expect(long.cursor).toBeDefined();
  });

  it('cuts a page of long events', async () => {
    const body = JSON.stringify({ payload: 'x'.repeat(60_000) });
    const log = Array.from({ length: 300 }, (_, index): LoggedEvent => {
      const position = 300 - index;
      return { id: `e${position}`, type: 't', account: 'a', stream: '', body, at: 0, position };
    });
    const feed = {
      before: async (position: number, { limit }: { limit: number }) =>
        log.filter((event) => event.position < position).slice(0, limit),
    };
    const wanted = { account: 'a', type: null, streamId: null };
    const first = await logPage(wanted, { feed, cursor: null, limit: 1000 });
    expect(first.body.length).toBeLessThan(4_100_000);
    let rows = JSON.parse(first.body).length;
    for (let { cursor } = first; cursor !== undefined; ) {
      const page: Awaited<ReturnType<typeof logPage>> = await logPage(wanted, { feed, cursor, limit: 1000 });
      rows += JSON.parse(page.body).length;
      cursor = page.cursor;
    }
    expect(rows).toBe(300);
  });
});
