import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BatchStep } from '../../core/ports/store.ts';
import { partitionOf } from '../../runtime/actors/actor-name.ts';
import { maxTries, verifyInterval } from '../../runtime/cluster/partition.ts';
import { bareBroadcast, broadcastScript, publish, settings } from '../kit/broadcast-actor.ts';
import { type ClusterNode, clusterNodes, type Nodes, partitions } from './nodes.ts';
import { tally } from './tally.ts';

const points = ['before commit', 'after commit', 'before effects'] as const;
type Point = (typeof points)[number];
const began = Date.UTC(2026, 0, 1);

const script = broadcastScript(began);

/** Asks until there is an answer, as a client does. */
async function surely(nodes: Nodes, ask: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 10; tries += 1) {
    const answer = ask().then(
      () => 'ok',
      (error) => String(error.code),
    );
    const outcome = await Promise.race([answer, waited(nodes)]);
    if (outcome === 'ok' || outcome === 'actor.exists' || outcome === 'actor.not_found') return;
    if (outcome === 'late' && (await Promise.race([answer, nodes.advance('10s')])) === 'ok') return;
  }
  throw new Error('no answer after ten times');
}

/** Long enough for an answer, when there is an owner. */
async function waited(nodes: Nodes): Promise<'late'> {
  await nodes.settle();
  return 'late';
}

/** What a run leaves, but for times, which depend on how long the takeover took. */
async function left(nodes: Nodes) {
  const { store } = nodes;
  const row = await store.resources.get('stream', settings.id);
  return {
    events: (await nodes.events()).map(({ id, type }) => ({ id: id.replace(/^m\d+\.\d+/, 'm'), type })),
    published: new Set(nodes.broker.published().map(({ value }) => JSON.parse(value).id)).size,
    stream: row && Object.keys(JSON.parse(row.body)).sort(),
    sessions: (await store.resources.list('stream', { where: { parentId: settings.id }, limit: 10 })).length,
    timers: (await store.timers()).map(({ name }) => name),
    actor: await store.load(`broadcast/${settings.id}`),
    orders: (await store.orders()).length,
  };
}

async function run(killAt?: { step: number; point: Point }) {
  await using nodes = await clusterNodes();
  const commits: (BatchStep & { epoch: number })[] = [];
  nodes.faults.commit = async ({ steps, epoch }, run) => {
    const outcome = await run();
    if (outcome.outcome === 'ok') commits.push(...steps.map((step) => ({ ...step, epoch })));
    return outcome;
  };
  let steps = 0;
  let killed: ClusterNode | undefined;
  const probe = (point: Point, _: string, node: ClusterNode) => {
    if (point === 'before commit') steps += 1;
    if (killed || !killAt || steps !== killAt.step || point !== killAt.point) return;
    killed = node;
    node.kill();
  };
  const asker = await nodes.start('api', { owns: false });
  await nodes.start('a', { probe });
  await nodes.start('b', { probe });
  const { actors } = asker;
  await surely(nodes, () => actors.spawn(bareBroadcast, settings.id, settings, { cause: 'born' }));
  for (const [index, command] of script.entries()) {
    await surely(nodes, () => actors.ask(bareBroadcast, settings.id, command, { cause: `request-${index}` }));
  }
  await nodes.advance('10s');
  return { left: await left(nodes), commits, wasKilled: killed !== undefined, heard: asker.events };
}

const add = (entry: string) => ({ type: 'add' as const, entry });

describe('an owner that dies in a step', async () => {
  const whole = await run();

  it('has a script with something to lose', () => {
    expect(whole.left.events.map(({ type }) => type)).toEqual([
      ...['stream.started', 'session.started', 'stream.idle', 'session.idle'],
      ...['stream.started', 'session.started', 'stream.idle', 'session.idle', 'session.over'],
    ]);
    // Those of the session are for plugins alone.
    expect(whole.left.published).toBe(4);
    expect(whole.left.sessions).toBe(1);
    expect(whole.left.orders).toBe(0);
    expect(whole.commits).toHaveLength(script.length + 1);
  });

  for (let step = 1; step <= script.length + 1; step += 1) {
    it.each(points)(`leaves what is left without it: dead %s in step ${step}`, async (point) => {
      const { left, commits, wasKilled, heard } = await run({ step, point });
      expect(wasKilled).toBe(true);
      expect(left).toEqual(whole.left);
      // No step twice, none by a former owner after a later one, and no event with two contents.
      expect(new Set(commits.map(({ cause }) => cause)).size).toBe(commits.length);
      const epochs = commits.map(({ epoch }) => epoch);
      expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
      expect(heard.map(({ id }) => id)).toEqual([...new Set(heard.map(({ id }) => id))]);
      expect(heard).toHaveLength(whole.left.events.length);
    });
  }
});

