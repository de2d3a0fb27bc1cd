import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/plugin/step.ts';
import { type DeliveryContext, retryAt } from '../../machines/webhook-delivery.ts';
import { delivery } from '../../plugins/webhooks/delivery.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = delivery as never as Parameters<typeof begin>[0];
const settings = {
  ...{ account: 'a', webhookId: 'w', streamId: 's', createdAt: 1000, dueAt: 6000, firstEntry: 'log1' },
  ...{ eventId: 'e1', position: 1 },
};
const entry = { id: 'log2', webhookId: 'w', createdAt: 1, success: false };

function started() {
  const one = durableMachine(type, { input: settings, at: 1000 });
  const pending = () => one.last.timers.find(({ due }) => due !== null);
  return {
    end: (output: unknown, at = 6000) => one.end({ output }, at),
    fail: (at: number) => one.end({ error: { code: 'job.failed', message: 'no', attempts: 5 } }, at),
    tell: (name: string, at = 6000) => one.tell({ type: name, at }),
    fire() {
      const timer = pending();
      return one.tell({ type: timer?.name ?? '', at: timer?.due ?? 0 });
    },
    get due() {
      return pending()?.due;
    },
    get state() {
      return one.snapshot.value;
    },
    get context() {
      return one.snapshot.context as DeliveryContext;
    },
    get wanted() {
      return one.last.wanted[0]?.input;
    },
    rows: () => type.rows(one.snapshot.context as never, one.snapshot.value as never),
  };
}

describe('a delivery', () => {
  it('waits, attempts, and waits again until it is taken', () => {
    const one = started();
    expect([one.state, one.due]).toEqual(['waiting', 6000]);
    one.fire();
    expect([one.state, one.wanted]).toMatchObject(['attempting', { attempt: 2, wakes: 0, bodyOf: 'log1' }]);
    one.end({ outcome: 'failed', entry, retryAt: 16_000 }, 6500);
    expect([one.state, one.due]).toEqual(['waiting', 16_000]);
    expect(one.rows().map(({ kind }) => kind)).toEqual(['webhook-delivery', 'webhook-log']);
    one.fire();
    expect(one.rows().map(({ kind }) => kind)).toEqual(['webhook-delivery']);
    expect(one.wanted).toMatchObject({ attempt: 3, wakes: 1 });
    one.end({ outcome: 'delivered', entry }, 16_100);
    expect(one.state).toBe('ended');
    expect(one.rows().map(({ kind, body }) => [kind, body === null])).toEqual([
      ['webhook-delivery', true],
      ['webhook-log', false],
    ]);
  });

  it('counts no attempt where none was made, but waits longer', () => {
    const one = started();
    one.fire();
    one.end({ outcome: 'deferred', until: 0, retryAt: 20_000 });
    expect([one.state, one.due, one.context.attempt, one.context.wakes]).toEqual(['waiting', 20_000, 2, 1]);
    one.fire();
    one.fail(20_100);
    expect([one.state, one.due, one.context.attempt]).toEqual(['waiting', 20_100 + 60_000, 2]);
  });

  it.each([
    { outcome: 'failed', entry, retryAt: null },
    { outcome: 'deferred', until: 0, retryAt: null },
    { outcome: 'over', entry },
    { outcome: 'gone' },
  ])('ends with %j', (output) => {
    const one = started();
    one.fire();
    one.end(output);
    expect(one.state).toBe('ended');
  });

  it('ends at once when it was settled otherwise', () => {
    const [waiting, attempting] = [started(), started()];
    attempting.fire();
    for (const one of [waiting, attempting]) expect([one.tell('settle'), one.state]).toEqual([true, 'ended']);
  });
});

describe('the time of the next attempt', () => {
  const policy = { first: 5000, most: 3_600_000, until: 86_400_000 };

  it('is 5 s later, then doubles up to an hour', () => {
    const waits = Array.from({ length: 14 }, (_, wakes) => retryAt({ wakes, at: 0, chance: 0.5 }, policy));
    expect(waits).toEqual([
      ...[5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600].map((s) => s * 1000),
    ]);
  });

  it('is a fifth more or less by chance', () => {
    const at = (chance: number) => retryAt({ wakes: 0, at: 100, chance }, policy);
    expect([at(0), at(1)]).toEqual([4100, 6100]);
  });

  it('is none when the time is up before it', () => {
    expect(retryAt({ wakes: 0, at: policy.until - 5000, chance: 0.5 }, policy)).toBe(policy.until);
    expect(retryAt({ wakes: 0, at: policy.until - 4999, chance: 0.5 }, policy)).toBe(null);
  });
});
