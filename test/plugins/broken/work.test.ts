import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { assign, emit, setup } from 'xstate';
import { says } from '../../../core/http/http.ts';
import { nothing } from '../../../core/http/operation.ts';
import type { ActorType } from '../../../core/plugin/actor.ts';
import type { Kit, Plugin } from '../../../core/plugin/plugin.ts';
import { courierActor, courierPlugin } from '../../kit/courier.ts';
import type { World } from '../../kit/world.ts';
import { broken, expectTheRestToWork, issuesOf, metricsOf, worldWith } from './kit.ts';

const never = new Promise<never>(() => {});
const fails = (what: string) => (): never => {
  throw new TypeError(what);
};

/** A plugin whose work a test hands over to the actors. */
function reaching(more: Partial<Plugin> = {}): { plugin: Plugin; kit: () => Kit } {
  let kit: Kit | undefined;
  const start = (given: Kit): undefined => {
    kit = given;
  };
  return { plugin: broken({ ...more, start }), kit: () => kit as Kit };
}

describe('an effect of a plugin', () => {
  const courier = async (run: () => unknown) => {
    const { plugin, kit } = reaching();
    const w = await worldWith([plugin, courierPlugin], {
      effects: { 'courier.deliver': async () => run() },
    });
    await kit().actors.spawn(courierActor, 'a', {});
    await kit().actors.ask(courierActor, 'a', { type: 'carry', parcel: { parcel: 'one' } });
    await w.settle();
    return { w, receipts: async () => (await kit().actors.read(courierActor, 'a'))?.context.receipts };
  };

  it('that always throws is tried as often as it says; then its machine hears why', async () => {
    let tries = 0;
    const { w, receipts } = await courier(() => {
      tries += 1;
      throw new TypeError('no road');
    });
    await using _ = w;
    await expectTheRestToWork(w);
    await w.advance('1m');
    expect(tries).toBe(3);
    expect(await receipts()).toEqual([{ code: 'job.failed', message: 'no road', attempts: 3 }]);
    expect(await issuesOf(w)).toEqual([]);
  });

  it.each([
    ['a number too large for JSON', () => ({ status: 10n }), 'job.output_invalid', 'its output is not JSON'],
    ['a function', () => () => {}, 'job.output_invalid', 'its output, a function, is no JSON'],
    [
      'far too much',
      () => 'x'.repeat(300_000),
      'job.output_too_large',
      'its output is larger than 262144 bytes',
    ],
  ])('with an output that is %s fails once and for all', async (_, output, code, message) => {
    let tries = 0;
    const { w, receipts } = await courier(() => {
      tries += 1;
      return output();
    });
    await using __ = w;
    await expectTheRestToWork(w);
    await w.advance('1m');
    expect(tries).toBe(1);
    expect(await receipts()).toEqual([expect.objectContaining({ code, attempts: 1 })]);
    expect((await receipts())?.[0]).toMatchObject({ message: expect.stringContaining(message) });
  });
});

type Fuse = 'action' | 'guard' | 'rows' | 'describe' | 'timer' | 'none';

/** An actor that fails where it is told to. */
const bombMachine = setup({
  types: {
    context: {} as { fuse: Fuse; count: number },
    events: {} as { type: 'set'; fuse: Fuse; at: number } | { type: 'count'; at: number },
    emitted: {} as { type: 'broken.counted'; fuse: Fuse },
    input: {} as { fuse: Fuse },
  },
  guards: {
    isFine: ({ context }) => (context.fuse === 'guard' ? fails('a guard')() : true),
  },
  delays: { while: 60_000 },
}).createMachine({
  id: 'bomb',
  context: ({ input }) => ({ fuse: input.fuse, count: 0 }),
  initial: 'on',
  states: {
    on: {
      on: {
        set: { actions: assign(({ event }) => ({ fuse: event.fuse })) },
        count: {
          guard: 'isFine',
          actions: [
            assign(({ context }) => {
              if (context.fuse === 'action') fails('an action')();
              return { count: context.count + 1 };
            }),
            emit(({ context }) => ({ type: 'broken.counted' as const, fuse: context.fuse })),
          ],
        },
      },
      after: {
        while: {
          target: 'on',
          reenter: true,
          actions: assign(({ context }) => (context.fuse === 'timer' ? fails('a timer')() : {})),
        },
      },
    },
  },
});

const bomb: ActorType<typeof bombMachine> = {
  type: 'bomb',
  machine: bombMachine,
  version: 1,
  rows: ({ fuse, count }) => (fuse === 'rows' && count > 0 ? fails('its rows')() : []),
  describe: (_, { fuse }) =>
    fuse === 'describe' ? fails('its event')() : { account: '', stream: '', body: {} },
};

