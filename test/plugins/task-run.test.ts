import { expect, it } from 'vitest';
import type { TaskWork } from '../../plugins/tasks/contract.ts';
import { countPlaces } from '../../plugins/tasks/places.ts';
import { runEffect } from '../../plugins/tasks/run.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

it('says nothing of its progress behind the end of a try', async () => {
  const clock = virtualClock({ start: 0, idle: async () => {} });
  const asked: string[] = [];
  const told = Promise.withResolvers<void>();
  const isTold = Promise.withResolvers<void>();
  const run = async (work: TaskWork) => {
    work.progress(0.5);
    throw new Error('trouble');
  };
  const kit = {
    clock,
    log: { warn() {}, debug() {} },
    deployment: { node: { incarnation: 'one' } },
    offered: () => [{ type: 'export', run }],
    use: () => countPlaces({ running: 1 }),
    actors: {
      read: async () => ({ context: { retries: 0, secret: null, task: { id: 't1', type: 'export' } } }),
      async ask(_: unknown, __: string, { type }: { type: string }) {
        asked.push(type);
        if (type !== 'interrupted') return;
        told.resolve();
        await isTold.promise;
      },
    },
  };
  const { signal } = new AbortController();
  const given = { input: { id: 't1', round: 0 }, attempt: 1, signal };
  const running = (runEffect as { run(given: unknown, kit: unknown): Promise<unknown> }).run(given, kit);
  running.catch(() => {});
  await told.promise;
  await clock.advance(60_000);
  isTold.resolve();
  await expect(running).rejects.toMatchObject({ code: 'internal' });
  expect(asked).toEqual(['begin', 'interrupted']);
});
