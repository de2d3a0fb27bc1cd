import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { world } from '../kit/world.ts';

function reacting(run: (type: string) => Promise<void>): Plugin {
  return definePlugin({
    id: 'reacting',
    summary: 'reacts',
    reactions: {
      'stream.started': (event) => run(event.type),
      'stream.idle': (event) => run(event.type),
    },
  });
}

describe('reactions', () => {
  it('happen at least once, also to the very first event when the process dies over it', async () => {
    const seen: string[] = [];
    let isBroken = true;
    const plugin = reacting(async (type) => {
      if (isBroken) throw new Error('not yet');
      seen.push(type);
    });
    await using w = await world({ plugins: [accounts, streams, plugin] as Plugin[], durable: true });
    await w.given.broadcast(await w.given.stream());
    await w.crash({ downFor: '1s' });
    isBroken = false;
    await w.advance('2s');
    expect(seen).toEqual(['stream.started']);
  });

  it('are tried again a second later, in order, however many events come meanwhile', async () => {
    const tries: string[] = [];
    const plugin = reacting(async (type) => {
      tries.push(type);
      if (tries.length < 3) throw new Error('not yet');
    });
    await using w = await world({ plugins: [accounts, streams, plugin] as Plugin[] });
    const publish = await w.given.broadcast(await w.given.stream());
    publish.end({ clean: true });
    await w.settle();
    expect(tries).toEqual(['stream.started']);
    await w.advance('2s');
    expect(tries).toEqual(['stream.started', 'stream.started', 'stream.started', 'stream.idle']);
  });

  it('that fail while the program stops are left to the next start', async () => {
    let fail = () => {};
    const plugin = reacting(
      () =>
        new Promise((_, reject) => {
          fail = () => reject(new Error('no more'));
        }),
    );
    // Disposing fails when a timer is left behind.
    await using w = await world({ plugins: [accounts, streams, plugin] as Plugin[] });
    await w.given.broadcast(await w.given.stream());
    const stopped = w.stop();
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    fail();
    await stopped;
    expect(w.lines.join()).not.toContain('it is tried again');
  });
});
