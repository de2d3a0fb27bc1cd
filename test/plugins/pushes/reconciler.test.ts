import { expect, it } from 'vitest';
import type { LiveReading } from '../../../core/ports/media.ts';
import { noFigures, noVitals } from '../../../core/ports/media.ts';
import type { MultistreamKit } from '../../../plugins/multistream/config.ts';
import { maxReading, TargetReconciler } from '../../../plugins/multistream/reconciler.ts';
import { useOf } from '../../kit/use.ts';
import { grant } from '../../media/kit.ts';

/** A node with `count` playlists whose streams are read when the test says so. */
function node(count: number) {
  const reads: { id: string; answer: (targets: readonly string[] | Error) => void }[] = [];
  const wants: { playbackId: string; ids: string[] }[] = [];
  const lines: string[] = [];
  const current = (id: string) =>
    new Promise((resolve, reject) => {
      const answer = (given: readonly string[] | Error) => {
        if (given instanceof Error) reject(given);
        const targets = given instanceof Error ? [] : given.map((one) => ({ id: one, profile: 'source' }));
        const fields = { multistream: { targets } };
        const keeper = { isActive: true, sessionId: `session-${id}`, incarnation: 'i' };
        resolve({ account: 'a', streamKey: 'k', ...keeper, fields });
      };
      reads.push({ id, answer });
    });
  const pusher = {
    want: (playbackId: string, orders: readonly { id: string }[]) =>
      wants.push({ playbackId, ids: orders.map(({ id }) => id) }),
    readings: () => [],
  };
  const kit = {
    use: useOf(
      { pusher, secrets: { open: (text: string) => text }, transcoder: { readings: () => [] } },
      () => ({ current }),
    ),
    resources: {
      get: async (_: string, id: string) => ({
        account: 'a',
        body: JSON.stringify({ id, url: 'u', name: id }),
      }),
    },
    deployment: { node: { id: 'n', incarnation: 'i' } },
    log: { warn: (line: string) => lines.push(line) },
  };
  const compare = new TargetReconciler(kit as unknown as MultistreamKit, { wants: () => {} } as never);
  const readings = Array.from(
    { length: count },
    (_, index): LiveReading => ({
      grant: {
        ...grant({ token: `t${index}` }),
        ...{ streamId: `s${index}`, sessionId: `session-s${index}`, playbackId: `p${index}` },
      },
      ...{ isPublishing: true, isDelayed: false, figures: noFigures, vitals: noVitals, viewers: 0 },
    }),
  );
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    ...{ reads, wants, lines, compare, settle },
    async round(of: readonly LiveReading[] = readings) {
      for (const reading of of) compare.look(reading);
      compare.seen();
      await settle();
    },
    async answer(targets: readonly string[] | Error) {
      const read = reads.shift();
      read?.answer(targets);
      await settle();
      await settle();
      return read?.id;
    },
  };
}

it('few streams are read at one time, all of them in turn, and rounds do not pile up', async () => {
  const n = node(100);
  for (let round = 0; round < 20; round += 1) await n.round();
  expect(n.reads).toHaveLength(maxReading);
  const read = new Set<string>();
  for (let done = 0; done < 100; done += 1) read.add((await n.answer(['t'])) as string);
  expect(read.size).toBe(100);
  expect(n.wants).toHaveLength(100);
  // Those of the 20 rounds that were asked for meanwhile are one each at most.
  let more = 0;
  while (n.reads.length > 0) {
    await n.answer(['t']);
    more += 1;
  }
  expect(more).toBeLessThanOrEqual(maxReading);
});

it('what cannot be read stays as it is, and is told once for each outage', async () => {
  const n = node(1);
  await n.round();
  await n.answer(['t']);
  for (let round = 0; round < 5; round += 1) {
    await n.round();
    await n.answer(new Error('no'));
  }
  expect(n.wants).toEqual([{ playbackId: 'p0', ids: ['t/source'] }]);
  expect(n.lines).toHaveLength(1);
  await n.round();
  await n.answer([]);
  expect(n.wants.at(-1)).toEqual({ playbackId: 'p0', ids: [] });
});

it('what was read for a playlist that has gone meanwhile, or is that of another session, is wanted of nobody', async () => {
  const n = node(1);
  await n.round();
  await n.round([]);
  await n.answer(['t']);
  expect(n.wants).toEqual([]);
  n.compare.stop();
  await n.round();
  await n.answer(['t']);
  expect(n.wants).toEqual([]);
});
