import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import type { StepCommit } from '../../core/ports/store.ts';
import { backoffOf } from '../../runtime/actors/jobs/kind.ts';
import type { SqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { courierActor, courierPlugin, type Parcel } from '../kit/courier.ts';
import { scriptedEffect } from '../kit/scripted-effect.ts';
import { world } from '../kit/world.ts';

type Receipt = { status: number };

/** A world with couriers, and what a test needs to reach them. */
async function couriers(options: { concurrency?: number; durable?: boolean; isStubborn?: boolean } = {}) {
  let actors: Actors | undefined;
  const reach = definePlugin({
    id: 'reach',
    summary: 'hands the actors to the test',
    start: (kit) => {
      actors = kit.actors;
      return undefined;
    },
  });
  const script = scriptedEffect<Parcel, Receipt>({ isStubborn: options.isStubborn ?? false });
  const w = await world({
    plugins: [courierPlugin, reach],
    config: { courier: { concurrency: options.concurrency ?? 2 } },
    effects: { 'courier.deliver': script.run },
    durable: options.durable ?? false,
  });
  const reached = () => actors as Actors;
  return {
    w,
    script,
    async carry(id: string, parcel: Parcel) {
      const command = { type: 'carry', parcel } as const;
      const known = await reached().read(courierActor, id);
      if (!known) await reached().spawn(courierActor, id, {});
      await reached().ask(courierActor, id, command);
      await w.settle();
    },
    ask: (id: string, type: 'recall' | 'rename' | 'close') => reached().ask(courierActor, id, { type }),
    receipts: async (id: string) => (await reached().read(courierActor, id))?.context.receipts,
    value: async (id: string) => (await reached().read(courierActor, id))?.value,
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
    },
    metrics: async () => (await w.app.handle(new Request('http://localhost/metrics'))).text(),
  };
}

