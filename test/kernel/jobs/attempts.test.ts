import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { backoffOf } from '../../../runtime/actors/jobs/kind.ts';
import { couriers } from './kit.ts';

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
