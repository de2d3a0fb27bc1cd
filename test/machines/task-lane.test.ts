import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/plugin/step.ts';
import { type LaneContext, type Looked, laneLimits, type Place } from '../../machines/task-lane.ts';
import { lane } from '../../plugins/tasks/lane.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = lane as never as Parameters<typeof begin>[0];

/** A lane that is told things, with two places. */
function started(most = 2) {
  let now = 1000;
  const one = durableMachine(type, { input: { account: 'acc', type: 'import' }, at: now });
  let due: { name: string; due: number } | undefined;
  const noted = (isTaken: boolean) => {
    for (const timer of isTaken ? one.last.timers : []) {
      due = timer.due === null ? undefined : { name: timer.name, due: timer.due };
    }
    return isTaken;
  };
  const tell = (command: { type: string; [name: string]: unknown }) =>
    noted(one.tell({ ...command, at: now }));
  const admitted = () => one.last.emitted.map(({ id, round }) => `${id}.${round}`);
  return {
    take: (id: string, round = 0, places = most) =>
      tell({ type: 'take', place: { id, round }, most: places }) && admitted(),
    release: (id: string, round = 0, places = most) =>
      tell({ type: 'release', place: { id, round }, most: places }) && admitted(),
    look(output: Partial<Looked> = {}) {
      noted(one.end({ output: { waiting: [], hasMore: false, gone: [], untold: [], ...output } }, now));
      return admitted();
    },
    failToLook: () => noted(one.end({ error: { code: 'job.failed', message: 'no', attempts: 5 } }, now)),
    fire() {
      now = due?.due ?? now;
      return tell({ type: due?.name ?? 'none' });
    },
    pass: (duration: number) => {
      now += duration;
    },
    get state() {
      return one.snapshot.value;
    },
    get context() {
      return one.snapshot.context as LaneContext;
    },
    get running() {
      return this.context.running.map(({ id, round }) => `${id}.${round}`);
    },
    get wanted() {
      return one.last.wanted.map(({ kind, input }) => [kind, input]);
    },
    get due() {
      return due?.due;
    },
    event: () => type.describe(one.last.emitted[0] as never, one.snapshot.context as never, {} as never),
  };
}

const placeOf = (id: string, round = 0): Place => ({ id, round });

