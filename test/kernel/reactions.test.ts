import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { emitter } from '../kit/emitter.ts';
import { type World, world } from '../kit/world.ts';

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

  it('that fail for ever hold up their own stream and no other, also over a crash', async () => {
    const { plugin: source, emit } = emitter();
    const seen: string[] = [];
    let isBroken = true;
    const plugin = definePlugin({
      id: 'reacting',
      summary: 'reacts',
      reactions: {
        '*': async ({ id, stream }) => {
          if (isBroken && stream === 'bad' && id === 'emitted/1/stream.started') throw new Error('a bug');
          seen.push(`${stream} ${id.split('/')[1]}`);
        },
      },
    });
    await using w = await world({ plugins: [accounts, streams, source, plugin] as Plugin[], durable: true });
    // More of both than one reading of the log has, and the same stream id of another account.
    const emitSome = async (streamIds: string[]) => {
      for (const stream of streamIds) await emit({ type: 'stream.started', account: 'one', stream });
      await emit({ type: 'stream.started', account: 'two', stream: 'bad' });
      await w.settle();
    };
    await emitSome(Array.from({ length: 250 }, (_, index) => (index % 2 === 0 ? 'bad' : 'good')));
    const own = (stream: string) => seen.filter((one) => one.startsWith(stream));
    expect(own('good')).toHaveLength(125);
    expect(own('bad')).toEqual(['bad 251']);
    await w.advance('1m');
    expect(seen).toHaveLength(126);
    const errors = () => w.lines.filter((line) => line.includes('a reaction failed'));
    expect(errors()).toHaveLength(6);

    await w.crash({ downFor: '1s' });
    await emitSome(['good', 'bad']);
    expect(own('good').at(-1)).toBe('good 252');
    seen.length = 0;
    isBroken = false;
    await w.advance('1s');
    const numbers = own('bad').map((one) => Number(one.split(' ')[1]));
    expect(numbers).toEqual([...Array.from({ length: 125 }, (_, index) => 2 * index + 1), 253]);

    seen.length = 0;
    await w.crash({ downFor: '1s' });
    expect(seen).toEqual([]);
  });

  it('that fail for long are tried ever more rarely: each second, every 10 s after 5 min, each minute after an hour', async () => {
    let tries = 0;
    const plugin = reacting(async () => {
      tries += 1;
      throw new Error('a bug');
    });
    await using w = await world({ plugins: [accounts, streams, plugin] as Plugin[] });
    const publish = await w.given.broadcast(await w.given.stream());
    publish.end({ clean: true });
    const during = async (time: string) => {
      const before = tries;
      await w.advance(time);
      return tries - before;
    };
    expect(await during('5m')).toBe(300);
    expect(await during('10m')).toBe(60);
    await w.advance('46m');
    expect(await during('10m')).toBe(10);
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
    expect(w.lines.join()).not.toContain('trying again');
  });

  it('that hang are told after 10 s: in the log, in the metrics and to whoever asks whether all is well', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using w = await world({ plugins: [accounts, streams, reacting(() => promise)] as Plugin[] });
    await w.given.broadcast(await w.given.stream());
    const told = () => w.lines.filter((line) => line.includes('a reaction does not end'));
    const ready = async () => (await w.request('GET', '/health/ready')).body;
    await w.advance('9s');
    expect([told(), await ready()]).toEqual([[], { status: 'ready' }]);
    await w.advance('1s');
    expect(told()).toEqual([expect.stringMatching(/"plugin":"reacting".*"type":"stream.started"/)]);
    const issue = 'Reactions of the plugin reacting do not end: later events wait. The log names them.';
    expect(await ready()).toEqual({ status: 'ready', issues: [issue] });
    expect(await metricsOf(w)).toContain('millrace_reactions_hanging{plugin="reacting"} 1');
    resolve();
    await w.advance('1m');
    expect([told().length, await ready()]).toEqual([1, { status: 'ready' }]);
    expect(await metricsOf(w)).toContain('millrace_reactions_hanging{plugin="reacting"} 0');
  });

  it('that fail are told for as long as events wait for them', async () => {
    let isBroken = true;
    const plugin = reacting(async () => {
      if (isBroken) throw new Error('a bug');
    });
    await using w = await world({ plugins: [accounts, streams, plugin] as Plugin[] });
    await w.given.broadcast(await w.given.stream());
    await w.advance('1s');
    const ready = async () => (await w.request('GET', '/health/ready')).body;
    const issue =
      'Reactions of the plugin reacting fail and are tried again: later events of their streams wait.';
    expect(await ready()).toEqual({ status: 'ready', issues: [issue] });
    expect(await metricsOf(w)).toContain('millrace_reaction_failures_total{plugin="reacting"} 2');
    expect(await metricsOf(w)).toContain('millrace_reaction_streams_held{plugin="reacting"} 1');
    isBroken = false;
    await w.advance('1s');
    expect(await ready()).toEqual({ status: 'ready' });
    expect(await metricsOf(w)).toContain('millrace_reaction_streams_held{plugin="reacting"} 0');
  });
});

async function metricsOf(w: World): Promise<string> {
  return (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
}
