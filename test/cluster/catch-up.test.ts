import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../runtime/actors/actor-name.ts';
import { CatchUp } from '../../runtime/cluster/catch-up.ts';
import { silentLog } from '../kit/silent-log.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { clusterNodes, type Nodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

const behind = { name: 'Fault', code: 'store.behind', status: 503, retryAfter: 1 };

/** A node that owns nothing, and what it answers for an actor's state, as for a row. */
async function reader(nodes: Nodes) {
  const { cluster } = await nodes.start('reader', { owns: false });
  return (id: string) =>
    cluster.catchUp
      .certain(() => nodes.store.load(`tally/${id}`), partitionOf(id, partitions))
      .then(
        (found) => (found ? 'found' : 'none'),
        (error) => error,
      );
}

/** Acknowledged, and forgotten by the store. */
async function lost(nodes: Nodes, work: () => Promise<unknown>): Promise<void> {
  nodes.faults.commit = async ({ steps }) => ({
    outcome: 'ok',
    events: steps.flatMap(({ events }) => events.map(() => 1)),
  });
  await work();
  nodes.faults.commit = (_, run) => run();
}

describe('what a store that was started anew does not have', () => {
  it('is not known until the owner of its partition has read the log again; then it is there, or not', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    const read = await reader(nodes);
    await a.actors.spawn(tally, 'early', undefined);
    await lost(nodes, () => a.actors.spawn(tally, 'late', undefined));
    expect(await read('late')).toBe('none');
    nodes.storeRestarted();
    expect(await read('early')).toBe('found');
    for (const id of ['late', 'never']) expect(await read(id)).toMatchObject(behind);
    await nodes.advance('5s');
    expect([await read('early'), await read('late'), await read('never')]).toEqual([
      'found',
      'found',
      'none',
    ]);
  });

  it('is not known for as long as its partition has no owner; others do not wait for it', async () => {
    await using nodes = await clusterNodes();
    const read = await reader(nodes);
    nodes.storeRestarted();
    await nodes.advance('60s');
    expect(await read('never')).toMatchObject(behind);
    const load = nodes.store.acquire.bind(nodes.store);
    const stuck = partitionOf('never', partitions);
    let isStuck = true;
    nodes.store.acquire = (count, options) =>
      isStuck && options?.partitions?.includes(stuck)
        ? Promise.reject(new Error('no'))
        : load(count, options);
    await nodes.start('a');
    await nodes.advance('20s');
    const other = Array.from({ length: 20 }, (_, n) => `n${n}`).find(
      (id) => partitionOf(id, partitions) !== stuck,
    ) as string;
    expect(await read('never')).toMatchObject(behind);
    expect(await read(other)).toBe('none');
    isStuck = false;
    await nodes.advance('20s');
    expect(await read('never')).toBe('none');
  });

  it('is known of a row with the id of its actor once that partition is', async () => {
    await using nodes = await clusterNodes();
    const types = [{ ...tally, type: 'coin', kinds: { coin: 'own' as const, mint: 'any' as const } }];
    const { cluster } = await nodes.start('reader', { owns: false, types });
    const acquire = nodes.store.acquire.bind(nodes.store);
    const stuck = partitionOf('never', partitions);
    nodes.store.acquire = (count, options) =>
      options?.partitions?.includes(stuck) ? Promise.reject(new Error('no')) : acquire(count, options);
    nodes.storeRestarted();
    await nodes.start('a', { types });
    await nodes.advance('20s');
    const other = Array.from({ length: 20 }, (_, n) => `n${n}`).find(
      (id) => partitionOf(id, partitions) !== stuck,
    ) as string;
    const read = (row: { kind: string; id?: string }) =>
      cluster.certain(row, async () => undefined).catch((error) => error);
    expect(await read({ kind: 'coin', id: other })).toBeUndefined();
    expect(await read({ kind: 'plain', id: 'never' })).toBeUndefined();
    // By another value than its id, or with another id than its actor's, a row may be of any partition.
    for (const row of [{ kind: 'coin', id: 'never' }, { kind: 'coin' }, { kind: 'mint', id: other }]) {
      expect(await read(row)).toMatchObject(behind);
    }
  });

  it('is not known when that changed while it was read', async () => {
    await using nodes = await clusterNodes();
    const { cluster } = await nodes.start('a');
    const slow = (during: () => Promise<unknown>) =>
      cluster.catchUp.certain(async () => void (await during())).catch((error) => error);
    // Began while it was read, ended while it was read, and both.
    expect(await slow(async () => nodes.storeRestarted())).toMatchObject(behind);
    expect(await slow(() => nodes.advance('5s'))).toMatchObject(behind);
    expect(await slow(() => nodes.advance('5s'))).toBeUndefined();
    const both = slow(async () => {
      nodes.storeRestarted();
      await nodes.advance('5s');
    });
    expect(await both).toMatchObject(behind);
    expect(cluster.catchUp.size).toBe(0);
  });

  it('a mark for an earlier start says nothing of a later one', async () => {
    const marks: (() => void)[] = [];
    const catchUp = new CatchUp({
      ...{ partitions: 1, clock: virtualClock({ start: 0 }), log: silentLog },
      mark: () => new Promise((resolve) => marks.push(resolve)),
    });
    const read = () => catchUp.certain(async () => undefined).catch((error) => error);
    catchUp.begin();
    catchUp.begin();
    marks[0]?.();
    expect(await read()).toMatchObject(behind);
    marks[1]?.();
    await Promise.resolve();
    expect(await read()).toBeUndefined();
    catchUp.stop();
  });
});
