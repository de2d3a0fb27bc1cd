import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { begin, freeze, type Step, step, thaw } from '../../core/plugin/step.ts';
import { type Holder, type PushContext, pushMachine } from '../../machines/push.ts';
import { push } from '../../plugins/multistream/push.ts';
import { randomOf } from '../kit/random.ts';

const type = push as never as Parameters<typeof begin>[0];
const began = 1_000_000;
/** The process `p` pushes its beginning `number` of the publish `publish`. */
const held = (p: string, publish: number, number = 1): Holder => ({
  ...{ token: `${p}/${number}`, node: `node-${p}`, incarnation: p, publish, number },
});
const input = {
  push: {
    ...{ id: 'push', pair: 'pair', account: 'a', streamId: 'stream', sessionId: 'session' },
    ...{ targetId: 'target', profile: 'source', name: 'T', createdAt: began },
  },
  holder: held('p', 0),
  stream: { id: 'stream', isActive: true },
};
const trouble = (reason: string) => ({ reason, message: `It met ${reason}.` });
const slowOver = { type: 'xstate.after.slowPause.push.connected.slow' };

type Said = { readonly type: string; readonly [name: string]: unknown };
const begun = (...of: Parameters<typeof held>): Said => ({ type: 'begun', holder: held(...of) });
const connected = (token = 'p/1'): Said => ({ type: 'connected', token });
const ended = (token = 'p/1'): Said => ({ type: 'ended', token });
const failed = (reason = 'connect', token = 'p/1'): Said => ({
  ...{ type: 'failed', token, trouble: trouble(reason) },
});
const lost = (reason = 'closed', token = 'p/1'): Said => ({ type: 'lost', token, trouble: trouble(reason) });
const slow = (token = 'p/1'): Said => ({ type: 'slow', token, trouble: trouble('slow') });
const died = (incarnation = 'p'): Said => ({ type: 'node.lost', incarnation });
const over: Said = { type: 'over' };

const C = 'connected';
const D = 'disconnected';
const error = (reason: string) => `error: It met ${reason}.`;
const death = 'error: The server that pushed the broadcast has ended unexpectedly.';

