import { describe, expect, it } from 'vitest';
import { begin, freeze, step, thaw } from '../../core/plugin/step.ts';
import type { BroadcastContext } from '../../machines/broadcast-context.ts';
import { bareBroadcast, figures, publish, settings } from '../kit/broadcast-actor.ts';

const type = bareBroadcast as never as Parameters<typeof begin>[0];
const began = 1_000_000;

/** A broadcast that is told things at a time, in seconds since it began; each answers whether it took them. */
function broadcast() {
  let { snapshot } = begin(type, settings, began);
  let count = 0;
  const tell = (command: { type: string }, second: number) => {
    const taken = step(type, snapshot, { ...command, at: began + second * 1000 } as never);
    if (taken) snapshot = taken.snapshot;
    return taken !== undefined;
  };
  const context = () => snapshot.context as BroadcastContext;
  return {
    tell,
    context,
    publish(second: number, more: Record<string, unknown> = {}) {
      count += 1;
      return tell({ ...publish(`p${count}`), ...more } as never, second);
    },
    close(second: number, isClean: boolean) {
      const token = context().session?.publish?.token;
      const at = began + second * 1000;
      return tell({ type: 'closed', token, isClean, figures: figures(at) } as never, second);
    },
    play(second: number) {
      const token = context().session?.publish?.token;
      const at = began + second * 1000;
      return tell({ type: 'playable', token, figures: figures(at) } as never, second);
    },
    restore() {
      snapshot = thaw(type, { state: freeze(type, snapshot), version: 1 });
    },
  };
}

describe('the takeover brake', () => {
  it.each(['starting', 'on air'])('refuses newcomers for 30 s after three takeovers, %s', (where) => {
    const b = broadcast();
    b.publish(0);
    if (where === 'on air') b.play(0);
    expect([b.publish(1), b.publish(2), b.publish(10)]).toEqual([true, true, true]);
    expect([b.publish(10), b.publish(39.999)]).toEqual([false, false]);
    expect(b.context().session?.publish?.token).toBe('p4');
    expect(b.publish(40)).toBe(true);
  });

  it('counts takeovers within 60 s, and no older ones', () => {
    const b = broadcast();
    b.publish(0);
    for (const second of [0, 30.5, 61, 91.5, 122, 152.5]) expect(b.publish(second)).toBe(true);
    const exactly = broadcast();
    exactly.publish(0);
    for (const second of [0, 30, 60]) expect(exactly.publish(second)).toBe(true);
    expect(exactly.publish(61)).toBe(false);
  });

  it('goes on for as long as they fight: one takeover each 30 s', () => {
    const b = broadcast();
    b.publish(0);
    const taken = [];
    for (let second = 1; second <= 120; second += 1) if (b.publish(second)) taken.push(second);
    expect(taken.slice(0, 3)).toEqual([1, 2, 3]);
    expect(taken.length).toBeLessThanOrEqual(9);
  });

  it('lets a newcomer in as soon as nobody broadcasts', () => {
    const b = broadcast();
    b.publish(0);
    b.play(0);
    for (const second of [1, 2, 3]) b.publish(second);
    expect(b.publish(4)).toBe(false);
    b.close(5, false);
    expect(b.publish(6)).toBe(true);
  });

  it('does not count an encoder that comes back after its connection broke', () => {
    const b = broadcast();
    b.publish(0);
    b.play(0);
    for (const second of [1, 2, 3, 4, 5]) {
      b.close(second, second % 2 === 0);
      expect(b.publish(second)).toBe(true);
      b.play(second);
    }
    expect(b.publish(6)).toBe(true);
  });

  it('is forgotten with a new key', () => {
    const b = broadcast();
    b.publish(0);
    for (const second of [1, 2, 3]) b.publish(second);
    b.tell({ type: 'rotateKey', streamKey: 'new' } as never, 4);
    expect(b.publish(5, { streamKey: 'new' })).toBe(true);
    expect(b.publish(6, { streamKey: 'new' })).toBe(true);
  });

  it('outlives the process', () => {
    const b = broadcast();
    b.publish(0);
    for (const second of [1, 2, 3]) b.publish(second);
    b.restore();
    expect([b.publish(4), b.publish(33)]).toEqual([false, true]);
  });
});