describe('a log that is read again', () => {
  it('from an older place leads to the same effects, by id and content, and loses no step', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-replay-'));
    const [file, older] = [join(folder, 'store.db'), join(folder, 'older.db')];
    const commands = script.map((command, index) => ({
      command,
      cause: index % 3 === 0 ? `request-${index}` : undefined,
    }));
    const tell = async (node: ClusterNode, nodes: Nodes, from: number, to: number) => {
      for (const { command, cause } of commands.slice(from, to)) {
        await node.actors.ask(bareBroadcast, settings.id, command, cause === undefined ? {} : { cause });
        await nodes.advance('2s');
      }
    };
    let broker: Nodes['broker'];
    {
      await using nodes = await clusterNodes({ file });
      broker = nodes.broker;
      const a = await nodes.start('a');
      await a.actors.spawn(bareBroadcast, settings.id, settings);
      await tell(a, nodes, 0, 4);
    }
    await copyFile(file, older);
    let first: Awaited<ReturnType<Nodes['events']>>;
    let state: unknown;
    {
      await using nodes = await clusterNodes({ file, broker });
      const b = await nodes.start('b');
      await tell(b, nodes, 4, 8);
      await nodes.advance('10s');
      first = await nodes.events();
      state = await nodes.store.load(`broadcast/${settings.id}`);
      expect(first.length).toBeGreaterThan(2);
    }
    // The store has lost what came last. The log has not.
    {
      await using nodes = await clusterNodes({ file: older, broker });
      expect((await nodes.events()).length).toBeLessThan(first.length);
      await nodes.start('c');
      await nodes.advance('20s');
      expect(await nodes.events()).toEqual(first);
      expect(await nodes.store.load(`broadcast/${settings.id}`)).toEqual(state);
    }
    await rm(folder, { recursive: true });
  });

  it('with what the store acknowledged and forgot, when it was started anew and nobody writes', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    for (const id of ['one', 'two']) await a.actors.spawn(tally, id, undefined);
    await a.actors.ask(tally, 'two', { type: 'wind' });
    await a.actors.ask(tally, 'one', add('1'));
    await nodes.advance('8s');
    nodes.faults.commit = async ({ steps }) => ({
      outcome: 'ok',
      events: steps.flatMap(({ events }) => events.map(() => 1)),
    });
    await nodes.advance('3s');
    await a.actors.ask(tally, 'one', add('2'));
    nodes.faults.commit = (_, run) => run();
    nodes.storeRestarted();
    await nodes.advance('3s');
    expect(await nodes.tally('one')).toMatchObject({ entries: ['1', '2'] });
    expect(await nodes.tally('two')).toMatchObject({ rung: 1 });
    await a.actors.ask(tally, 'one', add('3'));
    expect(await nodes.tally('one')).toMatchObject({ entries: ['1', '2', '3'] });
  });

  it('again and again at places that the store does not know: the command is no worse for it', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    let left = maxTries + 1;
    nodes.faults.commit = async ({ from }, run) =>
      left-- > 0 ? { outcome: 'gap', offset: from - 1 } : run();
    const asked = a.actors.ask(tally, 'one', add('1')).catch((error) => error);
    await nodes.advance('30s');
    await asked;
    expect(await nodes.tally('one')).toMatchObject({ entries: ['1'] });
  });

  it('while its owner is at work, as when the store is rolled back under it', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(bareBroadcast, settings.id, settings);
    // What the store answers then: it is at an older place than the owner knows.
    let isDue = true;
    nodes.faults.commit = async ({ from }, run) => {
      if (!isDue) return run();
      isDue = false;
      return { outcome: 'gap', offset: from - 1 };
    };
    const asked = a.actors.ask(bareBroadcast, settings.id, publish('p1'));
    await nodes.advance('2s');
    expect((await asked).value).toBe('starting');
  });

  it('also when nothing is asked of it any more', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'quiet', undefined);
    await nodes.advance('10s');
    const before = a.cluster.owner.owned.length;
    const { commitAll } = nodes.store;
    const rolledBack = new Set([partitionOf('quiet', partitions)]);
    nodes.store.commitAll = async (batch) =>
      rolledBack.delete(batch.partition) ? { outcome: 'gap', offset: batch.from - 1 } : commitAll(batch);
    await nodes.advance('6s');
    expect(nodes.lines.filter((line) => line.includes('begins again'))).toHaveLength(1);
    expect(rolledBack).toEqual(new Set());
    expect(a.cluster.owner.owned).toHaveLength(before);
    await a.actors.ask(tally, 'quiet', add('x'));
  });
});

describe('an owner that does not know yet that it is one no more', () => {
  it('refuses nobody: the next one may see it otherwise', async () => {
    await using nodes = await clusterNodes();
    const a = await nodes.start('a');
    await a.actors.spawn(tally, 'one', undefined);
    await nodes.store.acquire(partitions, { partitions: [partitionOf('one', partitions)] });
    let answer: unknown;
    const asked = a.actors.ask(tally, 'one', { type: 'unwind' }).catch((error) => {
      answer = error;
    });
    await nodes.advance('1s');
    expect(answer).toBeUndefined();
    expect(nodes.lines.filter((line) => line.includes('another node has taken'))).toHaveLength(1);
    await nodes.advance('8s');
    await asked;
    expect(answer).toMatchObject({ status: 409 });
  });
});

describe('a partition with nothing to do', () => {
  it('hears within seconds that another has taken it, and asks rarely', async () => {
    await using nodes = await clusterNodes();
    await nodes.start('a');
    await nodes.advance('10s');
    let asked = 0;
    const { commitAll } = nodes.store;
    nodes.store.commitAll = (batch) => {
      asked += 1;
      return commitAll(batch);
    };
    await nodes.advance('60s');
    expect(asked).toBe((partitions * 60_000) / verifyInterval);
    expect(nodes.lines.join()).not.toContain('another node has taken');
    await nodes.store.acquire(partitions, { partitions: [0] });
    await nodes.advance('6s');
    expect(nodes.lines.filter((line) => line.includes('another node has taken'))).toHaveLength(1);
  });
});