describe('a job', () => {
  it('runs with the input of the invoke, and its output comes back as onDone', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    const { id, attempt, input, actor } = c.script.last();
    expect({ attempt, input, actor }).toEqual({ attempt: 1, input: { parcel: 'one' }, actor: 'courier/a' });
    expect(id).toMatch(/^d\d+\.\d+\/0\/courier\.deliver$/);
    c.script.last().finish({ status: 204 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ status: 204 }]);
    expect(await c.w.store.jobs.totals()).toEqual([]);
  });

  it('begins after the commit that adds it, and the next follows the commit of its result', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    await c.carry('a', { parcel: 'two' });
    expect(c.script.attempts).toHaveLength(1);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(c.script.last().input).toEqual({ parcel: 'two' });
    c.script.last().finish({ status: 200 });
    await c.w.settle();
  });

  it('is tried again after a throw, later each time, with the same id, and then the machine hears of it', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().fail(new Error('no route'));
    await c.w.advance('700ms');
    expect(c.script.attempts).toHaveLength(1);
    await c.w.advance('300ms');
    expect(c.script.last().attempt).toBe(2);
    c.script.last().fail(new Fault('courier.lost', { status: 502, message: 'gone' }));
    await c.w.advance('1400ms');
    expect(c.script.attempts).toHaveLength(2);
    await c.w.advance('600ms');
    expect(c.script.last().attempt).toBe(3);
    expect(new Set(c.script.attempts.map(({ id }) => id)).size).toBe(1);
    c.script.last().fail(new Fault('courier.lost', { status: 502, message: 'gone' }));
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ code: 'courier.lost', message: 'gone', attempts: 3 }]);
    expect(await c.w.store.jobs.totals()).toEqual([]);
  });

  it('ends at once with a Fault that is not to be tried again', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().fail(new Fault('courier.refused', { status: 400, message: 'no', retry: false }));
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ code: 'courier.refused', message: 'no', attempts: 1 }]);
  });

  it('is not tried again before the other side wants it, but after an hour', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    c.script.last().fail(new Fault('courier.busy', { status: 503, message: 'busy', retryAfter: 50 }));
    await c.w.advance('49s');
    expect(c.script.attempts).toHaveLength(1);
    await c.w.advance('2s');
    expect(c.script.last().attempt).toBe(2);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    const kind = { backoff: { first: 1000, most: 60_000 } };
    const waits = [0, 1, 3_599_000, 1e12].map((retryAfter) =>
      backoffOf(kind, { id: 'a', attempt: 20, retryAfter }),
    );
    const usual = backoffOf(kind, { id: 'a', attempt: 20 });
    expect(waits).toEqual([usual, usual, 3_599_000, 3_600_000]);
  });

  it('that takes too long is told to stop and tried again', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    await c.w.advance('10s');
    expect(c.script.last().signal.reason).toMatchObject({ code: 'job.timeout' });
    await c.w.advance('1s');
    expect(c.script.last().attempt).toBe(2);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ status: 200 }]);
  });

  it('is cancelled when the machine leaves the state: its signal is aborted, and its result is nothing', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    const { signal } = c.script.last();
    await c.ask('a', 'rename');
    expect(signal.aborted).toBe(false);
    await c.ask('a', 'recall');
    expect(signal.reason).toMatchObject({ code: 'job.cancelled' });
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([]);
    expect(await c.w.store.jobs.totals()).toEqual([]);
    expect(c.script.attempts).toHaveLength(1);
  });

  it('ends with its actor', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    await c.ask('a', 'close');
    await c.w.settle();
    expect(c.script.last().signal.aborted).toBe(true);
    expect(await c.w.store.jobs.totals()).toEqual([]);
  });

  it('loses to a deadline of the state: a late result is stale', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    for (const wait of ['10s', '1s', '10s', '2s', '10s']) await c.w.advance(wait);
    expect(await c.receipts('a')).toMatchObject([{ code: 'job.timeout', attempts: 3 }]);
    await c.carry('a', { parcel: 'two', notBefore: c.w.now() + 3_600_000 });
    await c.w.advance('61s');
    expect(await c.value('a')).toBe('idle');
    expect(await c.w.store.jobs.totals()).toEqual([]);
  });

  it('waits until its time', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one', notBefore: c.w.now() + 5000 });
    await c.w.advance('4999ms');
    expect(c.script.attempts).toHaveLength(0);
    await c.w.advance('1ms');
    expect(c.script.attempts).toHaveLength(1);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
  });

  it('of a long attempt stays leased, one write each third of the lease', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    await c.w.advance('9s');
    const [stranger] = await c.w.store.jobs.claim('courier.deliver', {
      ...{ owner: 'other/1', limit: 1, now: c.w.now(), until: c.w.now() + 1000 },
    });
    expect(stranger).toBeUndefined();
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ status: 200 }]);
  });

  it('whose lease another took is told to stop, and its result is refused', async () => {
    await using c = await couriers();
    await c.carry('a', { parcel: 'one' });
    const [stolen] = await c.w.store.jobs.claim('courier.deliver', {
      ...{ owner: 'other/1', limit: 1, now: c.w.now() + 6000, until: c.w.now() + 30_000 },
    });
    expect(stolen?.attempt).toBe(2);
    await c.w.advance('2s');
    expect(c.script.last().signal.reason).toMatchObject({ code: 'job.lost' });
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([]);
    // The other never says anything again: this process has it when that lease ends.
    await c.w.advance('28s');
    expect(c.script.last().attempt).toBe(3);
    c.script.last().finish({ status: 201 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ status: 201 }]);
  });

  it('whose worker died in its last attempt is not tried for ever', async () => {
    await using c = await couriers({ durable: true });
    await c.carry('a', { parcel: 'one' });
    for (const attempt of [2, 3]) {
      await c.w.crash({ downFor: '1s' });
      expect(c.script.last().attempt).toBe(attempt);
    }
    await c.w.crash({ downFor: '1s' });
    expect(c.script.attempts).toHaveLength(3);
    expect(await c.receipts('a')).toMatchObject([{ code: 'job.worker_died', attempts: 3 }]);
  });

  it('begins again at once when its process died and starts again, whatever its lease', async () => {
    await using c = await couriers({ durable: true });
    await c.carry('a', { parcel: 'one' });
    const { id } = c.script.last();
    await c.w.crash({ downFor: '10ms' });
    expect(c.script.attempts.map((one) => [one.id, one.attempt])).toEqual([
      [id, 1],
      [id, 2],
    ]);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
    expect(await c.receipts('a')).toEqual([{ status: 200 }]);
  });

  it('is handed back when the program stops, and that attempt does not count', async () => {
    await using c = await couriers({ durable: true });
    await c.carry('a', { parcel: 'one' });
    await c.w.stop();
    expect(c.script.last().signal.reason).toMatchObject({ code: 'job.stopping' });
    await c.w.crash({ downFor: '1s' });
    expect(c.script.attempts.map(({ attempt }) => attempt)).toEqual([1, 1]);
    c.script.last().finish({ status: 200 });
    await c.w.settle();
  });
});

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
    await c.w.settle();
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
