import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import type { BatchOutcome, StepBatch } from '../../core/ports/store.ts';
import { partitionOf } from '../../runtime/actors/actor-name.ts';
import { clusterNodes, type Nodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

const homeOf = (id: string) => partitionOf(id, partitions);
const add = (entry: string) => ({ type: 'add' as const, entry });
const numbers = (count: number) => Array.from({ length: count }, (_, n) => String(n));
const silence = () => new Fault('store.unknown', { status: 503, message: 'no answer' });

/** Of one partition. */
function neighbours(count: number): string[] {
  return numbers(1000)
    .map((n) => `n${n}`)
    .filter((id) => homeOf(id) === 0)
    .slice(0, count);
}

function has({ steps }: StepBatch, id: string): boolean {
  return steps.some(({ actor }) => actor === `tally/${id}`);
}

async function offsetOf(nodes: Nodes, partition: number): Promise<number> {
  // Taking it over tells; whoever has it is fenced, so this is the last that a test does.
  const [lease] = await nodes.store.acquire(partitions, { partitions: [partition] });
  return lease?.offset ?? Number.NaN;
}

describe('the steps of a partition', () => {
  it('that wait are committed together, and answered in order when that is done', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const [one = '', two = ''] = neighbours(2);
    await a.actors.spawn(tally, one, undefined);
    await a.actors.spawn(tally, two, undefined);
    const held: (() => void)[] = [];
    const sizes: number[] = [];
    nodes.faults.commit = async ({ steps }, run) => {
      sizes.push(steps.length);
      const outcome = await run();
      await new Promise<void>((resolve) => held.push(resolve));
      return outcome;
    };
    const answered: string[] = [];
    const asks = numbers(10).map((n) =>
      a.actors.ask(tally, Number(n) % 2 ? one : two, add(n)).then(() => answered.push(n)),
    );
    const refused = a.actors.ask(tally, one, { type: 'unwind' }).catch(() => answered.push('refused'));
    await nodes.settle();
    expect(answered).toEqual([]);
    expect(a.events).toEqual([]);
    while (held.length > 0) {
      held.shift()?.();
      await nodes.settle();
    }
    await Promise.all([...asks, refused]);
    expect(answered).toEqual([...numbers(10), 'refused']);
    expect(a.events).toHaveLength(10);
    // What came while the first was under way went with the second.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(10);
    expect(sizes.length).toBeLessThanOrEqual(2);
  });

  it.each(['lost', 'done, but not answered', 'lost here and done there'])(
    'are written again when the store falls silent in the middle of them: %s',
    async (how) => {
      await using nodes = await clusterNodes();
      const a = await nodes.start('a');
      const own = neighbours(3);
      for (const id of own) await a.actors.spawn(tally, id, undefined);
      let count = 0;
      let isDown = true;
      nodes.faults.commit = async (_, run) => {
        count += 1;
        if (!isDown) return run();
        const isDone =
          how === 'done, but not answered' || (how === 'lost here and done there' && count % 2 === 0);
        if (isDone) await run();
        throw silence();
      };
      const asks = numbers(12).map((n) => a.actors.ask(tally, own[Number(n) % 3]!, add(n)));
      let answered = 0;
      for (const ask of asks) void ask.then(() => (answered += 1));
      await nodes.advance('3s');
      expect(answered).toBe(0);
      isDown = false;
      await nodes.advance('3s');
      await Promise.all(asks);
      for (const [index, id] of own.entries()) {
        expect((await nodes.tally(id))?.entries).toEqual(numbers(12).filter((n) => Number(n) % 3 === index));
      }
      expect((await nodes.events()).map(({ id }) => id)).toHaveLength(12);
      await nodes.settle();
      // Whoever subscribes hears of each once, also of those whose place nobody was told.
      expect(a.events.map(({ position }) => position)).toEqual(numbers(12).map((n) => Number(n) + 1));
      expect(new Set(nodes.broker.published().map(({ value }) => value)).size).toBe(12);
      expect(a.metrics.text()).toContain('millrace_partition_restarts_total 0');
    },
  );

  it('go on by themselves when the store was down for a minute, and nothing that was acknowledged is lost', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    let isDown = false;
    nodes.faults.commit = (_, run) => (isDown ? Promise.reject(silence()) : run());
    nodes.faults.load = () => (isDown ? Promise.reject(silence()) : Promise.resolve());
    const outcomes: string[] = [];
    for (let second = 0; second < 90; second += 1) {
      isDown = second >= 10 && second < 70;
      a.actors.ask(tally, second % 2 ? 'one' : 'none', add(`${second}`)).then(
        () => outcomes.push(`${second} ok`),
        (error) => outcomes.push(`${second} ${error.code}`),
      );
      await nodes.advance('1s');
    }
    await nodes.advance('15s');
    const entries = (await nodes.tally('one'))?.entries ?? [];
    for (const ok of outcomes.filter((one) => one.endsWith('ok')))
      expect(entries).toContain(ok.split(' ')[0]);
    expect(outcomes.filter((one) => one.endsWith('store.unknown')).length).toBeGreaterThan(40);
    expect(outcomes).toContain('89 ok');
    expect(entries).toEqual(numbers(90).filter((n) => Number(n) % 2 === 1));
  });

  it.each<[string, BatchOutcome, number]>([
    ['a gap', { outcome: 'gap', offset: -1 }, 1],
    ['a repeat', { outcome: 'duplicate' }, 1],
    ['a conflict', { outcome: 'refused', step: 0, why: 'conflict' }, 0],
    ['a cause that was consumed', { outcome: 'refused', step: 0, why: 'duplicate' }, 0],
  ])('go on from what is stored when the store answers with %s', async (_, outcome, restarts) => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const [one = '', two = ''] = neighbours(2);
    await a.actors.spawn(tally, one, undefined);
    await a.actors.spawn(tally, two, undefined);
    let isDue = true;
    nodes.faults.commit = async (batch, run) => {
      if (!has(batch, one) || !isDue) return run();
      isDue = false;
      return outcome;
    };
    const asks = numbers(6).map((n) => a.actors.ask(tally, Number(n) % 2 ? one : two, add(n)));
    await nodes.advance('2s');
    await Promise.all(asks);
    expect((await nodes.tally(one))?.entries).toEqual(['1', '3', '5']);
    expect((await nodes.tally(two))?.entries).toEqual(['0', '2', '4']);
    expect(a.metrics.text()).toContain(`millrace_partition_restarts_total ${restarts}`);
  });

  it('are given up when they break the partition again and again: it goes on without', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const [one = '', two = ''] = neighbours(2);
    await a.actors.spawn(tally, one, undefined);
    await a.actors.spawn(tally, two, undefined);
    nodes.faults.commit = async (batch, run) => {
      const step = batch.steps.findIndex(({ actor }) => actor === `tally/${one}`);
      return step < 0 ? run() : { outcome: 'refused', step, why: 'conflict' };
    };
    const bad = a.actors.ask(tally, one, add('1')).catch((error) => error);
    const good = a.actors.ask(tally, two, add('1'));
    await nodes.advance('10s');
    expect(await bad).toMatchObject({ code: 'internal', status: 500 });
    expect((await good).context.entries).toEqual(['1']);
    expect(nodes.broker.dead()).toHaveLength(1);
  });

  it('that the store throws at for another reason than an outage are given up too', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const [one = '', two = ''] = neighbours(2);
    await a.actors.spawn(tally, one, undefined);
    await a.actors.spawn(tally, two, undefined);
    nodes.faults.commit = async (batch, run) => {
      if (has(batch, one)) throw new TypeError('a mistake in a driver');
      return run();
    };
    const bad = a.actors.ask(tally, one, add('1')).catch((error) => error);
    const good = a.actors.ask(tally, two, add('1'));
    await nodes.advance('9s');
    expect(await bad).toMatchObject({ code: 'internal' });
    expect((await good).context.entries).toEqual(['1']);
  });

  it('that the store throws at are given up also when a timer is due before them', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const api = await nodes.start('api', { owns: false });
    const [one = '', two = ''] = neighbours(2);
    await api.actors.spawn(tally, one, undefined);
    await api.actors.spawn(tally, two, undefined);
    await api.actors.ask(tally, two, { type: 'wind' });
    await a.stop();
    const bad = api.actors.ask(tally, one, add('1')).catch((error) => error);
    await nodes.settle();
    nodes.faults.commit = async (batch, run) => {
      if (has(batch, one)) throw new RangeError('too many rows in one commit');
      return run();
    };
    // The timer of the other actor falls due while nobody owns the partition.
    await nodes.advance('15s');
    await nodes.start('b');
    await nodes.advance('10s');
    expect((await bad).code).toMatch(/^(internal|store.unknown)$/);
    const good = api.actors.ask(tally, two, add('2'));
    await nodes.advance('5s');
    expect((await good).context.entries.at(-1)).toBe('2');
    expect(nodes.broker.dead()).toHaveLength(1);
  });

  it('that are results of jobs which others have by now hold up nobody', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const [bystander = '', ...workers] = neighbours(31);
    await a.actors.spawn(tally, bystander, undefined);
    for (const id of workers) {
      await a.actors.spawn(tally, id, undefined);
      await a.actors.ask(tally, id, { type: 'work' });
    }
    const [owner, other] = ['a/a.1', 'b/b.1'] as const;
    const now = nodes.clock.now();
    const jobs = await nodes.jobs.claim('tally.work', { owner, limit: 100, now, until: now + 60_000 });
    expect(jobs).toHaveLength(workers.length);
    await nodes.jobs.free([owner], now);
    await nodes.jobs.claim('tally.work', { owner: other, limit: 100, now, until: now + 600_000 });
    const told = jobs.map((job) => a.cluster.actors.conclude(job, { owner, result: { output: 'late' } }));
    const good = a.actors.ask(tally, bystander, add('1'));
    await nodes.advance('1s');
    expect((await good).context.entries).toEqual(['1']);
    expect(new Set(await Promise.all(told))).toEqual(new Set(['lost']));
  });

  it('stop, unheard, where another owner has the partition, and go on when the bus still gives it to this one', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await nodes.store.acquire(partitions);
    const asked = a.actors.ask(tally, 'one', add('1'));
    await nodes.advance('4s');
    expect(a.events).toEqual([]);
    await nodes.advance('2s');
    expect((await asked).context.entries).toEqual(['1']);
  });

  it('store the place of what changed nothing, when nothing else does for a while', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = homeOf('none');
    for (const n of numbers(3)) await a.actors.ask(tally, 'none', add(n)).catch(() => {});
    await nodes.advance('2s');
    expect(await offsetOf(nodes, partition)).toBe(2);
  });

  it('store the place of what changed nothing when the node stops', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    for (const n of numbers(3)) await a.actors.ask(tally, 'none', add(n)).catch(() => {});
    await a.stop();
    expect(await offsetOf(nodes, homeOf('none'))).toBe(2);
  });

  it('keep in memory what is not stored, however little memory there is', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a', { hotActors: 1 });
    const own = neighbours(8);
    for (const id of own) await a.actors.spawn(tally, id, undefined);
    const asks = numbers(40).map((n) => a.actors.ask(tally, own[Number(n) % own.length]!, add(n)));
    await nodes.settle();
    await Promise.all(asks);
    for (const [index, id] of own.entries()) {
      expect((await nodes.tally(id))?.entries).toEqual(
        numbers(40).filter((n) => Number(n) % own.length === index),
      );
    }
    expect(a.metrics.text()).toContain('millrace_partition_restarts_total 0');
    expect(a.cluster.owner.sum('actors')).toBeLessThanOrEqual(partitions);
  });
});

