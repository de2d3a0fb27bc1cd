import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../runtime/actors/actor-name.ts';
import { Deadlines } from '../../runtime/cluster/deadlines.ts';
import { clusterNodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

const add = (entry: string) => ({ type: 'add' as const, entry });

describe('timers', () => {
  it('fire at their time, dated with it', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    const began = nodes.clock.now();
    await a.actors.ask(tally, 'one', { type: 'wind' });
    await nodes.advance('9s');
    expect(await nodes.events()).toEqual([]);
    await nodes.advance('2s');
    const [rang] = await nodes.events();
    expect(JSON.parse(rang?.body ?? '')).toMatchObject({ createdAt: began + 10_000 });
    expect((await nodes.tally('one'))?.rung).toBe(1);
  });

  it('do not run ahead of the log: what was written before they were due comes first, however late it is read', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = partitionOf('one', partitions);
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'wind' });
    await nodes.advance('1s');
    // The node sleeps. What stops the timer is on the log in time, and nobody reads it.
    nodes.broker.cut('a', { sleeps: true });
    await nodes.advance('4s');
    nodes.broker.inner.append({
      ...{ partition, key: 'tally/one' },
      value: JSON.stringify({
        id: 'x',
        type: 'ask',
        command: { type: 'unwind' },
        replyTo: { node: 'z', incarnation: 'z' },
      }),
    });
    await nodes.advance('60s');
    expect((await a.actors.read(tally, 'one'))?.value).toBe('wound');
    nodes.broker.mend('a');
    await nodes.advance('5s');
    expect((await a.actors.read(tally, 'one'))?.value).toBe('calm');
    expect((await nodes.tally('one'))?.rung).toBe(0);
    expect(await nodes.events()).toEqual([]);
  });

  it('that were due before a record come before it, also when both are read late', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = partitionOf('one', partitions);
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'wind' });
    a.kill();
    await nodes.advance('12s');
    nodes.broker.inner.append({
      ...{ partition, key: 'tally/one' },
      value: JSON.stringify({
        id: 'x',
        type: 'ask',
        command: { type: 'add', entry: '1' },
        replyTo: { node: 'z', incarnation: 'z' },
      }),
    });
    await nodes.advance('60s');
    await nodes.start('b');
    await nodes.advance('1s');
    const events = (await nodes.events()).map(({ type, body }) => [type, JSON.parse(body).createdAt]);
    const began = Date.UTC(2026, 0, 1);
    expect(events).toEqual([
      ['tally.rang', began + 10_000],
      ['tally.added', began + 12_000],
    ]);
  });

  it('wait while the bus is frozen, and fire when it answers again', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'wind' });
    nodes.broker.cut('a', { sleeps: true });
    await nodes.advance('20s');
    expect(await nodes.events()).toEqual([]);
    nodes.broker.mend('a');
    await nodes.advance('2s');
    expect((await nodes.events()).map(({ type }) => type)).toEqual(['tally.rang']);
  });

  it('are those of the latest state, stored or not', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'wind' });
    await nodes.advance('9s');
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    nodes.faults.commit = async (_, run) => {
      await gate;
      return run();
    };
    const asked = [
      a.actors.ask(tally, 'one', { type: 'unwind' }),
      a.actors.ask(tally, 'one', { type: 'wind' }),
    ];
    await nodes.advance('2s');
    release();
    await nodes.settle();
    await Promise.all(asked);
    expect((await a.actors.read(tally, 'one'))?.value).toBe('wound');
    await nodes.advance('10s');
    expect((await nodes.tally('one'))?.rung).toBe(1);
  });

  it('may lead to further ones, each counted from the one before', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const began = nodes.clock.now();
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', { type: 'chime' });
    await nodes.advance('21s');
    expect((await nodes.events()).map(({ body }) => JSON.parse(body).createdAt - began)).toEqual([
      10_000, 20_000,
    ]);
  });

  it('that a bug keeps from running shut out neither commands nor other timers', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.spawn(tally, 'two', undefined);
    await a.actors.ask(tally, 'one', { type: 'curse' });
    await a.actors.ask(tally, 'two', { type: 'wind' });
    await nodes.advance('15s');
    expect((await nodes.tally('two'))?.rung).toBe(1);
    expect((await a.actors.ask(tally, 'one', add('1'))).context.entries).toEqual(['1']);
    expect((await a.actors.ask(tally, 'one', { type: 'unwind' })).value).toBe('calm');
    expect(nodes.broker.dead()).toEqual([]);
    expect(nodes.lines.join()).toContain('a timer could not be run');
    expect(a.metrics.text()).toContain('millrace_partition_restarts_total 0');
  });

  it('of many actors at one moment all fire', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a', { hotActors: 10 });
    const ids = Array.from({ length: 500 }, (_, n) => `t${n}`);
    await Promise.all(ids.map((id) => a.actors.spawn(tally, id, undefined)));
    await Promise.all(ids.map((id) => a.actors.ask(tally, id, { type: 'wind' })));
    a.kill();
    await nodes.start('b', { hotActors: 10 });
    await nodes.advance('30s');
    expect(await nodes.events()).toHaveLength(500);
  });
});

describe('deadlines', () => {
  it('ring when they are due, earliest first, and not when they were moved or removed', () => {
    const deadlines = new Deadlines();
    const dues = Array.from({ length: 500 }, (_, n) => (n * 7919) % 1000);
    for (const [n, due] of dues.entries()) deadlines.set({ actor: `a/${n}`, name: 't', due });
    for (const n of dues.keys()) {
      if (n % 3 === 1) deadlines.set({ actor: `a/${n}`, name: 't', due: null });
      if (n % 3 === 2) deadlines.set({ actor: `a/${n}`, name: 't', due: 5000 });
    }
    const kept = dues.flatMap((due, n) => (n % 3 === 0 ? due : [])).sort((a, b) => a - b);
    const rung: number[] = [];
    for (const until of [499, 100, 2000]) {
      for (let some = deadlines.take(until, 7); some.length > 0; some = deadlines.take(until, 7)) {
        for (const actor of some) {
          const due = deadlines.due(actor, until);
          rung.push(due?.due ?? -1);
          deadlines.done(due!);
        }
      }
      expect(rung).toEqual(kept.filter((due) => due <= Math.max(499, until)));
    }
    expect(deadlines.size).toBe(dues.filter((_, n) => n % 3 === 2).length);
  });

  it('that are set again and again far ahead take no more memory for it', () => {
    const deadlines = new Deadlines();
    for (let due = 0; due < 100_000; due += 1) deadlines.set({ actor: 'a/1', name: 't', due: 1e6 + due });
    expect(deadlines.take(1e6 + 99_998, 9)).toEqual([]);
    expect(deadlines.take(1e6 + 99_999, 9)).toEqual(['a/1']);
  });
});
