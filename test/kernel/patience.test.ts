import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { jsonLog } from '../../core/base/log.ts';
import { patiently } from '../../runtime/boot/patience.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const silent = new Fault('store.unreachable', { status: 503, message: 'redis:6379 does not answer' });

function given(attempt: (now: number) => Promise<string>) {
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const log = jsonLog({ level: 'info', now: () => clock.now(), write: (line) => lines.push(line) });
  const stop = new AbortController();
  let end: string | undefined;
  const run = patiently('store', {
    ...{ clock, log, signal: stop.signal },
    attempt: () => attempt(clock.now()),
  }).then(
    (value) => {
      end = value;
    },
    (error: Error) => {
      end = error.message;
    },
  );
  return { clock, lines, stop, run, ended: () => end };
}

describe('a start that needs an engine', () => {
  it('waits until it answers, and tells so every few seconds', async () => {
    let tries = 0;
    const one = given(async (now) => {
      tries += 1;
      if (now < 12_000) throw silent;
      return 'open';
    });
    await one.clock.advance(11_900);
    expect(one.lines).toHaveLength(3);
    expect(one.lines[0]).toContain('redis:6379 does not answer');
    expect(one.ended()).toBeUndefined();
    await one.clock.advance(1000);
    expect(one.ended()).toBe('open');
    expect(tries).toBeGreaterThan(10);
    expect(one.clock.pending()).toBe(0);
  });

  it('gives up after a minute, with what the engine said last', async () => {
    const one = given(() => Promise.reject(silent));
    await one.clock.advance(59_000);
    expect(one.ended()).toBeUndefined();
    await one.clock.advance(2000);
    expect(one.ended()).toBe('redis:6379 does not answer');
  });

  it('does not wait for what will not change', async () => {
    const refusal = new Fault('store.partitions', { status: 500, message: 'made with 8' });
    const one = given(() => Promise.reject(refusal));
    await one.clock.advance(0);
    expect(one.ended()).toBe('made with 8');
    expect(one.lines).toEqual([]);
  });

  it('ends with the program', async () => {
    const one = given(() => Promise.reject(silent));
    await one.clock.advance(1000);
    one.stop.abort();
    await one.clock.advance(0);
    expect(one.ended()).toMatch(/abort/i);
    expect(one.clock.pending()).toBe(0);
  });
});