describe('a partition', () => {
  it('whose place is not on the log is not consumed, loudly, until the log fits', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = homeOf('one');
    await a.actors.spawn(tally, 'one', undefined);
    await a.actors.ask(tally, 'one', add('1'));
    await a.stop();
    const late = { id: 'x', type: 'ask', command: add('2'), replyTo: { node: 'a', incarnation: 'a.1' } };
    const put = () => nodes.broker.inner.append({ partition, key: 'tally/one', value: JSON.stringify(late) });
    for (let n = 0; n < 3; n += 1) put();
    nodes.broker.trim(partition, 4);
    const b = await nodes.start('b');
    await nodes.advance('5s');
    expect(b.cluster.owner.owned).not.toContain(partition);
    expect(b.cluster.owner.refused.get(partition)).toMatch(/consumed up to offset 1, but its log has 4 to 4/);
    expect(nodes.lines.join('\n')).toContain('a part of it is missing');
    expect(b.metrics.text()).toContain('millrace_partitions_refused 1');
    expect(b.cluster.owner.owned).toHaveLength(partitions - 1);
    expect((await nodes.tally('one'))?.entries).toEqual(['1']);
  });

  it('of a log that was made anew is refused', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await a.stop();
    nodes.broker.recreate();
    await expect(nodes.start('b')).rejects.toMatchObject({ code: 'store.log' });
  });

  it('whose own end lies behind the place is refused too', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const partition = homeOf('one');
    await a.actors.spawn(tally, 'one', undefined);
    await a.stop();
    const [lease] = await nodes.store.acquire(partitions, { partitions: [partition] });
    const place = { partition, epoch: lease?.epoch ?? 0, from: 0, to: 9, steps: [] };
    expect(await nodes.store.commitAll(place)).toMatchObject({ outcome: 'ok' });
    const b = await nodes.start('b');
    expect(b.cluster.owner.refused.get(partition)).toMatch(/consumed up to offset 9, but its log has 0 to 0/);
  });

  it('that stops finishes what it has taken, and leaves the rest to the next', async () => {
    await using nodes = await clusterNodes();
    const [a, b] = [await nodes.start('a'), await nodes.start('b', { owns: false })];
    await b.actors.spawn(tally, 'one', undefined);
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const batches: StepBatch[] = [];
    nodes.faults.commit = async (batch, run) => {
      batches.push(batch);
      await gate;
      return run();
    };
    const early = b.actors.ask(tally, 'one', add('1'));
    await nodes.settle();
    const stopped = a.cluster.stop().then(() => a.bus.close());
    await nodes.settle();
    const later = b.actors.ask(tally, 'one', add('2'));
    await nodes.settle();
    expect(batches).toHaveLength(1);
    release();
    await nodes.advance('1s');
    await stopped;
    expect((await early).context.entries).toEqual(['1']);
    await nodes.start('c');
    expect((await later).context.entries).toEqual(['1', '2']);
    expect(batches.map(({ epoch }) => epoch)).toEqual([1, 2]);
  });
});