describe('a machine of a plugin', () => {
  const bombs = async () => {
    const { plugin, kit } = reaching({
      actors: [bomb],
      emits: { 'broken.counted': 'It counted.' },
      routes: (given) =>
        new Elysia().post(
          '/broken/:id',
          async ({ params }) => {
            await given.actors.ask(bomb, params.id, { type: 'count' });
            return new Response(null, { status: 204 });
          },
          says('Counts.', { name: 'count', isOpen: true, answers: { 204: nothing } }),
        ),
    });
    const w = await worldWith([plugin]);
    return { w, actors: kit().actors };
  };
  const count = (w: World, id: string) => w.request('POST', `/broken/${id}`, { key: null });

  it.each(['action', 'guard', 'rows', 'describe'] as const)(
    'that throws in its %s refuses that command, and no other: 500, nothing changed',
    async (fuse) => {
      const { w, actors } = await bombs();
      await using _ = w;
      for (const id of ['a', 'b']) await actors.spawn(bomb, id, { fuse: id === 'a' ? fuse : 'none' });
      const { status, body } = await count(w, 'a');
      expect([status, body.code]).toEqual([500, 'internal']);
      expect((await actors.read(bomb, 'a'))?.context).toEqual({ fuse, count: 0 });
      expect((await count(w, 'b')).status).toBe(204);
      await expectTheRestToWork(w);
      await actors.ask(bomb, 'a', { type: 'set', fuse: 'none' });
      expect((await count(w, 'a')).status).toBe(204);
    },
  );

  it('that throws in a timer gets no other actor into trouble, and goes on when it can', async () => {
    const { w, actors } = await bombs();
    await using _ = w;
    await actors.spawn(bomb, 'a', { fuse: 'timer' });
    await w.advance('11m');
    // Ever more rarely, and at least once a minute.
    const lines = w.lines.filter((line) => /a timer could not be run.*TypeError: a timer/.test(line));
    expect(lines.map((line) => JSON.parse(line).tries)).toEqual([1, 2, 4, 8]);
    await expectTheRestToWork(w);
    // The command is taken although the timer before it is not.
    expect((await count(w, 'a')).status).toBe(204);
  });
});

describe('an order of a plugin', () => {
  it('that throws is tried again, and holds up no other order', async () => {
    const machine = setup({
      types: { events: {} as { type: 'go'; at: number }, emitted: {} as { type: 'order.broken' } },
    }).createMachine({
      id: 'orders',
      on: { go: { actions: emit({ type: 'order.broken' }) } },
    });
    const orders: ActorType<typeof machine> = {
      ...{ type: 'orders', machine, version: 1 },
      rows: () => [],
      describe: () => ({ account: '', stream: '', body: {} }),
    };
    let tries = 0;
    const { plugin, kit } = reaching({
      actors: [orders],
      orders: {
        'order.broken'() {
          tries += 1;
          throw new TypeError('no order');
        },
      },
    });
    await using w = await worldWith([plugin]);
    await kit().actors.spawn(orders, 'a', undefined);
    await kit().actors.ask(orders, 'a', { type: 'go' });
    await expectTheRestToWork(w);
    await w.advance('1m');
    expect(tries).toBeGreaterThan(5);
    expect(await w.store.orders()).toHaveLength(1);
    const { id } = await w.given.stream();
    expect((await w.request('DELETE', `/api/stream/${id}`)).status).toBe(204);
  });
});

describe('a reaction of a plugin', () => {
  it('that throws is tried each second, and only its stream waits', async () => {
    const { plugin } = reaching({ reactions: { 'stream.started': fails('no reaction') } });
    await using w = await worldWith([plugin]);
    await expectTheRestToWork(w);
    await w.advance('10s');
    expect(await issuesOf(w)).toEqual([
      'Reactions of the plugin broken fail and are tried again: later events of their streams wait.',
    ]);
    expect(await metricsOf(w)).toMatch(/millrace_reaction_failures_total\{plugin="broken"\} 1[01]/);
    await expectTheRestToWork(w);
  });

  it('that hangs is told after 10 s, and the reactions of others go on', async () => {
    const seen: string[] = [];
    const { plugin } = reaching({ reactions: { 'stream.started': () => never } });
    const other = broken({ reactions: { 'stream.started': async () => void seen.push('started') } }, 'other');
    await using w = await worldWith([plugin, other]);
    await expectTheRestToWork(w);
    await w.advance('10s');
    expect(await issuesOf(w)).toEqual([
      'Reactions of the plugin broken do not end: later events wait. The log names them.',
    ]);
    await expectTheRestToWork(w);
    expect(seen).toEqual(['started', 'started']);
  });
});
