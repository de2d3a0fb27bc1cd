import { describe, expect, it } from 'vitest';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { step } from '../conformance/store/fixtures.ts';
import { type Fleet, type FleetNode, fleet } from '../kit/fleet.ts';

/** Remembers which nodes were lost and, of the incarnations it is asked about, what their last sign was. */
function mourner() {
  const told: string[] = [];
  const state = { fails: false, tries: 0 };
  let asked: string[] = [];
  const plugin = definePlugin({
    id: 'mourner',
    summary: 'hears of lost nodes',
    async lostNode(lost: LostNode) {
      state.tries += 1;
      if (state.fails) throw new Error('not now');
      const lastSign = await lost.lastSigns();
      for (const one of asked) told.push(`${lost.id} ${one} ${lastSign(one)}`);
    },
  }) as unknown as Plugin;
  const about = (incarnations: string[]) => {
    asked = incarnations;
  };
  return { plugin, told, state, about };
}

const row = async (f: Fleet, id: string) => {
  const stored = await f.store.resources.get('node', id);
  return stored && JSON.parse(stored.body);
};
const parcel = 'parcel.deliver';
/** One job of each of these nodes, leased for a day. Answers their owners. */
async function leased(f: Fleet, nodes: readonly FleetNode[]): Promise<string[]> {
  const leases = await f.store.acquire(16);
  const at = f.clock.now();
  const owners = nodes.map(({ id, booted }) => `${id}/${booted.nodes.own.incarnation}`);
  for (const owner of owners) {
    const job = { id: `${owner}/0/${parcel}`, kind: parcel, child: 'delivery', input: '{}', due: at };
    const one = { actor: `a/${owner}`, sequence: 0, at, cause: owner, jobs: [job] };
    await f.store.commit(step(leases[0]!, one));
    const claim = { owner, limit: 100, now: at, until: at + 86_400_000 };
    expect(await f.store.jobs.claim(parcel, claim)).toContainEqual(expect.objectContaining({ id: job.id }));
  }
  return owners;
}
const alive = async (node: FleetNode, id: string) => (await node.booted.nodes.find(id))?.isAlive;

