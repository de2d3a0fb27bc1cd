import { describe, expect, it } from 'vitest';
import { FairTurns, type TurnOrder } from '../../runtime/media/stills/fair-turns.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

function given(limits: { running?: number; waiting?: number; waitingPerClient?: number } = {}) {
  const clock = virtualClock({ start: 0 });
  const turns = new FairTurns({ running: 1, waiting: 100, waitingPerClient: 50, clock, ...limits });
  /** Who had a turn or was refused, in order. */
  const told: string[] = [];
  const running: (() => void)[] = [];
  const take = (client: string, order: Partial<TurnOrder> = {}) => {
    const signal = order.signal ?? new AbortController().signal;
    void turns.take({ rank: 'usual', shares: [client], ...order, signal }).then(
      (leave) => {
        told.push(leave === 'full' ? `${client} refused` : client);
        if (leave !== 'full') running.push(leave);
      },
      () => told.push(`${client} left`),
    );
  };
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  /** All turns end, one after the other. */
  const end = async () => {
    for (await settle(); running.length > 0; await settle()) running.shift()?.();
    return told.splice(0);
  };
  return { clock, turns, take, settle, end, told, running };
}

describe('turns', () => {
  it('go to those that want the least, in the order in which they came', async () => {
    const s = given();
    for (const client of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) s.take(client);
    expect(await s.end()).toEqual(['a', 'c', 'b', 'b', 'a', 'a', 'a']);
    expect(s.turns.running).toBe(0);
  });

  it('go to those that have had the least, which is forgotten after some time', async () => {
    const s = given();
    for (let count = 0; count < 30; count += 1) s.take('greedy');
    await s.end();
    const ask = async () => {
      s.take('first');
      for (const client of ['greedy', 'b', 'b', 'b']) s.take(client);
      return (await s.end()).slice(1);
    };
    expect(await ask()).toEqual(['b', 'b', 'b', 'greedy']);
    await s.clock.advance(100_000);
    expect(await ask()).toEqual(['greedy', 'b', 'b', 'b']);
  });

  it('are shared by account and by source as well as by client', async () => {
    const s = given();
    s.take('first');
    for (const client of ['a', 'b', 'c']) s.take(client, { shares: [client, 'account 1'] });
    s.take('d', { shares: ['d', 'account 2'] });
    expect(await s.end()).toEqual(['first', 'd', 'a', 'b', 'c']);
  });

  it('go first to what is live, and last to what is one of many', async () => {
    const s = given();
    s.take('first');
    s.take('moment', { rank: 'last' });
    s.take('poster');
    for (let count = 0; count < 3; count += 1) s.take('live', { rank: 'first' });
    expect(await s.end()).toEqual(['first', 'live', 'live', 'live', 'poster', 'moment']);
  });

  it('are waited for by so many of one client, and by so many in all: the one that wants the most leaves', async () => {
    const s = given({ waiting: 4, waitingPerClient: 3 });
    for (let count = 0; count < 5; count += 1) s.take('a');
    await s.settle();
    expect(s.told).toEqual(['a', 'a refused']);
    for (const client of ['b', 'c', 'd', 'e']) s.take(client);
    await s.settle();
    expect(s.told.slice(2)).toEqual(['a refused', 'a refused', 'a refused']);
    // All that wait want the same now: nobody makes room, but for what is live.
    s.take('f');
    await s.settle();
    expect(s.told.at(-1)).toBe('f refused');
    s.take('f', { rank: 'first' });
    expect((await s.end()).slice(6)).toEqual(['e refused', 'f', 'b', 'c', 'd']);
  });

  it('are given up by who leaves', async () => {
    const s = given({ waiting: 1 });
    const leaving = new AbortController();
    s.take('a');
    s.take('b', { signal: leaving.signal });
    leaving.abort();
    await s.settle();
    s.take('c');
    expect(await s.end()).toEqual(['a', 'b left', 'c']);
    s.take('d', { signal: leaving.signal });
    expect(await s.end()).toEqual(['d left']);
  });
});
