import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/plugin/step.ts';
import { mostWorks } from '../../machines/task.ts';
import { task } from '../../plugins/tasks/task.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = task as never as Parameters<typeof begin>[0];
const settings = {
  ...{ id: 't1', account: 'acc', type: 'upload', name: 'Show', createdAt: 1000 },
  ...{ inputAssetId: null, outputAssetId: 'a1', params: null, createdByTokenName: null },
  ...{ deadline: 61_000, lateMessage: 'Too late.', keptFor: 5000, isServed: false },
};

function spawned({ isServed = false } = {}) {
  const secret = isServed ? { jwt: 'x' } : null;
  return at(durableMachine(type, { input: { task: { ...settings, isServed }, secret }, at: 1000 }));
}

function at(one: ReturnType<typeof durableMachine>) {
  return {
    copy: () => at(one.copy()),
    tell: (event: { type: string; at?: number; [name: string]: unknown }) => one.tell({ at: 2000, ...event }),
    begin: (id = 'w1', incarnation = 'i1') =>
      one.tell({ type: 'begin', at: 2000, work: { id, incarnation } } as never),
    get state() {
      return one.snapshot.value;
    },
    get emitted() {
      return one.last.emitted.map(({ type: name, phase }) => `${name} ${phase}`);
    },
    row: () => type.rows(one.snapshot.context as never, one.snapshot.value as never)[0],
    shown() {
      const row = this.row();
      return !row || row.body === null ? null : JSON.parse(row.body);
    },
    get due() {
      return one.last.timers.find(({ due }) => due !== null)?.due;
    },
    get wanted() {
      return one.last.wanted.map(({ kind, input }) => [kind, input]);
    },
    get cancels() {
      return one.last.cancels.length;
    },
    get secret() {
      return (one.snapshot.context as { secret: unknown }).secret;
    },
    end: (output: object) => one.end({ output }, 2000),
    /** The job has failed after so many attempts. */
    miss: (code: string, attempts = 8) =>
      one.end({ error: { code, message: 'The host hung up.', attempts } }, 2000),
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
    const most = mostWorks;
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

describe('a task that the server works at', () => {
  const pending = () => spawned({ isServed: true });
  const admitted = () => {
    const t = pending();
    t.tell({ type: 'admit', round: 0 });
    return t;
  };
  const running = () => {
    const t = admitted();
    t.begin();
    return t;
  };

  it('is pending until it is let in, and nobody else may begin it', () => {
    const t = pending();
    expect([t.state, t.shown().phase, t.emitted]).toEqual(['pending', 'pending', ['task.spawned pending']]);
    expect(t.begin()).toBe(false);
    expect(t.tell({ type: 'admit', round: 1 })).toBe(false);
    expect(t.tell({ type: 'admit', round: 0 })).toBe(true);
    expect([t.state, t.shown().phase]).toEqual([{ served: 'waiting' }, 'waiting']);
    expect([t.emitted, t.wanted]).toEqual([['task.updated waiting'], [['task.run', { id: 't1', round: 0 }]]]);
    // Its deadline is for its turn.
    expect(t.due).toBeUndefined();
    const upload = spawned();
    expect(upload.tell({ type: 'admit', round: 0 })).toBe(false);
  });

  it('is told twice that it is let in, and that changes nothing', () => {
    for (const t of [admitted(), running()]) {
      const { state } = t;
      expect(t.tell({ type: 'admit', round: 0 })).toBe(true);
      expect([t.state, t.emitted, t.wanted, t.cancels]).toEqual([state, [], [], 0]);
      expect(t.tell({ type: 'admit', round: 1 })).toBe(false);
    }
  });

  it('can be found by its lane while it is pending, and then no more', () => {
    const queueOf = (t: ReturnType<typeof spawned>) => t.row()?.indexes.queue;
    expect([pending(), admitted(), running(), spawned()].map(queueOf)).toEqual([
      ...['upload', undefined, undefined, undefined],
    ]);
  });

  it('runs while somebody works at it: whoever began last, alone', () => {
    const t = running();
    expect([t.shown().phase, t.emitted]).toEqual(['running', ['task.updated running']]);
    t.begin('w2', 'i2');
    expect([t.emitted, t.shown().incarnations]).toEqual([[], ['i2']]);
    for (const name of ['progress', 'interrupted', 'fail']) {
      expect(t.tell({ type: name, workId: 'w1', progress: 0.9 }), name).toBe(false);
    }
    expect(t.tell({ type: 'node.lost', incarnation: 'i1' })).toBe(false);
    t.tell({ type: 'progress', workId: 'w2', progress: 0.5 });
    t.tell({ type: 'progress', workId: 'w2', progress: 0.4 });
    expect(t.shown().progress).toBe(0.5);
  });

  it('has the progress of the try that goes on: another begins with nothing', () => {
    const t = running();
    t.tell({ type: 'progress', workId: 'w1', progress: 0.9 });
    // The same one, which was taken for dead.
    t.begin('w1', 'i1');
    expect(t.shown().progress).toBe(0.9);
    t.begin('w2', 'i2');
    expect(t.shown().progress).toBe(0);
    t.tell({ type: 'progress', workId: 'w2', progress: 0.8 });
    t.tell({ type: 'interrupted', workId: 'w2' });
    expect(t.shown()).toMatchObject({ phase: 'waiting', progress: 0.8 });
    t.begin('w3');
    expect(t.shown()).toMatchObject({ phase: 'running', progress: 0 });
  });

  it('waits when that was interrupted or died; its job goes on', () => {
    const interrupted = running();
    interrupted.tell({ type: 'interrupted', workId: 'w1' });
    const lost = running();
    lost.tell({ type: 'node.lost', incarnation: 'i1' });
    for (const t of [interrupted, lost]) {
      expect([t.state, t.emitted, t.cancels]).toEqual([{ served: 'waiting' }, ['task.updated waiting'], 0]);
      expect(t.shown().incarnations).toEqual([]);
      t.begin('w2');
      expect(t.shown().phase).toBe('running');
    }
  });

  it.each([
    ['waiting', admitted],
    ['running', running],
  ])('ends when its job does, also when it is %s', (_, begun) => {
    const done = begun();
    done.end({ outcome: 'done', output: { size: 7 } });
    expect([done.state, done.emitted]).toEqual(['completed', ['task.completed completed']]);
    expect(done.shown()).toMatchObject({
      output: { size: 7 },
      progress: 1,
      updatedAt: 2000,
      incarnations: [],
    });
    expect(done.secret).toBeNull();
    const failed = begun();
    failed.end({ outcome: 'failed', message: 'It is no film.' });
    expect([failed.state, failed.emitted]).toEqual(['failed', ['task.failed failed']]);
    expect(failed.shown()).toMatchObject({ errorMessage: 'It is no film.', incarnations: [] });
    expect(failed.secret).toEqual({ jwt: 'x' });
  });

  it.each([
    ['x.y', 8, 'Failed after 8 attempts. The last error: The host hung up.'],
    ['x.y', 1, 'The host hung up.'],
    ['job.failed', 1, 'The server had an internal error.'],
    ['job.timeout', 8, 'Failed after 8 attempts. The last error: The time limit was reached.'],
    ['job.worker_died', 8, 'Failed after 8 attempts. The last error: The server process that ran it ended.'],
    ['job.output_too_large', 1, 'The result is too large.'],
  ])('fails with a sentence when its job fails: %s after %i', (code, attempts, message) => {
    const t = running();
    t.miss(code, attempts);
    expect([t.state, t.shown().errorMessage, t.emitted]).toEqual(['failed', message, ['task.failed failed']]);
  });

  it.each([
    ['cancel', 'cancelled'],
    ['complete', 'completed'],
  ])('lets its job go by %s', (type, state) => {
    for (const t of [admitted(), running()]) {
      t.tell({ type, output: {} });
      expect([t.state, t.cancels, t.shown().incarnations]).toEqual([state, 1, []]);
      expect(t.end({ outcome: 'failed', message: 'too late' })).toBe(false);
    }
  });

  it('takes its turn again when it is retried', () => {
    const t = running();
    t.tell({ type: 'cancel' });
    expect(t.begin()).toBe(false);
    t.tell({ type: 'retry', deadline: 90_000 });
    expect([t.state, t.due, t.row()?.indexes.queue]).toEqual(['pending', 90_000, 'upload']);
    expect(t.tell({ type: 'admit', round: 0 })).toBe(false);
    t.tell({ type: 'admit', round: 1 });
    expect(t.wanted).toEqual([['task.run', { id: 't1', round: 1 }]]);
    t.end({ outcome: 'failed', message: 'No.' });
    expect(t.begin()).toBe(false);
  });

  it('fails when its turn does not come in time', () => {
    const t = pending();
    t.fire();
    expect([t.state, t.shown().errorMessage]).toEqual(['failed', 'Too late.']);
  });

  it('is in a known state after every sequence of five things that can happen', () => {
    const things: ((t: ReturnType<typeof spawned>) => boolean)[] = [
      (t) => t.tell({ type: 'admit', round: t.shown()?.retries ?? 0 }),
      (t) => t.begin(),
      (t) => t.tell({ type: 'interrupted', workId: 'w1' }),
      (t) => t.end({ outcome: 'done', output: {} }),
      (t) => t.miss('x.y'),
      (t) => t.tell({ type: 'cancel' }),
      (t) => t.tell({ type: 'retry', deadline: 90_000 }),
    ];
    const seen = new Set<string>();
    // What two sequences begin with is told once, and what a state refuses leaves it as it is.
    const follow = (t: ReturnType<typeof spawned>, path: readonly number[]) => {
      const { phase, incarnations, output, errorMessage } = t.shown();
      seen.add(phase);
      expect([path, incarnations.length]).toEqual([path, phase === 'running' ? 1 : 0]);
      expect([path, output !== null]).toEqual([path, phase === 'completed']);
      expect([path, errorMessage !== null]).toEqual([path, phase === 'failed']);
      expect(JSON.stringify(t.row())).not.toContain('jwt');
      for (const [index, tell] of path.length === 5 ? [] : things.entries()) {
        const next = t.copy();
        if (tell(next)) follow(next, [...path, index]);
      }
    };
    follow(pending(), []);
    expect(seen).toEqual(new Set(['pending', 'waiting', 'running', 'completed', 'failed', 'cancelled']));
  });
});