describe('nodes', () => {
  it('know each other: what they do, where they are, that they live', async () => {
    await using f = await fleet({ plugins: [] });
    const a = await f.start('a', { roles: ['api', 'actors'] });
    const b = await f.start('b', { roles: ['media'] });
    await f.advance('4s');
    const { incarnation } = b.booted.nodes.own;
    expect(await a.booted.nodes.find('b')).toEqual({
      ...{ id: 'b', incarnation, url: 'http://b', roles: ['media'], isAlive: true },
      ...{ ingestUrl: 'rtmp://b:1935/live', region: undefined },
      aliveAt: expect.any(Number),
      heardAt: expect.any(Number),
    });
    expect((await b.booted.nodes.list()).map(({ id, isAlive }) => [id, isAlive])).toEqual([
      ['a', true],
      ['b', true],
    ]);
    expect(await a.booted.nodes.find('nobody')).toBeUndefined();
    // One that has just started is found before the next look.
    await f.start('c');
    expect(await alive(a, 'c')).toBe(true);
  });

  it('are dead when they were silent for longer than the timeout, and not before', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    const a = await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    const { incarnation } = b.booted.nodes.own;
    m.about([incarnation, 'earlier', a.booted.nodes.own.incarnation]);
    const { aliveAt } = await row(f, 'b');
    b.cut();
    await f.advance('9s');
    expect(await alive(a, 'b')).toBe(true);
    expect(m.told).toEqual([]);
    await f.advance('6s');
    expect(await alive(a, 'b')).toBe(false);
    expect(m.told).toEqual([
      `b ${incarnation} ${aliveAt}`,
      'b earlier 0',
      `b ${a.booted.nodes.own.incarnation} undefined`,
    ]);
    expect(await row(f, 'b')).toMatchObject({ lostAt: expect.any(Number), isSettled: true });
    expect(f.lines.some((line) => line.startsWith('a ') && line.includes('a node is dead'))).toBe(true);
  });

  it('that were declared dead and live stop at their next beat', async () => {
    await using f = await fleet({ plugins: [] });
    await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    b.cut();
    await f.advance('15s');
    expect(b.ended).toBeUndefined();
    b.mend();
    await f.advance('4s');
    expect(b.ended).toContain('have declared this node "b" dead');
  });

  it('declare nobody dead after an outage of the store, however long, and everybody has the whole timeout again', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    const a = await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    f.state.isStoreDown = true;
    await f.advance('1h');
    expect(await alive(a, 'b')).toBe(true);
    b.cut();
    f.state.isStoreDown = false;
    await f.advance('10s');
    expect(m.told).toEqual([]);
    expect(b.ended).toBeUndefined();
    m.about(['x']);
    await f.advance('6s');
    expect(m.told).toHaveLength(1);
  });

  it('that stood still themselves hold it against nobody', async () => {
    await using f = await fleet({ plugins: [] });
    const a = await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    a.cut();
    b.cut();
    await f.advance('9s');
    a.mend();
    b.mend();
    await f.advance('1m');
    expect([a.ended, b.ended]).toEqual([undefined, undefined]);
  });

  it('without the role actors declare nobody dead, and know all the same', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    const a = await f.start('a', { roles: ['api', 'media'] });
    const b = await f.start('b');
    m.about(['x']);
    await f.advance('5s');
    b.cut();
    await f.advance('1m');
    expect(await alive(a, 'b')).toBe(false);
    expect(m.told).toEqual([]);
    expect(await row(f, 'b')).not.toHaveProperty('lostAt');
  });

  it('see to a lost one again until that succeeded', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    m.state.fails = true;
    b.cut();
    await f.advance('16s');
    expect(m.state.tries).toBeGreaterThan(1);
    expect(await row(f, 'b')).not.toHaveProperty('isSettled');
    m.about(['x']);
    m.state.fails = false;
    await f.advance('4s');
    expect(m.told).toEqual(['b x 0']);
    expect(await row(f, 'b')).toHaveProperty('isSettled');
  });

  it('see to one that another declared dead, and died before it had told anybody', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    await f.start('a');
    const lost = { incarnation: 'gone', aliveAt: 7, lostAt: f.clock.now() };
    const write = { kind: 'node', id: 'b', account: '', createdAt: 1, name: 'b', indexes: {}, revision: 0 };
    const rows = [{ ...write, body: JSON.stringify(lost) }];
    await f.store.write({ at: f.clock.now(), rows, events: [] });
    m.about(['gone']);
    await f.advance('9s');
    expect(m.told).toEqual([]);
    await f.advance('8s');
    expect(m.told).toEqual(['b gone 7']);
    expect(await row(f, 'b')).toHaveProperty('isSettled');
  });

  it('that are told to stop are not waited for', async () => {
    await using f = await fleet({ plugins: [] });
    const a = await f.start('a');
    const b = await f.start('b');
    await f.advance('4s');
    const stopped = b.booted.stop();
    await f.settle();
    await stopped;
    await f.advance('4s');
    expect(await alive(a, 'b')).toBe(false);
  });

  it('of one id: the later has it, the former stops and is told why', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    await f.start('a');
    const first = await f.start('b');
    await f.advance('5s');
    const { incarnation } = first.booted.nodes.own;
    m.about([incarnation]);
    const { aliveAt } = await row(f, 'b');
    const second = await f.start('b');
    m.about([incarnation, second.booted.nodes.own.incarnation]);
    await f.advance('4s');
    expect(first.ended).toContain('another process has started as node "b"');
    expect(second.ended).toBeUndefined();
    expect(m.told.at(0)).toBe(`b ${incarnation} ${aliveAt}`);
  });

  it('that are declared dead hold no jobs any more, and those that live keep theirs', async () => {
    await using f = await fleet({ plugins: [] });
    await f.start('a');
    const b = await f.start('b');
    const c = await f.start('c');
    await f.advance('5s');
    const [ofB, ofC] = await leased(f, [b, c]);
    b.cut();
    await f.advance('9s');
    expect(await f.store.jobs.owners('b')).toEqual([ofB]);
    await f.advance('6s');
    expect(await f.store.jobs.owners('b')).toEqual([]);
    expect(await f.store.jobs.owners('c')).toEqual([ofC]);
    const claim = { owner: ofC, limit: 10, now: f.clock.now(), until: f.clock.now() + 1000 };
    expect(await f.store.jobs.claim(parcel, claim)).toMatchObject([{ attempt: 2 }]);
  });

  it('that start again free what their former processes held, and nothing of a process that has their id since', async () => {
    const m = mourner();
    await using f = await fleet({ plugins: [m.plugin] });
    await f.start('a');
    await leased(f, [await f.start('b')]);
    // It cannot tell the plugin of the former one, and so tries again and again.
    m.state.fails = true;
    const second = await f.start('b');
    await f.settle();
    expect(await f.store.jobs.owners('b')).toEqual([]);
    const third = await f.start('b');
    const [held] = await leased(f, [third]);
    const before = m.state.tries;
    await f.advance('2s');
    expect([second.ended, m.state.tries - before > 1]).toEqual([undefined, true]);
    expect(await f.store.jobs.owners('b')).toEqual([held]);
    m.state.fails = false;
    await f.advance('3s');
    expect(second.ended).toContain('another process has started as node "b"');
    expect(await f.store.jobs.owners('b')).toEqual([held]);
  });

  it('go on when nobody knows whether a beat was written', async () => {
    await using f = await fleet({ plugins: [] });
    const a = await f.start('a');
    await f.advance('4s');
    const stored = await f.store.resources.get('node', 'a');
    if (!stored) throw new Error('no row');
    // The write happened and its answer was lost: the row has a revision that the process does not know.
    const { body, createdAt, revision } = stored;
    await f.store.write({
      at: f.clock.now(),
      rows: [{ kind: 'node', id: 'a', account: '', createdAt, name: 'a', body, indexes: {}, revision }],
      events: [],
    });
    await f.advance('10s');
    expect(a.ended).toBeUndefined();
    expect((await row(f, 'a')).aliveAt).toBeGreaterThan(f.clock.now() - 4000);
  });

  it('forget those that died a day ago', async () => {
    await using f = await fleet({ plugins: [] });
    await f.start('a');
    const b = await f.start('b');
    await f.advance('5s');
    b.cut();
    await f.advance('20s');
    const stored = await f.store.resources.get('node', 'b');
    if (!stored) throw new Error('no row');
    const lostAt = f.clock.now() - 24 * 3_600_000 + 60_000;
    const { createdAt, revision } = stored;
    const body = JSON.stringify({ ...JSON.parse(stored.body), lostAt });
    const aged = { kind: 'node', id: 'b', account: '', createdAt, name: 'b', body, indexes: {}, revision };
    await f.store.write({ at: f.clock.now(), rows: [aged], events: [] });
    await f.advance('50s');
    expect(await row(f, 'b')).toBeDefined();
    await f.advance('20s');
    expect(await row(f, 'b')).toBeUndefined();
    b.mend();
    await f.advance('4s');
    expect(b.ended).toContain('declared this node "b" dead');
  });

  it('alone writes no more than its own heartbeat, and knows itself', async () => {
    const { world } = await import('../kit/world.ts');
    await using w = await world({ plugins: [] });
    await w.advance('1m');
    const stored = await w.store.resources.list('node', { limit: 10 });
    expect(stored.map(({ id }) => id)).toEqual(['local']);
  });
});