describe('a key that is refused while it is in use', () => {
  it('lets nobody take over, and everybody in when it is free', () => {
    const b = broadcast();
    const refuse = { busyKey: 'refuse' };
    expect(b.publish(0, refuse)).toBe(true);
    expect(b.publish(1, refuse)).toBe(false);
    b.play(1);
    expect(b.publish(2, refuse)).toBe(false);
    b.close(3, false);
    expect(b.publish(4, refuse)).toBe(true);
  });
});

describe('where the playlist is', () => {
  const orders = (taken: { emitted: readonly { type: string }[] } | undefined) =>
    taken?.emitted.filter(({ type: name }) => name.startsWith('order.'));
  const on = (node: string, token: string) => ({ ...publish(token), node, incarnation: `${node}-1` });
  const tell = (snapshot: ReturnType<typeof begin>['snapshot'], command: object, second: number) => {
    const taken = step(type, snapshot, { ...command, at: began + second * 1000 } as never);
    if (!taken) throw new Error('it was refused');
    return taken;
  };
  const playing = () => {
    const { snapshot } = tell(begin(type, settings, began).snapshot, on('m', 'p1'), 0);
    return tell(snapshot, { type: 'playable', token: 'p1', figures: figures(began) }, 1).snapshot;
  };
  const close = { type: 'order.publish.close', token: 'p1', node: 'm', incarnation: 'm-1' };
  const retire = {
    type: 'order.output.retire',
    playbackId: settings.playbackId,
    node: 'm',
    incarnation: 'm-1',
  };

  it('is named in every order, with the publish up to which it is meant', () => {
    expect(orders(tell(playing(), { type: 'terminate' }, 2))).toEqual([
      { ...close, reason: 'The broadcast was stopped.' },
      { ...retire, publish: 1 },
    ]);
  });

  it('is left when another node takes over, not when the same does, nor a later process of it', () => {
    const taken = tell(playing(), on('n', 'p2'), 2);
    expect(orders(taken)).toEqual([expect.objectContaining(close), { ...retire, publish: 1 }]);
    expect(orders(tell(taken.snapshot, { type: 'terminate' }, 3))).toEqual([
      expect.objectContaining({ token: 'p2', node: 'n' }),
      { ...retire, node: 'n', incarnation: 'n-1', publish: 2 },
    ]);
    expect(orders(tell(playing(), on('m', 'p2'), 2))).toEqual([expect.objectContaining(close)]);
    const again = { ...on('m', 'p2'), incarnation: 'm-2' };
    expect(orders(tell(playing(), again, 2))).toEqual([expect.objectContaining(close)]);
  });

  it('is nowhere when its process is lost', () => {
    const lost = tell(playing(), { type: 'node.lost', incarnation: 'm-1', aliveAt: began }, 2);
    expect(orders(tell(lost.snapshot, on('n', 'p2'), 3))).toEqual([]);
    expect(orders(tell(lost.snapshot, { type: 'terminate' }, 3))).toEqual([]);
  });

  it('is retired once', () => {
    const over = tell(playing(), { type: 'closed', token: 'p1', isClean: true, figures: figures(began) }, 2);
    expect(orders(over)).toEqual([{ ...retire, publish: 1 }]);
    expect(orders(tell(over.snapshot, on('n', 'p2'), 3))).toEqual([]);
  });

  it('is known of states from before only while somebody publishes', () => {
    const outdated = (snapshot: ReturnType<typeof playing>) => {
      const plain = JSON.parse(freeze(type, snapshot));
      delete plain.context.feeder;
      delete plain.context.session.nodes;
      return thaw(type, { state: JSON.stringify(plain), version: 1 });
    };
    const live = outdated(playing());
    expect(orders(tell(live, on('n', 'p2'), 2))).toEqual([
      expect.objectContaining(close),
      { ...retire, publish: 1 },
    ]);
    const broken = { type: 'closed', token: 'p1', isClean: false, figures: figures(began) };
    const held = outdated(tell(playing(), broken, 2).snapshot);
    expect(orders(tell(held, on('n', 'p2'), 3))).toEqual([]);
    expect(orders(tell(held, { type: 'terminate' }, 3))).toEqual([]);
    const back = tell(held, on('n', 'p2'), 3);
    expect((back.snapshot.context as BroadcastContext).session?.nodes).toEqual(['n']);
  });
});
