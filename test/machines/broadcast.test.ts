import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { jsonLog } from '../../core/base/log.ts';
import { begin, freeze, step, thaw } from '../../core/plugin/step.ts';
import type { BroadcastContext } from '../../machines/broadcast-context.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost } from '../../runtime/actors/host.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { bareBroadcast, figures, publish, settings } from '../kit/broadcast-actor.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const type = bareBroadcast as never as Parameters<typeof begin>[0];
const began = 1_000_000;

/** Everything that can be said to a broadcast, the tokens as they would be at that moment. */
function commands(context: BroadcastContext): { type: string }[] {
  const token = context.session?.publish?.token ?? 'none';
  const next = `p${context.publishCount + 1}`;
  return [
    publish(next),
    { ...publish(next), streamKey: 'wrong' } as { type: string },
    { type: 'playable', token, figures: figures(began) } as { type: string },
    { type: 'playable', token: 'stale', figures: figures(began) } as { type: string },
    { type: 'progress', token, figures: figures(began) } as { type: string },
    { type: 'closed', token, isClean: true, figures: figures(began) } as { type: string },
    { type: 'closed', token, isClean: false, figures: figures(began) } as { type: string },
    { type: 'closed', token: 'stale', isClean: true, figures: figures(began) } as { type: string },
    {
      type: 'closed',
      token: context.session?.leaving[0]?.token ?? 'none',
      isClean: true,
      figures: figures(began),
    } as { type: string },
    { type: 'node.lost', incarnation: 'i1', aliveAt: began } as { type: string },
    { type: 'node.lost', incarnation: 'other', aliveAt: began } as { type: string },
    { type: 'change', changes: { suspended: true } } as { type: string },
    { type: 'change', changes: { suspended: false } } as { type: string },
    { type: 'rotateKey', streamKey: settings.streamKey } as { type: string },
    { type: 'terminate' },
    { type: 'delete' },
    { type: 'xstate.after.hold.broadcast.onAir.held' },
    { type: 'xstate.after.reconnectWindow.broadcast.recent' },
  ];
}

interface Path {
  readonly commands: { type: string }[];
  readonly snapshot: AnyMachineSnapshot;
  readonly emitted: string[];
}

/** One shortest path to every state of interest and every way out of it. */
function paths(): Path[] {
  const first = begin(type, settings, began);
  const seen = new Set<string>();
  const all: Path[] = [];
  let edge: Path[] = [{ commands: [], snapshot: first.snapshot, emitted: [] }];
  while (edge.length > 0) {
    const next: Path[] = [];
    for (const path of edge) {
      for (const command of commands(path.snapshot.context)) {
        const taken = step(type, path.snapshot, { ...command, at: began } as never);
        if (!taken) continue;
        const emitted = taken.emitted.map((one) => one.type);
        const longer = {
          commands: [...path.commands, command],
          snapshot: taken.snapshot,
          emitted: [...path.emitted, ...emitted],
        };
        all.push(longer);
        const key = keyOf(taken.snapshot);
        if (seen.has(key) || taken.isDone) continue;
        seen.add(key);
        next.push(longer);
      }
    }
    edge = next;
  }
  return all;
}

function keyOf({ value, context }: AnyMachineSnapshot): string {
  const { session, isActive, stream } = context as BroadcastContext;
  const isLeaving = (session?.leaving.length ?? 0) > 0;
  const isFed = session?.publish !== null;
  return JSON.stringify([value, isActive, stream.suspended, session?.hasStarted, isFed, isLeaving]);
}

describe('the broadcast machine', () => {
  const all = paths();

  it('reaches every state', () => {
    const reached = new Set(all.map(({ snapshot }) => JSON.stringify(snapshot.value)));
    expect([...reached].sort()).toEqual(
      ['"deleted"', '"off"', '"recent"', '"starting"', '{"onAir":"held"}', '{"onAir":"live"}'].sort(),
    );
    expect(all.length).toBeGreaterThan(60);
  });

  it('tells started and idle in turns, and is active in between', () => {
    for (const { emitted, snapshot } of all) {
      const events = emitted.filter((name) => ['stream.started', 'stream.idle'].includes(name));
      events.forEach((name, index) => {
        expect(name).toBe(index % 2 === 0 ? 'stream.started' : 'stream.idle');
      });
      expect((snapshot.context as BroadcastContext).isActive).toBe(events.length % 2 === 1);
    }
  });

  it('tells of each session that it is over once, after idle, and never that one is over which never played', () => {
    const letters: Record<string, string> = {
      'session.started': 's',
      'session.idle': 'i',
      'session.over': 'o',
    };
    for (const { emitted, snapshot } of all) {
      const told = emitted.map((name) => letters[name] ?? '').join('');
      expect(told).toMatch(/^((si)+o)*(si)*s?$/);
      const { value } = snapshot;
      const { session } = snapshot.context as BroadcastContext;
      const isOver = value === 'off' || value === 'deleted';
      if (session?.hasStarted)
        expect([value, told.at(-1)]).toEqual([value, isOver ? 'o' : expect.not.stringContaining('o')]);
      else expect([value, told.at(-1) ?? 'o']).toEqual([value, 'o']);
    }
  });

  it('is fed by someone in starting and live, and by nobody elsewhere', () => {
    for (const { snapshot } of all) {
      const isFed = (snapshot.context as BroadcastContext).session?.publish != null;
      const value = JSON.stringify(snapshot.value);
      if (value === '"deleted"') continue;
      expect([value, isFed]).toEqual([value, value === '"starting"' || value === '{"onAir":"live"}']);
    }
  });

  it('is the same after its snapshot went through JSON', () => {
    for (const { snapshot } of all) {
      const thawed = thaw(type, { state: freeze(type, snapshot), version: 1 });
      expect(thawed.value).toEqual(snapshot.value);
      expect(thawed.context).toEqual(JSON.parse(JSON.stringify(snapshot.context)));
    }
  });

  it('takes the same paths through the kernel, every snapshot stored and read back', async () => {
    const store = sqliteStore({ file: ':memory:' });
    const clock = virtualClock({ start: began });
    const events: string[] = [];
    const host = new ActorHost({
      store,
      clock,
      leases: await store.acquire(16),
      log: jsonLog({ level: 'error', now: () => 0, write: (line) => events.push(line) }),
      types: new ActorTypes([{ type, tools: undefined }]),
      // Nothing is kept in memory: each step begins from what the store holds.
      hotActors: 0,
      onEvent: (event) => events.push(event.type),
      onOrders: (orders) => events.push(...orders.map((order) => order.type)),
      onFenced: () => events.push('fenced'),
    });
    for (const [index, path] of all.entries()) {
      const id = `stream-${index}`;
      const own = { ...settings, id, streamKey: `key-${index}` };
      events.length = 0;
      await host.spawn(bareBroadcast, id, own);
      for (const command of path.commands) {
        const mine =
          'streamKey' in command && command.streamKey === settings.streamKey
            ? { ...command, streamKey: own.streamKey }
            : command;
        await host.ask(bareBroadcast, id, mine);
      }
      const isOrder = (name: string) => name.startsWith('order.');
      expect(events.filter(isOrder)).toEqual(path.emitted.filter(isOrder));
      expect(events.filter((name) => !isOrder(name))).toEqual(path.emitted.filter((name) => !isOrder(name)));
      const view = await host.read(bareBroadcast, id);
      if (path.snapshot.status === 'done') expect(view).toBeUndefined();
      else expect(view.value).toEqual(path.snapshot.value);
    }
    await host.stop();
    await store.close();
  });
});