describe('a question to another node', () => {
  it('is answered by it, and by no route that clients reach', async () => {
    const { Elysia } = await import('elysia');
    const asked = definePlugin({
      id: 'asked',
      summary: 'answers nodes',
      nodeRoutes: (kit) => new Elysia().get('/internal/who', () => Response.json(kit.deployment.node.id)),
    }) as unknown as Plugin;
    await using f = await fleet({ plugins: [asked] });
    const a = await f.start('a');
    const b = await f.start('b', { roles: ['media'] });
    const { signal } = new AbortController();
    expect(await (await a.booted.nodes.request('b', '/internal/who', { signal })).json()).toBe('b');
    expect(await b.request('GET', '/internal/who')).toMatchObject({
      status: 404,
      body: { code: 'route.not_found' },
    });
    b.cut();
    await expect(a.booted.nodes.request('b', '/internal/who', { signal })).rejects.toMatchObject({
      code: 'node.unreachable',
      status: 503,
      retryAfter: 1,
    });
    await expect(a.booted.nodes.request('z', '/internal/who', { signal })).rejects.toMatchObject({
      message: expect.stringContaining('"z"'),
    });
  });

  it('ends when the other does not answer in time', async () => {
    const { Elysia } = await import('elysia');
    const asked = definePlugin({
      id: 'asked',
      summary: 'answers nobody',
      nodeRoutes: () => new Elysia().get('/internal/never', () => new Promise<Response>(() => {})),
    }) as unknown as Plugin;
    await using f = await fleet({ plugins: [asked] });
    const a = await f.start('a');
    await f.start('b');
    const { signal } = new AbortController();
    const answer = a.booted.nodes.request('b', '/internal/never', { signal }).catch((error) => error.code);
    await f.advance('5s');
    expect(await answer).toBe('node.unreachable');
  });
});