describe('the push machine', () => {
  it('reaches every state, and each is kept as it is', () => {
    const events = [
      ...[begun('p', 0, 2), begun('q', 1), connected(), failed(), lost(), slow(), ended(), died(), over],
      slowOver,
    ].map((event) => ({ ...event, at: began }));
    const paths = getShortestPaths(pushMachine, { input, events: events as never, limit: 1000 });
    const reached = new Set(paths.map(({ state }) => JSON.stringify(state.value)));
    expect([...reached].sort()).toEqual(
      [
        ...['"connecting"', '"failing"', '"idle"', '"gone"'],
        ...['{"connected":"steady"}', '{"connected":"slow"}'],
      ].sort(),
    );
    for (const { state } of paths) {
      const thawed = thaw(type, { state: freeze(type, state as never), version: push.version });
      expect(thawed.value).toEqual(state.value);
      expect(thawed.context).toEqual(JSON.parse(JSON.stringify(state.context)));
    }
  });

  it.each<[string, Said[], string[]]>([
    ['connects and ends', [connected(), ended()], [C, D]],
    ['connects and is over', [connected(), over], [C, D]],
    ['is over before anything', [over], []],
    ['ends before anything', [ended(), over], []],
    ['hears of everything twice', [connected(), connected(), ended(), ended()], [C, D]],
    [
      'fails for one reason, and for another',
      [failed(), failed(), failed('dns'), failed()],
      [error('connect'), error('dns'), error('connect')],
    ],
    ['fails, and is not wanted any more', [failed(), ended(), over], [error('connect')]],
    ['fails and connects', [failed(), connected(), over], [error('connect'), C, D]],
    [
      'fails anew after it was connected',
      [failed(), connected(), lost(), failed('closed'), failed()],
      [error('connect'), C, error('closed'), D, error('connect')],
    ],
    ['is lost before it was connected', [lost(), lost(), connected()], [error('closed'), C]],
    ['is slow', [connected(), slow(), slow(), lost()], [C, error('slow'), error('closed'), D]],
    [
      'is slow again, much later',
      [connected(), slow(), slowOver, slow(), ended()],
      [C, error('slow'), error('slow'), D],
    ],
    ['is slow when it is not connected', [slow(), failed(), slow()], [error('connect')]],
    [
      'is taken over, and the former says its last later',
      [connected(), begun('q', 1), ended(), lost(), connected('q/1'), lost(), ended()],
      [C, D, C],
    ],
    ['is taken over after it has ended', [connected(), ended(), begun('q', 1), connected('q/1')], [C, D, C]],
    [
      'was taken over already when the former begins late',
      [
        connected(),
        begun('q', 2),
        connected('q/1'),
        begun('p', 1, 2),
        connected('p/2'),
        lost('closed', 'p/2'),
      ],
      [C, D, C],
    ],
    [
      'begins anew in one process',
      [connected(), ended(), begun('p', 0, 2), connected('p/2'), ended('p/2')],
      [C, D, C, D],
    ],
    [
      'goes on with the next publish without a word',
      [
        connected(),
        { type: 'begun', holder: { ...held('p', 4), token: 'p/1' } },
        connected(),
        begun('q', 3),
        over,
      ],
      [C, D],
    ],
    [
      'comes back to a process that another had taken it from',
      [
        ...[connected(), begun('q', 1), connected('q/1')],
        ...[{ type: 'begun', holder: held('p', 2) }, connected(), ended('q/1')],
      ],
      [C, D, C, D, C],
    ],
    ['dies', [connected(), died(), died(), over], [C, death, D]],
    ['dies while it is out of reach', [failed(), died(), over], [error('connect')]],
    [
      'dies, and the next fails as it did',
      [failed(), died(), begun('q', 1), failed('connect', 'q/1'), failed('dns', 'q/1')],
      [error('connect'), error('dns')],
    ],
    [
      'dies, and says something later',
      [connected(), died(), begun('p', 0, 2), connected('p/2'), lost()],
      [C, death, D],
    ],
    ['is not that of the process that dies', [connected(), died('q'), over], [C, D]],
    [
      'forgets why it failed when it is not wanted any more',
      [failed(), ended(), begun('p', 0, 2), failed('connect', 'p/2')],
      [error('connect'), error('connect')],
    ],
  ])('that %s tells that, and nothing else', (_, said, told) => {
    const r = run();
    for (const one of said) r.says(one);
    expect(r.told).toEqual(told);
  });

  it('says what its stream and target are by now', () => {
    const r = run();
    r.says({ ...connected(), stream: { id: 'stream', viewerCount: 3 }, name: 'Renamed' });
    expect(r.events).toEqual([
      {
        ...{ account: 'a', stream: 'stream' },
        body: {
          stream: { id: 'stream', viewerCount: 3 },
          payload: { target: { id: 'target', name: 'Renamed', profile: 'source' } },
        },
      },
    ]);
  });

  it('whatever is said in whatever order: alternates, tells no reason twice, and says an error before a loss', () => {
    const random = randomOf(7);
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
    let longest = 0;
    let errors = 0;
    for (let round = 0; round < 600; round += 1) {
      const r = run();
      const tokens = ['p/1', 'p/2', 'p/3', 'q/1', 'q/2', 'r/1'];
      const all: (() => Said)[] = [
        () => begun(pick(['p', 'q', 'r']), Math.floor(random() * 4), 1 + Math.floor(random() * 3)),
        () => connected(pick(tokens)),
        () => connected(r.context.holder?.token),
        () => failed(pick(['connect', 'dns']), pick(tokens)),
        () => failed(pick(['connect', 'dns']), r.context.holder?.token),
        () => lost(pick(['closed', 'connect']), r.context.holder?.token),
        () => slow(r.context.holder?.token),
        () => ended(pick(tokens)),
        () => ended(r.context.holder?.token),
        () => died(pick(['p', 'q', 'r'])),
        () => (random() < 0.05 ? over : connected(r.context.holder?.token)),
      ];
      let reason: string | undefined;
      for (let n = 0; n < 40; n += 1) {
        const said = pick(all)();
        const wasConnected = r.isConnected;
        const told = r.says(said);
        // What was refused or changed nothing is as if it had not been said.
        const again = r.says(said);
        expect(again, JSON.stringify(said)).toEqual([]);
        for (const one of told) {
          if (one === C) reason = undefined;
          if (!one.startsWith('error')) continue;
          errors += 1;
          if (said.type === 'failed') expect(one).not.toBe(reason);
          if (said.type !== 'slow') reason = one;
        }
        if (said.type === 'ended' && !r.context.holder) reason = undefined;
        if (wasConnected && !r.isConnected) {
          const isLoss = said.type === 'lost' || said.type === 'node.lost';
          expect(told.map((one) => one.split(':')[0])).toEqual(isLoss ? ['error', D] : [D]);
        } else if (!wasConnected && r.isConnected) expect(told).toEqual([C]);
        else expect(told.filter((one) => !one.startsWith('error'))).toEqual([]);
      }
      const words = r.told.filter((one) => one === C || one === D);
      expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? C : D)));
      longest = Math.max(longest, words.length);
    }
    expect(longest).toBeGreaterThan(6);
    expect(errors).toBeGreaterThan(500);
  });
});

/** One push, step by step. */
function run() {
  let at = began;
  const told: string[] = [];
  const events: unknown[] = [];
  let snapshot: AnyMachineSnapshot;
  let isOver = false;
  const take = (next: Step) => {
    snapshot = next.snapshot;
    isOver = next.isDone;
    return next.emitted.map((emitted) => {
      const { type: name, error: why } = emitted as { type: string; error?: string };
      events.push(type.describe(emitted, next.snapshot.context, { at, tools: undefined }));
      told.push(`${name.replace('multistream.', '')}${why === undefined ? '' : `: ${why}`}`);
      return told.at(-1) as string;
    });
  };
  take(begin(type, input, at));
  return {
    told,
    events,
    get context() {
      return snapshot.context as PushContext;
    },
    get isConnected() {
      return typeof snapshot.value === 'object';
    },
    /** What it tells then; nothing when it refuses. */
    says(command: Said) {
      at += 1000;
      const next = isOver ? undefined : step(type, snapshot, { ...command, at });
      return next ? take(next) : [];
    },
  };
}
