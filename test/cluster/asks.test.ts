import { describe, expect, it } from 'vitest';
import { idOf, partitionOf } from '../../runtime/actors/actor-name.ts';
import { maxAsks } from '../../runtime/cluster/cluster-actors.ts';
import { clusterNodes, type Nodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

/** Ids of actors, some for each partition. */
const ids = Array.from({ length: 12 }, (_, n) => `t${n}`);
const homeOf = (id: string) => partitionOf(idOf(`tally/${id}`), partitions);
const add = (entry: string) => ({ type: 'add' as const, entry });

/** A command as it stands on the log. */
function put(nodes: Nodes, id: string, value: object | string): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  nodes.broker.inner.append({ partition: homeOf(id), key: `tally/${id}`, value: text });
}
const replyTo = { node: 'a', incarnation: 'a.1' };

describe('a command', () => {
  it('reaches the actor wherever it runs, and the answer whoever asked', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a'), await nodes.start('b')];
    expect([...a.cluster.owner.owned, ...b.cluster.owner.owned].sort()).toEqual([0, 1, 2, 3]);
    expect(a.cluster.owner.owned).toHaveLength(2);
    for (const id of ids) {
      expect(await a.actors.spawn(tally, id, undefined)).toMatchObject({ value: 'calm' });
      expect((await b.actors.ask(tally, id, add('1'))).context).toEqual({ entries: ['1'], rung: 0 });
      expect((await a.actors.ask(tally, id, add('2'))).context.entries).toEqual(['1', '2']);
      expect((await b.actors.read(tally, id))?.context.entries).toEqual(['1', '2']);
    }
    await nodes.settle();
    // Everybody hears of every event once, in the order of the log.
    const positions = a.events.map(({ position }) => position);
    expect(positions).toEqual(ids.flatMap((_, n) => [2 * n + 1, 2 * n + 2]));
    expect(b.events.map(({ position }) => position)).toEqual(positions);
  });

  it('is refused as it is where there is no bus', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a'), await nodes.start('b', { owns: false })];
    await expect(b.actors.ask(tally, 'none', add('1'))).rejects.toMatchObject({
      code: 'actor.not_found',
      status: 404,
    });
    await a.actors.spawn(tally, 'one', undefined);
    await expect(b.actors.spawn(tally, 'one', undefined)).rejects.toMatchObject({
      code: 'actor.exists',
      status: 409,
    });
    await expect(b.actors.ask(tally, 'one', { type: 'unwind' })).rejects.toMatchObject({
      ...{ code: 'actor.not_possible', status: 409, message: 'unwind is not possible while it is "calm".' },
    });
    await b.actors.ask(tally, 'one', { type: 'end' });
    await expect(b.actors.ask(tally, 'one', add('1'))).rejects.toMatchObject({ code: 'actor.not_found' });
    expect(await b.actors.read(tally, 'one')).toBeUndefined();
    // Its id is remembered.
    await expect(b.actors.spawn(tally, 'one', undefined)).rejects.toMatchObject({ code: 'actor.exists' });
    expect(await b.actors.spawn(tally, 'two', undefined)).toMatchObject({ value: 'calm' });
  });

  it('with a cause changes nothing when it is repeated, also where the state has moved on', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined, { cause: 'born' });
    await a.actors.ask(tally, 'one', add('1'), { cause: 'c1' });
    const wound = await a.actors.ask(tally, 'one', { type: 'wind' }, { cause: 'c2' });
    expect(wound.value).toBe('wound');
    expect((await a.actors.ask(tally, 'one', add('1'), { cause: 'c1' })).context.entries).toEqual(['1']);
    // Refused now, but it was done: its answer got lost.
    expect((await a.actors.ask(tally, 'one', { type: 'wind' }, { cause: 'c2' })).value).toBe('wound');
    await expect(a.actors.spawn(tally, 'one', undefined, { cause: 'born' })).rejects.toMatchObject({
      code: 'actor.exists',
    });
    // Side by side, too: the second is not known to the store when it is looked for.
    const both = [1, 2].map(() => a.actors.ask(tally, 'one', add('2'), { cause: 'c3' }));
    for (const { context } of await Promise.all(both)) expect(context.entries).toEqual(['1', '2']);
    expect((await nodes.events()).map(({ id }) => id)).toEqual(['c1/0/tally.added', 'c3/0/tally.added']);
    expect(a.metrics.text()).toContain('millrace_partition_restarts_total 0');
  });

  it('is answered once it arrived, though nobody knew whether it had', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a'), await nodes.start('b', { owns: false })];
    await a.actors.spawn(tally, 'one', undefined);
    nodes.broker.cut('b', { arrives: true });
    const asked = b.actors.ask(tally, 'one', add('1'));
    await nodes.advance('5s');
    nodes.broker.mend('b');
    await nodes.advance('1s');
    expect((await asked).context.entries).toEqual(['1']);
    expect((await nodes.tally('one'))?.entries).toEqual(['1']);
    const sent = nodes.broker.records(homeOf('one')).filter(({ value }) => value.includes('"add"'));
    expect(sent).toHaveLength(1);
  });

  it('without an answer ends as unknown after its time, and may be carried out later', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a', { owns: false }), await nodes.start('b')];
    await a.actors.spawn(tally, 'one', undefined);
    nodes.broker.cut('b', { sleeps: true });
    const asked = a.actors.ask(tally, 'one', add('1')).catch((error) => error);
    await nodes.advance('10s');
    expect(await asked).toMatchObject({ code: 'store.unknown', status: 503, retryAfter: 2 });
    nodes.broker.mend('b');
    await nodes.advance('5s');
    expect((await nodes.tally('one'))?.entries).toEqual(['1']);
    expect(b.cluster.owner.owned).toHaveLength(4);
  });

  it('beyond the most that may wait is not sent', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a', { owns: false });
    const asked = Array.from({ length: maxAsks }, () => a.actors.ask(tally, 'one', add('1')).catch((e) => e));
    await expect(a.actors.ask(tally, 'one', add('2'))).rejects.toMatchObject({
      code: 'server.busy',
      status: 503,
    });
    await nodes.advance('10s');
    for (const one of await Promise.all(asked)) expect(one).toMatchObject({ code: 'store.unknown' });
    const sent = Array.from({ length: partitions }, (_, p) => nodes.broker.records(p)).flat();
    expect(sent).toHaveLength(maxAsks);
  });

  it('that makes no sense is buried with the reason, and the partition goes on', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    const bad: [string, string | object][] = [
      ['it is no JSON', '{'],
      ['it is no object', '[]'],
      ['it has no id', { type: 'ask' }],
      ['it does not say who waits for the answer', { id: 'x', type: 'ask', command: {} }],
      ['its cause is no text', { id: 'x', type: 'ask', command: { type: 'add' }, replyTo, cause: 1 }],
      ['it is of no known type: steal', { id: 'x', type: 'steal', replyTo }],
      ['it is of no known type: ask', { id: 'x', type: 'ask', replyTo, command: 'add' }],
      ['it is of no known type: result', { id: 'x', type: 'result', replyTo, job: 'j', child: 'c' }],
    ];
    for (const [, value] of bad) put(nodes, 'one', value);
    nodes.broker.inner.append({
      ...{ partition: (homeOf('one') + 1) % partitions, key: 'tally/one' },
      value: JSON.stringify({ id: 'y', type: 'ask', command: add('stray'), replyTo }),
    });
    nodes.broker.inner.append({
      ...{ partition: homeOf('one'), key: 'widget/one' },
      value: JSON.stringify({ id: 'z', type: 'ask', command: add('1'), replyTo }),
    });
    expect((await a.actors.ask(tally, 'one', add('1'))).context.entries).toEqual(['1']);
    await nodes.settle();
    expect(
      nodes.broker
        .dead()
        .map(({ reason }) => reason)
        .sort(),
    ).toEqual(
      [
        ...bad.map(([reason]) => reason),
        'its actor is of another partition',
        'no enabled plugin has actors of this type',
      ].sort(),
    );
    expect(a.metrics.text()).toContain('millrace_commands_buried_total 10');
  });

  it('that leads to a bug is answered as one and buried', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await expect(a.actors.ask(tally, 'one', { type: 'break' })).rejects.toMatchObject({
      code: 'internal',
      status: 500,
    });
    expect((await a.actors.ask(tally, 'one', add('1'))).context.entries).toEqual(['1']);
    expect(nodes.broker.dead()).toHaveLength(1);
    expect(nodes.broker.dead()[0]?.reason).toContain('a bug');
  });
});
