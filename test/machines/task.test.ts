import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/step.ts';
import { taskLimits } from '../../plugins/tasks/limits.ts';
import { task } from '../../plugins/tasks/task.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = task as never as Parameters<typeof begin>[0];
const settings = {
  ...{ id: 't1', account: 'acc', type: 'upload', name: 'Show', createdAt: 1000 },
  ...{ inputAssetId: null, outputAssetId: 'a1', params: null, createdByTokenName: null },
  ...{ deadline: 61_000, lateMessage: 'Too late.', keptFor: 5000, isServed: false },
};

function spawned() {
  const one = durableMachine(type, { input: { task: settings, secret: null }, at: 1000 });
  return {
    tell: (event: { type: string; at?: number; [name: string]: unknown }) => one.tell({ at: 2000, ...event }),
    begin: (id = 'w1', incarnation = 'i1') =>
      one.tell({ type: 'begin', at: 2000, work: { id, incarnation } } as never),
    get state() {
      return one.snapshot.value;
    },
    get emitted() {
      return one.last.emitted.map(({ type: name, phase }) => `${name} ${phase}`);
    },
    shown() {
      const [row] = type.rows(one.snapshot.context as never, one.snapshot.value as never);
      return row.body === null ? null : JSON.parse(row.body);
    },
    get due() {
      return one.last.timers.find(({ due }) => due !== null)?.due;
    },
    fire() {
      const timer = one.last.timers.find(({ due }) => due !== null);
      one.tell({ type: timer?.name ?? '', at: timer?.due ?? 0 });
    },
  };
}

describe('a task', () => {
  it('is pending, runs, and is completed with its output', () => {
    const t = spawned();
    expect([t.state, t.emitted]).toEqual(['pending', ['task.spawned pending']]);
    t.begin();
    expect([t.state, t.emitted]).toEqual(['running', ['task.updated running']]);
    t.tell({ type: 'complete', output: { a: 1 } });
    expect([t.state, t.emitted]).toEqual(['completed', ['task.completed completed']]);
    expect(t.shown()).toMatchObject({ phase: 'completed', progress: 1, output: { a: 1 }, incarnations: [] });
    expect(t.tell({ type: 'complete', output: { a: 1 } })).toBe(true);
    expect(t.emitted).toEqual([]);
    for (const name of ['cancel', 'retry', 'begin', 'fail', 'progress']) {
      expect(t.tell({ type: name, workId: 'w1', work: { id: 'w', incarnation: 'i' } }), name).toBe(false);
    }
  });

  it('has progress that never goes back, said by those alone who work at it', () => {
    const t = spawned();
    expect(t.tell({ type: 'progress', workId: 'w1', progress: 0.1 })).toBe(false);
    t.begin();
    t.tell({ type: 'progress', workId: 'w1', progress: 0.5 });
    t.tell({ type: 'progress', workId: 'w1', progress: 0.2, at: 3000 });
    expect([t.shown().progress, t.shown().updatedAt, t.emitted]).toEqual([0.5, 2000, []]);
    expect(t.tell({ type: 'progress', workId: 'other', progress: 0.9 })).toBe(false);
    t.tell({ type: 'interrupted', workId: 'w1' });
    t.begin('w2');
    t.tell({ type: 'progress', workId: 'w2', progress: 0.1 });
    expect(t.shown().progress).toBe(0.5);
  });

  it('waits when the last that worked at it was interrupted or died', () => {
    const t = spawned();
    t.begin('w1', 'i1');
    t.begin('w2', 'i2');
    expect(t.emitted).toEqual([]);
    t.tell({ type: 'interrupted', workId: 'w1' });
    expect(t.state).toBe('running');
    t.tell({ type: 'node.lost', incarnation: 'i1' });
    expect(t.state).toBe('running');
    t.tell({ type: 'node.lost', incarnation: 'i2' });
    expect([t.state, t.emitted]).toEqual(['waiting', ['task.updated waiting']]);
    expect(t.shown().incarnations).toEqual([]);
  });

  it('fails when what works at it says so and nobody else goes on', () => {
    const t = spawned();
    t.begin('w1');
    t.begin('w2');
    expect(t.tell({ type: 'fail', workId: 'w9', message: 'No.' })).toBe(false);
    t.tell({ type: 'fail', workId: 'w1', message: 'No.' });
    expect([t.state, t.shown().errorMessage]).toEqual(['running', null]);
    t.tell({ type: 'fail', workId: 'w2', message: 'Not this either.' });
    expect([t.state, t.emitted]).toEqual(['failed', ['task.failed failed']]);
    expect(t.shown().errorMessage).toBe('Not this either.');
    t.begin('w3');
    expect([t.state, t.shown().errorMessage]).toEqual(['running', null]);
  });

  it('is worked at by so many, and no more', () => {
    const t = spawned();
    const most = taskLimits.works.value;
    for (let n = 0; n < most; n += 1) expect(t.begin(`w${n}`)).toBe(true);
    expect(t.begin('one more')).toBe(false);
    // A repeat is none more.
    expect(t.begin('w0')).toBe(true);
  });

  it('fails when it has not begun in time; one that runs goes on', () => {
    const t = spawned();
    expect(t.due).toBe(61_000);
    t.begin();
    t.tell({ type: 'interrupted', workId: 'w1', at: 70_000 });
    expect([t.state, t.due]).toEqual(['waiting', 70_000]);
    t.fire();
    expect([t.state, t.shown().errorMessage]).toEqual(['failed', 'Too late.']);
    expect(t.emitted).toEqual(['task.failed failed']);
  });

  it.each(['failed', 'cancelled'])('is retried when it is %s, anew and with another deadline', (state) => {
    const t = spawned();
    expect(t.tell({ type: 'retry', deadline: 9 })).toBe(false);
    t.begin();
    t.tell({ type: 'progress', workId: 'w1', progress: 0.5 });
    if (state === 'failed') t.tell({ type: 'fail', workId: 'w1', message: 'No.' });
    else t.tell({ type: 'cancel' });
    expect(t.state).toBe(state);
    t.tell({ type: 'retry', deadline: 90_000 });
    expect([t.state, t.emitted, t.due]).toEqual(['pending', ['task.updated pending'], 90_000]);
    expect(t.shown()).toMatchObject({ progress: 0, errorMessage: null, retries: 1 });
  });

  it('is cancelled in each phase before its end, and then only a result or a retry changes that', () => {
    for (const phase of ['pending', 'running', 'waiting']) {
      const t = spawned();
      if (phase !== 'pending') t.begin();
      if (phase === 'waiting') t.tell({ type: 'interrupted', workId: 'w1' });
      expect(t.state).toBe(phase);
      t.tell({ type: 'cancel' });
      expect([t.state, t.emitted]).toEqual(['cancelled', ['task.updated cancelled']]);
      expect(t.begin()).toBe(false);
      t.tell({ type: 'complete', output: {} });
      expect(t.state).toBe('completed');
    }
  });

  it('is forgotten a while after its end', () => {
    const t = spawned();
    t.tell({ type: 'cancel' });
    expect(t.due).toBe(7000);
    t.fire();
    expect([t.state, t.shown()]).toEqual(['forgotten', null]);
  });
});
