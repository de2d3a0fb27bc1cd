import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import { laneLimits } from '../../../machines/task-lane.ts';
import accounts from '../../../plugins/accounts/index.ts';
import tasks from '../../../plugins/tasks/index.ts';
import { taskMaker } from '../../kit/task-maker.ts';
import { world } from '../../kit/world.ts';
import { office } from './kit.ts';

describe('turns', () => {
  it('are taken oldest first, as many at a time as an account may have of a type', async () => {
    const config = { tasks: { runningPerAccount: 2, running: 10 } };
    const { w, maker, spawn, ...one } = await office({ config });
    await using _ = w;
    const ids = Array.from({ length: 7 }, (_, index) => `t${index}`);
    for (const id of ids) {
      await spawn(id);
      await w.advance('1s');
    }
    await spawn('other', { type: 'export' });
    const begun = () => maker.works.map(({ id }) => id);
    expect(begun()).toEqual(['t0', 't1', 'other']);
    expect(await one.phase('t2')).toBe('pending');
    const order = [];
    for (const id of ['t1', 't0', 't2', 't3', 't4']) {
      maker.last(id).finish({ outcome: 'done', output: {} });
      await w.settle();
      order.push(maker.last().id);
    }
    expect(order).toEqual(['t2', 't3', 't4', 't5', 't6']);
  });

  it('go on however many tasks wait', async () => {
    const count = laneLimits.waiting * 2 + 30;
    const { w, maker, spawn } = await office({ config: { tasks: { runningPerAccount: 3 } } });
    await using _ = w;
    for (let n = 0; n < count; n += 1) {
      await spawn(`t${n}`);
      if (n % 50 === 0) await w.advance('10ms');
    }
    let done = 0;
    while (done < count) {
      const works = maker.works.slice(done);
      expect(works.length).toBe(Math.min(3, count - done));
      for (const work of works) work.finish({ outcome: 'done', output: {} });
      done += works.length;
      await w.settle();
    }
    expect(new Set(maker.works.map(({ id }) => id)).size).toBe(count);
    expect(maker.works.length).toBe(count);
    await w.advance('5m');
    expect(await w.store.jobs.totals()).toEqual([]);
  }, 120_000);

  it('of one account keep another waiting for as many tasks as it may have at a time, and no longer', async () => {
    const config = { tasks: { runningPerAccount: 2, running: 2 } };
    const maker = taskMaker();
    const w = await world({ plugins: [accounts, tasks, maker.plugin] as unknown as Plugin[], config });
    await using _ = w;
    const spawn = async (id: string, account: string) => {
      const settings = { id, account, type: 'import' as const, name: id, deadline: Number.MAX_SAFE_INTEGER };
      await maker.tasks.spawn({ ...settings, lateMessage: 'Late.' });
      await w.settle();
    };
    for (let n = 0; n < 20; n += 1) await spawn(`a${n}`, 'anna');
    await spawn('b0', 'ben');
    expect(maker.works.map(({ id }) => id)).toEqual(['a0', 'a1']);
    maker.last('a0').finish({ outcome: 'done', output: {} });
    await w.settle();
    expect(maker.works.map(({ id }) => id)).toEqual(['a0', 'a1', 'b0']);
  });
});

describe('places', () => {
  it('are not all held by one account, whatever types its tasks have, and cost no attempt to wait for', async () => {
    const maker = taskMaker({ types: ['import', 'export', 'transcode'] });
    const w = await world({ plugins: [accounts, tasks, maker.plugin] as unknown as Plugin[] });
    await using _ = w;
    const spawn = async (id: string, account: string, type: 'import' | 'export' | 'transcode' = 'import') => {
      await maker.tasks.spawn({
        ...{ id, account, type, name: id, deadline: Number.MAX_SAFE_INTEGER, lateMessage: 'Late.' },
      });
      await w.settle();
    };
    const begun = () => maker.works.map(({ id }) => id);
    for (const type of ['import', 'export', 'transcode'] as const)
      for (let n = 0; n < 4; n += 1) await spawn(`anna-${type}-${n}`, 'anna', type);
    expect(begun()).toHaveLength(6);
    await spawn('ben', 'ben');
    await spawn('carl', 'carl');
    await spawn('dora', 'dora');
    await w.advance('1h');
    expect(begun().slice(6).sort()).toEqual(['ben', 'carl']);
    const ended = new Set<string>();
    for (let rounds = 0; ended.size < 15 && rounds < 100; rounds += 1) {
      for (const work of maker.works.filter(({ id }) => !ended.has(id))) {
        ended.add(work.id);
        work.finish({ outcome: 'done', output: {} });
      }
      await w.settle();
      await w.advance('5s');
    }
    expect(ended.size).toBe(15);
    expect(new Set(maker.works.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });
});

describe('a process that ends', () => {
  it('in the midst of a task hands it back: it waits, and another goes on', async () => {
    const { w, maker, spawn, shown } = await office({ durable: true });
    await using _ = w;
    await spawn('t1');
    await w.crash({ downFor: '1s' });
    await w.advance('1s');
    // At once, for it is the same node: nobody waits for the lease of its former process.
    expect((await shown('t1')).status.phase).toBe('running');
    expect(maker.works.map(({ id, attempt }) => [id, attempt])).toEqual([
      ['t1', 1],
      ['t1', 2],
    ]);
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
    expect((await shown('t1')).status.phase).toBe('completed');
  });

  it('as it should tells its tasks to stop, and does not count the try', async () => {
    const { w, maker, spawn, shown } = await office({ durable: true });
    await using _ = w;
    await spawn('t1');
    await w.stop();
    expect(maker.last().signal.aborted).toBe(true);
    await w.crash({ downFor: '1m' });
    await w.advance('1s');
    expect(maker.works.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect((await shown('t1')).status.phase).toBe('running');
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
  });

  it('leaves those that waited for their turn in their order', async () => {
    const { w, maker, spawn } = await office({ durable: true, config: { tasks: { runningPerAccount: 1 } } });
    await using _ = w;
    for (const id of ['t1', 't2', 't3']) {
      await spawn(id);
      await w.advance('1s');
    }
    await w.crash({ downFor: '1m' });
    await w.advance('1s');
    for (const id of ['t1', 't2', 't3']) {
      expect(maker.last().id).toBe(id);
      maker.last().finish({ outcome: 'done', output: {} });
      await w.settle();
    }
  });
});
