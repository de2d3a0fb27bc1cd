import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { Jobs } from '../../../core/ports/jobs.ts';
import type { StepCommit } from '../../../core/ports/store.ts';
import type { SqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { couriers } from './kit.ts';

describe('jobs', () => {
  it('of one kind run at most as many at a time as configured, first come, first served', async () => {
    await using c = await couriers({ concurrency: 2 });
    for (const id of ['a', 'b', 'c', 'd']) await c.carry(id, { parcel: id });
    const parcels = () => c.script.attempts.map(({ input }) => input.parcel);
    expect(parcels()).toEqual(['a', 'b']);
    c.script.attempts[1]?.finish({ status: 200 });
    await c.w.settle();
    expect(parcels()).toEqual(['a', 'b', 'c']);
    for (const attempt of c.script.attempts) attempt.finish({ status: 200 });
    await c.w.settle();
    expect(parcels()).toEqual(['a', 'b', 'c', 'd']);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    for (const id of ['a', 'b', 'c', 'd']) expect(await c.receipts(id)).toEqual([{ status: 200 }]);
  });

  it('beyond the queue are refused, and nothing of the step is written', async () => {
    await using c = await couriers({ concurrency: 1 });
    for (let index = 0; index < 10; index += 1) await c.carry(`a${index}`, { parcel: 'x' });
    await expect(c.carry('late', { parcel: 'x' })).rejects.toMatchObject({ code: 'jobs.full', status: 503 });
    expect(await c.value('late')).toBe('idle');
    // A result may add one all the same: its own place has become free.
    await c.carry('a0', { parcel: 'y' });
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.w.store.jobs.totals()).toMatchObject([{ count: 10 }]);
    await c.ask('a5', 'recall');
    await c.carry('late', { parcel: 'x' });
    expect(await c.value('late')).toBe('carrying');
  });

  it('with an input that is too large are refused', async () => {
    await using c = await couriers();
    const parcel = 'x'.repeat(256 * 1024);
    await expect(c.carry('a', { parcel })).rejects.toMatchObject({
      code: 'jobs.input_too_large',
      status: 413,
    });
  });

  it('with an output that is too large have failed', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().finish({ status: 'x'.repeat(256 * 1024) as never });
    await c.w.settle();
    expect(await c.receipts('a')).toMatchObject([{ code: 'job.output_too_large', attempts: 1 }]);
  });

  it.each([
    ['a value without a prototype', Object.create(null)],
    ['nothing', undefined],
    ['an error whose message is no text', Object.assign(new Error(), { message: Symbol('odd') })],
    [
      'an error that throws when it is read',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('ha');
        },
      }),
    ],
  ])('that throw %s have failed like any other', async (_, thrown) => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    for (const wait of ['1s', '2s', '0s']) {
      c.script.last().fail(thrown as Error);
      await c.w.advance(wait);
    }
    expect(await c.receipts('a')).toMatchObject([
      { code: 'job.failed', message: expect.any(String), attempts: 3 },
    ]);
  });

  it.each([
    ['a function', () => 1],
    ['a bigint', 1n],
    ['a circle', circle()],
  ])('with an output that is no JSON, %s, have failed', async (_, output) => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().finish(output as never);
    await c.w.settle();
    expect(await c.receipts('a')).toMatchObject([
      { code: 'job.output_invalid', message: expect.stringContaining('JSON'), attempts: 1 },
    ]);
  });

  it('do nothing while there is nothing to do', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().finish({ status: 200 });
    // Its lease would have ended by then.
    await c.w.advance('30s');
    const calls: string[] = [];
    const { store } = c.w;
    spy(calls, { store, commit: store.commit, claim: store.jobs.claim });
    await c.w.advance('10m');
    expect(calls).toEqual([]);
  });

  it('are counted: running, waiting, how they ended, and how old the oldest is', async () => {
    await using c = await couriers({ concurrency: 1 });
    await c.carry('a', { parcel: 'one' });
    await c.carry('b', { parcel: 'two' });
    await c.w.advance('3s');
    const text = await c.metrics();
    expect(text).toContain('millrace_jobs_running{kind="courier.deliver"} 1\n');
    expect(text).toContain('millrace_jobs_waiting{kind="courier.deliver"} 1\n');
    expect(text).toContain('millrace_job_oldest_seconds{kind="courier.deliver"} 3\n');
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    c.script.last().fail(new Fault('x', { status: 400, message: 'x', retry: false }));
    await c.w.settle();
    const after = await c.metrics();
    expect(after).toContain('millrace_job_attempts_total{kind="courier.deliver",outcome="done"} 1\n');
    expect(after).toContain('millrace_job_attempts_total{kind="courier.deliver",outcome="failed"} 1\n');
    expect(after).toContain('millrace_jobs_waiting{kind="courier.deliver"} 0\n');
    expect(after).toContain('millrace_job_oldest_seconds{kind="courier.deliver"} 0\n');
  });

  it('that ignore their signal are given up, and a world that is left with one fails', async () => {
    const c = await couriers({ isStubborn: true });
    await c.carry('a', { parcel: 'one' });
    await expect(c.w[Symbol.asyncDispose]()).rejects.toThrow('1 jobs were left running');
    expect(c.w.lines.join()).toContain('an effect did not stop');
  });
});

function circle(): unknown {
  const one: { self?: unknown } = {};
  one.self = one;
  return one;
}

/** Notes which writes are made from now on. */
function spy(
  calls: string[],
  { store, commit, claim }: Pick<SqliteStore, 'commit'> & { store: SqliteStore; claim: Jobs['claim'] },
): void {
  Object.assign(store, {
    commit(step: StepCommit) {
      calls.push('commit');
      return commit(step);
    },
  });
  const noted: Jobs['claim'] = (kind, options) => {
    calls.push('claim');
    return claim(kind, options);
  };
  Object.assign(store.jobs, { claim: noted });
}
