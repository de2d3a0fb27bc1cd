import { describe, expect, it, vi } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';

/**
 * What plugins promise holds whoever runs the actors: these tests run once more on the runtime of several nodes, as the
 * only one of them. (`MILLRACE_WORLD=cluster npm test` runs all. What then fails looks at ids and numbers of commits, or
 * passes days in which the bus is heard of four times a second.)
 */
vi.stubEnv('MILLRACE_WORLD', 'cluster');
describe('as one of several nodes', async () => {
  const { world } = await import('../kit/world.ts');
  it('a world runs its actors over the bus', async () => {
    await using w = await world({ plugins: await allPlugins() });
    const answer = await w.app.handle(new Request('http://localhost:8080/metrics'));
    expect(await answer.text()).toContain('millrace_partitions_owned 16');
  });
  await import('../plugins/streams.test.ts');
  await import('../plugins/broadcast-end.test.ts');
  await import('../plugins/takeover.test.ts');
  await import('../plugins/tasks/work.test.ts');
  await import('../plugins/tasks/turns.test.ts');
  await import('../plugins/broken/off.test.ts');
  await import('../plugins/system/parked.test.ts');
  await import('../plugins/protection/table.test.ts');
  await import('../plugins/protection/session.test.ts');
  await import('../webhooks/webhooks.test.ts');
});
