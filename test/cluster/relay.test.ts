import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { partitionOf } from '../../runtime/actors/actor-name.ts';
import { type ClusterNode, clusterNodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

const add = (entry: string) => ({ type: 'add' as const, entry });

describe('what a step leads to', () => {
  it('is published on the bus, for readers outside', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = partitionOf('one', partitions);
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', add('1'));
    await nodes.settle();
    expect(nodes.broker.published().map(({ key, value }) => [key, JSON.parse(value)])).toEqual([
      [
        `m${partition}.1/0/tally.added`,
        {
          ...{
            id: `m${partition}.1/0/tally.added`,
            event: 'tally.added',
            cause: `m${partition}.1`,
          },
          ...{ createdAt: nodes.clock.now(), timestamp: nodes.clock.now() },
          emitted: { type: 'tally.added', entry: '1', at: nodes.clock.now() },
        },
      ],
    ]);
    expect(a.metrics.text()).toContain('millrace_relay_backlog 0');
  });

  it('adds its jobs with the step, and takes their results with the one that finishes them', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = partitionOf('one', partitions);
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'work' });
    const id = `m${partition}.1/0/tally.work`;
    const now = nodes.clock.now();
    const claim = { owner: 'w/1', limit: 10, now, until: now + 30_000 };
    const claimed = await nodes.jobs.claim('tally.work', claim);
    expect(claimed).toMatchObject([{ id, child: 'work', actor: 'tally/one', input: '{"entries":0}' }]);
    const job = { id, actor: 'tally/one', child: 'work' };
    const conclude = (of: typeof job, owner: string) =>
      a.cluster.actors.conclude(of, { owner, result: { output: 'worked' } });
    // Who does not hold it gives no result, and nobody else waits for that.
    const [other] = await Promise.all([
      conclude(job, 'w/2'),
      a.actors.ask(tally, 'one', add('1')),
      nodes.advance('1s'),
    ]);
    expect(other).toBe('lost');
    expect(await conclude(job, 'w/1')).toBe('ok');
    expect((await nodes.tally('one'))?.entries).toEqual(['1', 'worked']);
    expect(await nodes.jobs.totals()).toEqual([]);
    expect(await conclude(job, 'w/1')).toBe('stale');
    expect(await conclude({ ...job, actor: 'tally/none' }, 'w/1')).toBe('stale');
  });

  it('cancels jobs that nobody waits for, also when the actor ends', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    const count = async () => (await nodes.jobs.totals())[0]?.count ?? 0;
    for (const end of ['unwind', 'end'] as const) {
      await a.actors.ask(tally, 'one', { type: 'work' });
      expect(await count()).toBe(1);
      await a.actors.ask(tally, 'one', { type: end });
      expect(await count()).toBe(0);
    }
  });

  it('that a dead owner left is handed on by the next one, before anything of its own', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a', {
      probe: (point, _, node) => point === 'before effects' && isDue && node.kill(),
    });
    let isDue = false;
    await a.actors.spawn(tally, 'one', undefined);
    isDue = true;
    void a.actors.ask(tally, 'one', add('1'));
    await nodes.settle();
    isDue = false;
    expect(nodes.broker.published()).toEqual([]);
    const b = await nodes.start('b');
    await nodes.advance('10s');
    await b.actors.ask(tally, 'one', add('2'));
    await nodes.settle();
    expect(nodes.broker.published().map(({ value }) => JSON.parse(value).emitted.entry)).toEqual(['1', '2']);
  });

  it('waits while another engine is away, and comes in order when it is back', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    const { publish } = a.bus;
    let isDown = true;
    a.bus.publish = async (records) => {
      if (isDown) throw new Fault('bus.unknown', { status: 503, message: 'no answer' });
      return publish(records);
    };
    for (const entry of ['1', '2', '3']) await a.actors.ask(tally, 'one', add(entry));
    await nodes.advance('30s');
    expect(nodes.broker.published()).toEqual([]);
    expect(a.metrics.text()).toContain('millrace_relay_backlog 3');
    isDown = false;
    await nodes.advance('3s');
    expect(nodes.broker.published().map(({ value }) => JSON.parse(value).emitted.entry)).toEqual([
      '1',
      '2',
      '3',
    ]);
    expect(a.metrics.text()).toContain('millrace_relay_backlog 0');
  });

  it('is refused when its jobs cannot be taken, and nothing changes', async () => {
    await using nodes = await clusterNodes();
    let isFull = true;
    const full = new Fault('jobs.full', { status: 503, message: 'full', retryAfter: 1 });
    const a = await nodes.start('a', { isFull: () => (isFull ? full : undefined) });
    await a.actors.spawn(tally, 'one', undefined);
    await expect(a.actors.ask(tally, 'one', { type: 'work' })).rejects.toMatchObject({
      code: 'jobs.full',
      retryAfter: 1,
    });
    expect((await a.actors.read(tally, 'one'))?.value).toBe('calm');
    isFull = false;
    expect((await a.actors.ask(tally, 'one', { type: 'work' })).value).toBe('working');
    expect(nodes.broker.dead()).toEqual([]);
  });

  it('that the bus will never take is buried, and what comes with it and after it goes on', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const { publish } = a.bus;
    let refuse: () => Error = () => new Fault('bus.too_large', { status: 413, message: 'too large' });
    a.bus.publish = (records) =>
      records.some(({ value }) => value.includes('huge')) ? Promise.reject(refuse()) : publish(records);
    const partition = partitionOf('one', partitions);
    await a.actors.spawn(tally, 'one', undefined);
    for (const entry of ['1', 'huge', '2']) void a.actors.ask(tally, 'one', add(entry));
    await nodes.advance('5s');
    refuse = () => new RangeError('a key has 501 characters, not 1..500');
    await a.actors.ask(tally, 'one', add('huge again'));
    await a.actors.ask(tally, 'one', add('3'));
    await nodes.advance('5s');
    const heard = nodes.broker.published().map(({ value }) => JSON.parse(value).emitted.entry);
    expect(heard).toEqual(['1', '2', '3']);
    const id = `m${partition}.2/0/tally.added`;
    const [first, second, ...more] = nodes.broker.dead();
    expect(more).toEqual([]);
    expect(first).toMatchObject({ reason: 'too large', record: { partition: -1, offset: -1, key: 'event' } });
    expect(JSON.parse(first?.record.value ?? '')).toMatchObject({ id, event: 'tally.added' });
    expect(second?.reason).toContain('501 characters');
    expect(a.metrics.text()).toContain('millrace_events_buried_total 2');
    expect(nodes.lines.filter((line) => line.includes('an event is buried'))).toHaveLength(2);
  });

  it('and is buried waits for the bus like all else', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    a.bus.publish = async () => {
      throw new Fault('bus.too_large', { status: 413, message: 'too large' });
    };
    const { bury } = a.bus;
    a.bus.bury = async () => {
      throw new Fault('bus.unknown', { status: 503, message: 'no answer' });
    };
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', add('1'));
    await nodes.advance('10s');
    expect(nodes.broker.dead()).toEqual([]);
    a.bus.bury = bury;
    await nodes.advance('5s');
    expect(nodes.broker.dead()).toHaveLength(1);
  });

  it('of plain resources that is too large is buried as well', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const write = async (id: string, size: number) => {
      const body = JSON.stringify({ id, text: 'x'.repeat(size) });
      const event = { id, type: 'x.y', account: 'a', stream: '', body };
      await nodes.store.write({ at: 1, rows: [], events: [event] });
      a.cluster.wrote([{ ...event, at: 1, position: 0 }]);
    };
    await write('e1', 3 * 1_048_576);
    await write('e2', 1);
    await nodes.advance('6s');
    expect(nodes.broker.published().map(({ key }) => key)).toEqual(['e2']);
    expect(nodes.broker.dead()[0]?.reason).toMatch(/^\d+ bytes of JSON; at most \d+$/);
  });

  it('of plain resources is handed on by their writer, or by another when that has died', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a'), await nodes.start('b', { owns: false })];
    const write = async (id: string) => {
      const event = { id, type: 'x.y', account: 'a', stream: '', body: JSON.stringify({ id }) };
      const outcome = await nodes.store.write({ at: 1, rows: [], events: [event] });
      if (outcome.outcome !== 'ok') throw new Error(outcome.outcome);
      return [{ ...event, at: 1, position: outcome.events[0]! }];
    };
    b.cluster.wrote(await write('e1'));
    await nodes.settle();
    expect(nodes.broker.published().map(({ key }) => key)).toEqual(['e1']);
    expect(a.events.map(({ id }) => id)).toEqual(['e1']);
    await write('e2');
    await nodes.advance('6s');
    expect(nodes.broker.published().map(({ key }) => key)).toEqual(['e1', 'e2']);
    expect(b.events.map(({ id }) => id)).toEqual(['e1', 'e2']);
  });
});

