import { describe, expect, it } from 'vitest';
import { cursorOf } from '../../core/http/list.ts';
import type { EventFeed } from '../../core/plugin/events.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { timelinePage } from '../../plugins/streams/timeline.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const hook = 'https://hooks.example.com/in';

// biome-ignore lint/suspicious/noExplicitAny: entries of all kinds
type Entry = any;
const pageOf = async (w: World, path: string) => {
  const { status, body, headers } = await w.request('GET', path);
  expect([status, body.errors]).toEqual([200, undefined]);
  const link = /<http:\/\/localhost:8080([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  return { entries: body as Entry[], link };
};
/** All pages. */
const timeline = async (w: World, id: string, query = '') => {
  const all: Entry[] = [];
  for (let path: string | undefined = `/api/session/${id}/timeline${query}`; path; ) {
    const { entries, link } = await pageOf(w, path);
    all.push(...entries);
    path = link;
  }
  return all;
};
const inShort = (entries: Entry[]) =>
  entries.map(({ kind, state, event, success }) =>
    kind === 'state' ? `state ${state}` : `${kind} ${event}${kind === 'delivery' ? ` ${success}` : ''}`,
  );
const sessionOf = async (w: World, stream: { id: string }) =>
  (await w.request('GET', `/api/stream/${stream.id}/sessions`)).body[0].id as string;

describe('the timeline of a session', () => {
  it('has its states, events, changes of health and deliveries, in order', async () => {
    await using w = await world({ plugins });
    const answers = [500, 204];
    w.outbound.answer(hook, () => ({ status: answers.shift() ?? 204 }));
    const body = { name: 'W', url: hook, events: ['stream.started', 'stream.idle'] };
    const { body: webhook } = await w.request('POST', '/api/webhook', { body });
    const stream = await w.given.stream();
    const began = w.now();
    const publish = await w.given.broadcast(stream);
    const id = await sessionOf(w, stream);
    await w.advance('1m');
    publish.end({ clean: true });
    await w.settle();

    const entries = await timeline(w, id);
    const events = await w.events();
    // When a delivery is tried again depends on chance.
    expect(inShort(entries).filter((text) => /^(state|health)/.test(text))).toEqual([
      ...['state connecting', 'state live', 'health stream.health', 'state idle'],
    ]);
    expect(inShort(entries).filter((text) => text.startsWith('delivery'))).toEqual([
      ...['delivery stream.started false', 'delivery stream.started true', 'delivery stream.idle true'],
    ]);
    expect(entries[0]).toEqual({ at: began, kind: 'state', state: 'connecting' });
    expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted((a, b) => a - b));
    const [first, second] = entries.filter(({ kind }) => kind === 'delivery');
    const started = events.find(({ event }) => event === 'stream.started');
    expect(first).toMatchObject({ webhookId: webhook.id, deliveryId: started.id, attempt: 1, status: 500 });
    expect(second).toMatchObject({ attempt: 2, status: 204, success: true });
    expect(entries.find(({ kind }) => kind === 'health')).toMatchObject({
      ...{ isHealthy: false, issues: [expect.any(String)] },
    });
    const log = await w.request('GET', `/api/webhook/${webhook.id}/log/${first.id}`);
    expect(log.body).toMatchObject({ id: first.id, deliveryId: first.deliveryId });
  });

  it('is the same in pages of any size, and ends', async () => {
    await using w = await world({ plugins });
    w.outbound.answer(hook, () => ({ status: 204 }));
    await w.request('POST', '/api/webhook', { body: { name: 'W', url: hook, events: ['stream.started'] } });
    const [stream, other] = [await w.given.stream({ record: true }), await w.given.stream()];
    const publish = await w.given.broadcast(stream);
    const id = await sessionOf(w, stream);
    (await w.given.broadcast(other)).end({ clean: true });
    await w.advance('10s');
    publish.end({ clean: true });
    await w.advance('10m');
    const whole = await timeline(w, id, '?limit=1000');
    expect(inShort(whole)).toEqual(expect.arrayContaining(['state live', 'event recording.started']));
    for (const limit of [1, 2, 3, 5]) expect(await timeline(w, id, `?limit=${limit}`)).toEqual(whole);
  });

  it('ends where the next session begins, and begins where the last one ended', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const ids: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const publish = await w.given.broadcast(stream);
      ids.push(await sessionOf(w, stream));
      await w.advance('1m');
      publish.end({ clean: true });
      await w.advance('10m');
    }
    const [first, second] = await Promise.all(ids.map((id) => timeline(w, id)));
    for (const one of [first, second])
      expect(inShort(one).filter((text) => text.startsWith('state'))).toEqual([
        ...['state connecting', 'state live', 'state idle'],
      ]);
    expect(Math.max(...first.map(({ at }) => at))).toBeLessThan(second[0].at);
  });

  it('finds its events behind thousands of others', async () => {
    const others = 'noise.made';
    const noise: Plugin = {
      ...{ id: 'noise', summary: 'makes events', emits: { [others]: 'Nothing.' } },
      start: (kit) => {
        emit = (id, account) =>
          kit.resources.write({ rows: [], events: eventsOf(id, account, kit.clock.now()) });
      },
    };
    const eventsOf = (id: string, account: string, at: number) =>
      Array.from({ length: 200 }, (_, number) => {
        const head = { id: `${id}/${number}`, createdAt: at, timestamp: at, event: others };
        return { id: head.id, type: others, account, stream: '', body: JSON.stringify(head) };
      });
    let emit: (id: string, account: string) => Promise<unknown> = async () => {};
    await using w = await world({ plugins: [...plugins, noise] });
    const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
    const stream = await w.given.stream();
    const emitMany = async (name: string, rounds: number) => {
      for (let round = 0; round < rounds; round += 1) await emit(`${name}${round}`, account);
    };
    await emitMany('before', 15);
    await w.advance('1m');
    const publish = await w.given.broadcast(stream);
    const id = await sessionOf(w, stream);
    await emitMany('during', 52);
    await w.advance('1m');
    publish.end({ clean: true });
    await w.settle();
    // Between the first event and the last are more than one request reads.
    const first = await pageOf(w, `/api/session/${id}/timeline`);
    expect(inShort(first.entries)).toEqual(['state connecting', 'state live']);
    expect(first.link).toBeDefined();
    const whole = inShort(await timeline(w, id)).filter((text) => text.startsWith('state'));
    expect(whole).toEqual(['state connecting', 'state live', 'state idle']);
  });

  it('is of the account alone, and refuses cursors of others', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    const id = await sessionOf(w, stream);
    const { key } = await anotherAccount(w);
    const path = `/api/session/${id}/timeline`;
    expect((await w.request('GET', path, { key })).body.code).toBe('session.not_found');
    expect((await w.request('GET', `/api/session/${stream.id}/timeline`)).status).toBe(404);
    for (const query of ['cursor=x', 'limit=0', 'limit=1001'])
      expect((await w.request('GET', `${path}?${query}`)).body.code).toBe('query.invalid');
    const access = { rules: [{ resources: ['session/:id/timeline'], methods: ['get'] }] };
    const { body: narrow } = await w.request('POST', '/api/api-token', { body: { access } });
    expect((await w.request('GET', path, { key: narrow.key })).status).toBe(200);
  });

  it('takes no cursor that somebody made, with a place that is none', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    const id = await sessionOf(w, stream);
    for (const name of ['NaN', '', '-5', '1.5', '1e300', '0x10', undefined]) {
      const cursor = cursorOf(
        { createdAt: 0, id: '', ...(name !== undefined && { name }) },
        `timeline ${id}`,
      );
      const { status, body } = await w.request('GET', `/api/session/${id}/timeline?cursor=${cursor}`);
      expect([name, status, body.code]).toEqual([name, 422, 'query.invalid']);
    }
  });

  it('lets other requests have their turn while it searches a long log', async () => {
    let turns = 0;
    let isTicking = true;
    const tick = () => {
      turns += 1;
      if (isTicking) setImmediate(tick);
    };
    setImmediate(tick);
    const seen: number[] = [];
    const feed: Pick<EventFeed, 'after'> = {
      async after(position, { limit }) {
        expect(limit).toBeLessThanOrEqual(200);
        // The first ones look for the beginning.
        if (limit > 1) seen.push(turns);
        return Array.from({ length: limit }, (_, at) => ({
          ...{ position: position + at + 1, id: 'e', at: 10, type: 'asset.updated', body: '{}' },
          ...{ account: 'a', stream: 'another', cause: 'c' },
        })) as unknown as LoggedEvent[];
      },
    };
    const session = { id: 's', account: 'a', streamId: 'st', from: 0, until: Number.POSITIVE_INFINITY };
    try {
      const { cursor } = await timelinePage(session, {
        cursor: null,
        limit: 20,
        feed,
        deliveries: undefined,
      });
      expect(cursor).toBeDefined();
    } finally {
      isTicking = false;
    }
    expect(seen.length).toBeGreaterThan(10);
    expect(new Set(seen).size).toBeGreaterThan(5);
  });

  it('has no deliveries where webhooks are off', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'webhooks') });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    expect(inShort(await timeline(w, await sessionOf(w, stream)))).toEqual([
      'state connecting',
      'state live',
    ]);
  });
});