describe('a lane of tasks', () => {
  it('lets in as many as it has places, and says so to its plugin alone', () => {
    const one = started();
    expect(one.state).toBe('empty');
    expect(one.take('a')).toEqual(['a.0']);
    expect(one.event()).toEqual({
      ...{ account: '', stream: 'acc:import' },
      body: { payload: { id: 'a', round: 0, account: 'acc', type: 'import' } },
    });
    expect(one.take('b')).toEqual(['b.0']);
    expect(one.take('c')).toEqual([]);
    expect([one.state, one.running, one.context.hasMore]).toEqual(['busy', ['a.0', 'b.0'], true]);
  });

  it('looks who is next when a place is free, and lets them in in the order that it is told', () => {
    const one = started();
    for (const id of ['a', 'b', 'c', 'd', 'e']) one.take(id);
    expect(one.release('b')).toEqual([]);
    expect([one.state, one.wanted]).toEqual([
      'looking',
      [['task.look', { account: 'acc', type: 'import', running: [placeOf('a')], limit: laneLimits.waiting }]],
    ]);
    expect(one.look({ waiting: [placeOf('c'), placeOf('d')], hasMore: true })).toEqual(['c.0']);
    expect(one.release('a')).toEqual(['d.0']);
    expect([one.state, one.context.waiting]).toEqual(['busy', []]);
    one.release('c');
    expect([one.state, one.wanted.length]).toEqual(['looking', 1]);
    expect(one.look({ waiting: [placeOf('e')] })).toEqual(['e.0']);
    one.release('d');
    one.release('e');
    expect([one.state, one.running]).toEqual(['empty', []]);
  });

  it('has lost nobody who came while it looked', () => {
    const one = started(1);
    one.take('a');
    one.take('b');
    one.release('a');
    expect(one.state).toBe('looking');
    expect(one.take('c')).toEqual([]);
    expect(one.look({ waiting: [placeOf('b')] })).toEqual(['b.0']);
    one.release('b');
    expect([one.state, one.wanted.length]).toEqual(['looking', 1]);
    expect(one.look({ waiting: [placeOf('c')] })).toEqual(['c.0']);
  });

  it('lets a round in once, however often it is told of', () => {
    const one = started();
    one.take('a');
    expect(one.take('a')).toEqual([]);
    expect(one.running).toEqual(['a.0']);
    one.take('b');
    one.take('c');
    one.release('b');
    // It looked before it was let in.
    expect(one.look({ waiting: [placeOf('a'), placeOf('c')] })).toEqual(['c.0']);
  });

  it('lets a later round in at the place of the former', () => {
    const one = started(1);
    one.take('a');
    expect(one.take('a', 1)).toEqual(['a.1']);
    expect(one.running).toEqual(['a.1']);
    expect(one.release('a', 0)).toBe(false);
    expect(one.take('a', 0)).toEqual([]);
    expect(one.running).toEqual(['a.1']);
    expect(one.release('a', 2)).toEqual([]);
    expect(one.running).toEqual([]);
  });

  it('forgets who waits and has ended', () => {
    const one = started(1);
    for (const id of ['a', 'b']) one.take(id);
    one.release('a');
    one.look({ waiting: [placeOf('b'), placeOf('c'), placeOf('d')] });
    expect(one.release('c')).toEqual([]);
    expect(one.release('unknown')).toBe(false);
    expect(one.release('b')).toEqual(['d.0']);
  });

  it('has more places or fewer as it is configured', () => {
    const one = started(2);
    for (const id of ['a', 'b', 'c']) one.take(id);
    expect(one.take('d', 0, 4)).toEqual([]);
    expect(one.state).toBe('looking');
    expect(one.look({ waiting: [placeOf('c'), placeOf('d'), placeOf('e')] })).toEqual(['c.0', 'd.0']);
    one.take('f', 0, 1);
    for (const id of ['a', 'b', 'c']) expect(one.release(id, 0, 1)).toEqual([]);
    expect(one.running).toEqual(['d.0']);
  });

  it('looks now and then whether those that it let in are still at it', () => {
    const one = started();
    one.take('a');
    expect(one.due).toBe(1000 + laneLimits.look);
    one.pass(20_000);
    one.take('b');
    expect(one.due).toBe(1000 + laneLimits.look);
    one.take('c');
    one.fire();
    expect(one.state).toBe('looking');
    const found = { gone: [placeOf('a')], untold: [placeOf('b')], waiting: [placeOf('c')] };
    expect(one.look(found)).toEqual(['c.0', 'b.0']);
    expect([one.state, one.running]).toEqual(['busy', ['b.0', 'c.0']]);
    expect(one.due).toBe(1000 + 2 * laneLimits.look);
    one.fire();
    // What it heard itself since counts more.
    one.release('b');
    expect(one.look({ untold: [placeOf('b')], gone: [placeOf('c')] })).toEqual([]);
    expect(one.state).toBe('empty');
    expect(one.due).toBeUndefined();
  });

  it('waits when it cannot look, and goes on with those that it knows', () => {
    const one = started(1);
    one.take('a');
    one.take('b');
    one.release('a');
    one.failToLook();
    expect([one.state, one.due]).toEqual(['held', 1000 + laneLimits.trouble]);
    expect(one.take('c')).toEqual([]);
    expect(one.state).toBe('held');
    one.fire();
    expect(one.state).toBe('looking');
    one.look({ waiting: [placeOf('b'), placeOf('c')] });
    one.fire();
    one.failToLook();
    expect([one.state, one.release('b')]).toEqual(['held', ['c.0']]);
  });

  it('is right after every sequence of four things that can happen', () => {
    /** What the tasks are, so that the lane can look at them. */
    const things: ((one: ReturnType<typeof started>, world: Truth) => void)[] = [
      (one, world) => one.take(world.begin()),
      (_, world) => world.begin(),
      (one, world) => world.ended(one.running[0], (id) => one.release(id)),
      (one, world) => world.ended(one.running[0], () => {}),
      (one, world) => one.state === 'looking' && one.look(world.looked(one.context.running)),
      (one) => one.state === 'looking' && one.failToLook(),
      (one) => one.fire(),
    ];
    const seen = new Set<unknown>();
    for (let path = 0; path < things.length ** 4; path += 1) {
      const one = started();
      const world = new Truth();
      for (let rest = path, n = 0; n < 4; n += 1, rest = Math.floor(rest / things.length)) {
        things[rest % things.length]?.(one, world);
        seen.add(one.state);
        expect(one.running.length).toBeLessThanOrEqual(2);
        expect(new Set(one.context.running.map(({ id }) => id)).size).toBe(one.running.length);
      }
      // It is told of what comes next, and looks: from then on it is as it should be.
      one.take(world.begin());
      for (let n = 0; n < 3; n += 1) {
        if (one.state !== 'looking') one.fire();
        if (one.state === 'looking') one.look(world.looked(one.context.running));
      }
      const right = Math.min(2, world.open.size);
      expect([path, one.running.length]).toEqual([path, right]);
      expect(one.running.every((place) => world.open.has(place.slice(0, -2)))).toBe(true);
    }
    expect(seen).toEqual(new Set(['empty', 'busy', 'looking', 'held']));
  }, 120_000);
});

/** The tasks that a lane is of. */
class Truth {
  /** Those that have not ended, oldest first. */
  readonly open = new Set<string>();
  #count = 0;

  begin(): string {
    const id = `t${this.#count}`;
    this.#count += 1;
    this.open.add(id);
    return id;
  }

  ended(place: string | undefined, tell: (id: string) => void): void {
    if (place === undefined) return;
    const id = place.slice(0, -2);
    this.open.delete(id);
    tell(id);
  }

  looked(running: readonly Place[]): Looked {
    const isIn = (id: string) => running.some((one) => one.id === id);
    return {
      waiting: [...this.open].filter((id) => !isIn(id)).map((id) => placeOf(id)),
      hasMore: false,
      gone: running.filter(({ id }) => !this.open.has(id)),
      untold: [],
    };
  }
}