describe('a duty', () => {
  const begun = (at: string[], name: string) => async () => {
    at.push(`${name} begins`);
    return () => void at.push(`${name} ends`);
  };

  it('is done by the node that has its partition, and by another when that stops or dies', async () => {
    await using nodes = await clusterNodes();
    const at: string[] = [];
    const all = new Map<string, ClusterNode>();
    for (const name of ['a', 'b', 'c']) {
      const node = await nodes.start(name);
      all.set(name, node);
      await node.cluster.duties.add('x', begun(at, name));
    }
    await nodes.advance('60s');
    const doer = () => at.findLast((one) => one.endsWith('begins'))!.split(' ')[0]!;
    const isOwner = (name: string) =>
      all.get(name)!.cluster.owner.owned.includes(partitionOf('x', partitions));
    expect(at.filter((one) => one.endsWith('begins'))).toHaveLength(
      at.filter((one) => one.endsWith('ends')).length + 1,
    );
    expect(isOwner(doer())).toBe(true);
    const first = doer();
    at.length = 0;
    await all.get(first)!.stop();
    expect(at[0]).toBe(`${first} ends`);
    const second = doer();
    expect(second).not.toBe(first);
    expect(isOwner(second)).toBe(true);
    at.length = 0;
    all.get(second)!.kill();
    await nodes.advance('7s');
    expect(at.some((one) => one.endsWith('begins') && !one.startsWith(second))).toBe(true);
    expect(isOwner(doer())).toBe(true);
  });

  it('goes on in an outage of the store, and begins anew from what a store has that was started anew', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const at: string[] = [];
    await a.cluster.duties.add('x', begun(at, 'a'));
    nodes.faults.commit = async () => {
      throw new Fault('store.unknown', { status: 503, message: 'no answer' });
    };
    await nodes.advance('30s');
    expect(at).toEqual(['a begins']);
    nodes.faults.commit = (_, run) => run();
    nodes.storeRestarted();
    await nodes.advance('5s');
    expect(at).toEqual(['a begins', 'a ends', 'a begins']);
  });

  it('that could not be begun is begun again, and not when it was stopped meanwhile', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    let tries = 0;
    const stop = await a.cluster.duties.add('x', async () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return () => {};
    });
    expect(tries).toBe(1);
    await nodes.advance('10s');
    expect(tries).toBe(3);
    await stop();
    const stopOther = await a.cluster.duties.add('y', async () => {
      throw new Error('never');
    });
    await stopOther();
    await nodes.advance('10s');
    expect(nodes.lines.filter((line) => line.includes('"duty":"y"'))).toHaveLength(1);
  });
});
