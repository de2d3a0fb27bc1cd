import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/plugin/step.ts';
import { type LaneContext, laneLimits } from '../../machines/webhook-lane.ts';
import { lane } from '../../plugins/webhooks/lane.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = lane as never as Parameters<typeof begin>[0];
const settings = {
  ...{ key: 'w:s', actor: 'w:s:1', account: 'a', webhookId: 'w', streamId: 's', createdAt: 0 },
  position: 1,
};
const delivered = { outcome: 'delivered', entry: { id: 'log' } };
const failed = { outcome: 'failed', entry: { id: 'log' }, retryAt: 5 };
const deferred = { outcome: 'deferred', until: 60_000, by: 'n1', retryAt: null };

/** A lane that is told things; the jobs that it asks for get a number each. */
function started() {
  let now = 0;
  const one = durableMachine(type, { input: settings, at: now });
  return {
    at: (time: number) => {
      now = time;
    },
    tell: (command: { type: string }) => one.tell({ ...command, at: now }),
    enqueue(position: number) {
      return this.tell({ type: 'enqueue', position } as never);
    },
    end: (output: unknown) => one.end({ output }, now),
    fail: () => one.end({ error: { code: 'job.failed', message: 'no', attempts: 5 } }, now),
    fire() {
      const [timer] = one.last.timers.filter(({ due }) => due !== null);
      now = timer?.due ?? now;
      return this.tell({ type: timer?.name ?? 'none' });
    },
    get state() {
      return one.snapshot.value;
    },
    get context() {
      return one.snapshot.context as LaneContext;
    },
    get wanted() {
      return one.last.wanted.map(
        ({ kind, input }) => [kind, input as { position?: number; after?: number }] as const,
      );
    },
    rows: () => type.rows(one.snapshot.context as never, one.snapshot.value as never),
  };
}

describe('a lane', () => {
  it('attempts one event after another, whatever comes of them', () => {
    const one = started();
    expect([one.state, one.wanted[0]?.[1].position]).toEqual(['attempting', 1]);
    one.enqueue(2);
    one.enqueue(3);
    expect(one.wanted).toEqual([]);
    for (const [output, next] of [
      [failed, 2],
      [{ outcome: 'over', entry: null }, 3],
    ] as const) {
      one.end(output);
      expect([one.state, one.wanted[0]?.[1].position]).toEqual(['attempting', next]);
    }
    one.end(delivered);
    expect([one.state, one.wanted]).toEqual(['idle', []]);
  });

  it('writes what an attempt says into the log, once', () => {
    const one = started();
    expect(one.rows().map(({ kind }) => kind)).toEqual(['webhook-lane']);
    one.end({ outcome: 'delivered', entry: { id: 'log', webhookId: 'w', createdAt: 1, success: true } });
    expect(one.rows().map(({ kind, id }) => [kind, id])).toEqual([['webhook-log', 'log']]);
    one.enqueue(2);
    expect(one.rows()).toEqual([]);
  });

  it('keeps its head while it is held, and goes on when it is woken or the time is up', () => {
    const one = started();
    one.end(deferred);
    expect(one.state).toBe('holding');
    one.enqueue(2);
    expect(one.state).toBe('holding');
    one.tell({ type: 'resume' });
    expect([one.state, one.wanted[0]?.[1].position]).toEqual(['attempting', 1]);
    one.end(deferred);
    expect([one.fire(), one.state, one.wanted[0]?.[1].position]).toEqual([true, 'attempting', 1]);
  });

  it('does not sleep through a place that got free before it knew that there was none', () => {
    const one = started();
    expect(one.tell({ type: 'resume' })).toBe(true);
    one.end(deferred);
    expect([one.state, one.wanted[0]?.[1].position]).toEqual(['attempting', 1]);
    one.end(deferred);
    expect(one.state).toBe('holding');
  });

  it('waits when an attempt was not possible, and loses nothing', () => {
    const one = started();
    one.fail();
    expect(one.state).toBe('holding');
    expect(one.context.heldUntil).toBe(laneLimits.trouble);
    one.fire();
    expect(one.wanted[0]?.[1].position).toBe(1);
  });

  it('takes no event twice', () => {
    const one = started();
    for (const position of [1, 2, 2, 1]) one.enqueue(position);
    expect(one.context.waiting).toEqual([1, 2]);
    one.end(delivered);
    one.end(delivered);
    one.enqueue(2);
    expect(one.state).toBe('idle');
  });

  it('reads the log when it was full, again when more came meanwhile, and not when all is there', () => {
    const one = started();
    const { waiting } = laneLimits;
    for (let position = 2; position <= waiting + 5; position += 1) one.enqueue(position);
    expect([one.context.waiting.length, one.context.isBehind]).toEqual([waiting, true]);
    for (let n = 0; n < waiting; n += 1) one.end(delivered);
    expect([one.state, one.wanted[0]?.[1].after]).toEqual(['refilling', waiting]);
    one.enqueue(5000);
    one.end({ positions: [waiting + 1], last: waiting + 5, hasMore: false });
    expect([one.state, one.context.isBehind]).toEqual(['attempting', true]);
    one.end(delivered);
    expect([one.state, one.wanted[0]?.[1].after]).toEqual(['refilling', waiting + 5]);
    one.fail();
    expect(one.state).toBe('holding');
    one.fire();
    expect(one.state).toBe('refilling');
    one.end({ positions: [], last: 5000, hasMore: false });
    expect([one.state, one.context.isBehind]).toEqual(['idle', false]);
    one.enqueue(5000);
    expect(one.state).toBe('idle');
    one.enqueue(5001);
    expect(one.wanted[0]?.[1].position).toBe(5001);
  });

  it('ends when it is idle, when its webhook is gone, and when it is told to', () => {
    const idle = started();
    idle.end(delivered);
    idle.fire();
    const gone = started();
    gone.end({ outcome: 'gone' });
    const told = [started(), started(), started()];
    told[1]?.end(deferred);
    told[2]?.end(delivered);
    for (const one of told) one.tell({ type: 'abandon' });
    for (const one of [idle, gone, ...told]) {
      expect(one.state).toBe('ended');
      expect(one.rows().map(({ kind, body }) => [kind, body])).toEqual([['webhook-lane', null]]);
    }
  });

  it('is in a known state after every sequence of four things that can happen', () => {
    const things: ((one: ReturnType<typeof started>) => void)[] = [
      (one) => one.enqueue(one.context.last + 1),
      (one) => one.end(one.state === 'refilling' ? { positions: [], last: 0, hasMore: false } : delivered),
      (one) => one.end(one.state === 'refilling' ? { positions: [999], last: 999, hasMore: true } : deferred),
      (one) => one.fail(),
      (one) => one.fire(),
      (one) => one.tell({ type: 'resume' }),
    ];
    const seen = new Set<unknown>();
    const paths = things.length ** 4;
    for (let path = 0; path < paths; path += 1) {
      const one = started();
      for (let rest = path, n = 0; n < 4; n += 1, rest = Math.floor(rest / things.length)) {
        if (one.state !== 'ended') things[rest % things.length]?.(one);
      }
      seen.add(one.state);
      const { waiting } = one.context;
      expect(waiting).toEqual([...waiting].sort((a, b) => a - b));
      if (one.state === 'idle') expect(waiting).toEqual([]);
    }
    expect(seen).toEqual(new Set(['attempting', 'holding', 'idle', 'ended']));
  }, 60_000);
});
