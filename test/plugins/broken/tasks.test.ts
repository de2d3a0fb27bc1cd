import { expect, it } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import tasks from '../../../plugins/tasks/index.ts';
import { taskMaker } from '../../kit/task-maker.ts';
import { world } from '../../kit/world.ts';

it('a task whose plugin could not be started waits for the next start, however long that takes', async () => {
  const maker = taskMaker();
  const working = [accounts, tasks, maker.plugin] as unknown as Plugin[];
  const broken = {
    ...maker.plugin,
    start() {
      throw new TypeError('no tools');
    },
  };
  await using w = await world({ plugins: working, durable: true });
  const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
  await maker.tasks.spawn({ id: 'one', account, type: 'import', name: 'One' });
  await w.settle();
  expect(maker.works).toHaveLength(1);
  const shown = async () => (await w.request('GET', '/api/task/one')).body.status;

  await w.crash({ downFor: '10s', plugins: [accounts, tasks, broken] as unknown as Plugin[] });
  // Eight attempts that count would take four minutes.
  await w.advance('15m');
  expect(maker.works).toHaveLength(1);
  expect(await shown()).toMatchObject({
    phase: expect.stringMatching(/^(pending|waiting|running)$/),
    errorMessage:
      'What runs tasks of the type import could not be started. The task waits for the next start of the server.',
  });

  await w.crash({ downFor: '10s', plugins: working });
  await w.advance('2m');
  expect(maker.works).toHaveLength(2);
  maker.last('one').finish({ outcome: 'done', output: {} });
  await w.settle();
  expect((await shown()).phase).toBe('completed');
});
