import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { Fault } from '../../core/base/fault.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { field, resource } from '../../core/plugin/resource.ts';
import { token } from '../../core/plugin/token.ts';
import { job } from '../../machines/job.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { planned } from '../../runtime/boot/plan.ts';
import { world } from '../kit/world.ts';

const greeting = token<string>('greeting');

function problemsOf(plugins: Plugin[], config: Record<string, unknown> = {}): readonly string[] {
  try {
    planned(plugins.map((plugin) => ({ plugin, config: config[plugin.id] })));
  } catch (error) {
    if (error instanceof Fault) return error.problems;
    throw error;
  }
  return [];
}

const plugin = (id: string, more: Partial<Plugin> = {}): Plugin => definePlugin({ id, summary: id, ...more });

describe('boot', () => {
  it('names the plugin whose stop hangs or throws, and stops the others all the same', async () => {
    const stopped: string[] = [];
    const w = await world({
      plugins: [
        plugin('first', { start: () => () => void stopped.push('first') }),
        plugin('hangs', { start: () => () => new Promise<void>(() => {}) }),
        plugin('throws', { start: () => () => Promise.reject(new Error('it was open')) }),
      ],
    });
    await w.stop();
    expect(stopped).toEqual(['first']);
    const told = w.lines.filter((line) => line.includes('a part did not stop cleanly'));
    expect(told).toEqual([
      expect.stringMatching(/"part":"plugin throws".*it was open/),
      expect.stringMatching(/"part":"plugin hangs".*stopping plugin hangs took longer than 4.25 s/),
    ]);
  });

  it('refuses a route that two plugins declare, and names both', async () => {
    const routes = (path: string) => () => new Elysia().get(path, () => new Response());
    const plugins = [
      plugin('a', { routes: routes('/api/thing/:id') }),
      plugin('b', { routes: routes('/api/thing/:name') }),
    ];
    await expect(world({ plugins })).rejects.toThrow(
      'route GET /api/thing/:name is declared twice: by a and b',
    );
  });

  it('reports every problem at once, each naming its culprit', () => {
    const stream = resource('stream');
    const problems = problemsOf(
      [
        plugin('a', { needs: [greeting], emits: { 'x.y': 'once' } }),
        plugin('a', { emits: { 'x.y': 'twice' } }),
        plugin('b', { extends: [field(stream, 'f', { schema: Type.Boolean(), initial: false })] }),
        plugin('c', { reactions: { 'no.such': async () => {} } }),
        plugin('d', { config: Type.Object({ n: Type.Integer({ default: 1 }) }) }),
        plugin('e', { orders: { stop: () => {} } }),
        plugin('Live Captions', {}),
      ],
      { d: { n: 'x', m: 1 } },
    );
    expect(problems).toEqual([
      'plugin a is declared twice: by a and a',
      'event x.y is declared twice: by a and a',
      'plugin Live Captions: its id must be in kebab-case, such as live-captions',
      'plugin a: needs greeting, which no enabled plugin provides',
      'plugin b: extends stream, a resource of no enabled plugin',
      'plugin c: reacts to no.such, an event that no enabled plugin emits',
      'plugin e: order stop must be named order.*',
      'plugins.d.m: unknown field',
      'plugins.d.n: expected integer',
    ]);
  });

  it('refuses a field that the resource, or another plugin, has already', () => {
    const thing = { ...resource('thing'), ownFields: ['name'] };
    const adds = (name: string) => ({
      extends: [field(thing, name, { schema: Type.Boolean(), initial: false })],
    });
    const plugins = [
      plugin('a', { resources: [thing] }),
      plugin('b', adds('name')),
      plugin('c', adds('note')),
    ];
    expect(problemsOf([...plugins, plugin('d', adds('note'))])).toEqual([
      'field thing.name is declared twice: by a and b',
      'field thing.note is declared twice: by c and d',
    ]);
  });

  it('reports effects that do not fit together', () => {
    const machine = setup({
      types: { context: {} as { n: number } },
      actors: { 'a.known': job<undefined, unknown>() },
    }).createMachine({
      id: 'm',
      context: { n: 0 },
      initial: 'on',
      states: {
        on: {
          invoke: [
            { id: 'fine', src: 'a.known', onError: 'off' },
            { id: 'hopeful', src: 'a.known', onDone: 'off' },
          ],
        },
        off: {
          initial: 'inner',
          states: {
            inner: {
              invoke: [
                { src: 'no.such' as 'a.known', onError: 'inner' },
                { id: 'inline', src: job<undefined, unknown>() as never, onError: 'inner' },
              ],
            },
          },
        },
      },
    });
    const actor = { type: 'm', machine, version: 1, rows: () => [], describe: () => ({}) as never };
    const run = async () => 1;
    const problems = problemsOf(
      [
        plugin('a', { actors: [actor], effects: { 'a.known': { concurrency: 1, timeout: 1000, run } } }),
        plugin('b', { effects: { 'a.known': { concurrency: 1, timeout: 1000, run } } }),
        plugin('c', {
          config: Type.Object({ many: Type.Integer({ default: 5000 }) }),
          effects: {
            'c.wide': { concurrency: (config) => config.many as number, timeout: 0, lease: 10, run },
            'c.long': {
              ...{ concurrency: 1, timeout: 1000, attempts: 0, queue: 0.5 },
              ...{ backoff: { first: 2000, most: 1000 }, run },
            },
            'c/slash': { concurrency: 1, timeout: 1000, run },
          },
        }),
      ],
      {},
    );
    expect(problems).toEqual([
      'effect a.known is declared twice: by a and b',
      'plugin a: actor m invokes a.known without an onError, and it may fail',
      'plugin a: actor m invokes no.such, which its setup does not name, so it would have no input',
      'plugin a: actor m invokes no.such, an effect of no enabled plugin',
      'plugin a: actor m: inline must be invoked by name',
      'effect c.wide: concurrency must be a whole number from 1 to 1000, not 5000',
      'effect c.wide: timeout must be a whole number from 1 to 86400000, not 0',
      'effect c.wide: lease must be a whole number from 1000 to 3600000, not 10',
      'effect c.long: attempts must be a whole number from 1 to 100, not 0',
      'effect c.long: queue must be a whole number from 1 to 10000000, not 0.5',
      'effect c.long: backoff.first must not be above backoff.most',
      'effect c/slash: its name must match /^[a-z][a-zA-Z0-9.-]{0,99}$/',
    ]);
  });

  it('stops once and in order, however often it is told to', async () => {
    const calls: string[] = [];
    const slow = (id: string) =>
      plugin(id, {
        start: () => async () => {
          calls.push(`stop ${id}`);
          await new Promise<void>((resolve) => setImmediate(resolve));
          calls.push(`stopped ${id}`);
        },
      });
    await using w = await world({ plugins: [slow('a'), slow('b')] });
    await Promise.all([w.stop(), w.stop()]);
    expect(calls).toEqual(['stop b', 'stopped b', 'stop a', 'stopped a']);
  });

  it('keeps a failing order from its caller, and tries it again', async () => {
    const carriedOut: string[] = [];
    const broken = { ...(streams as unknown as Plugin) };
    const orders = {
      ...broken.orders,
      'order.publish.close': ({ reason }: { reason: string }) => {
        carriedOut.push(reason);
        if (carriedOut.length === 1) throw new Error('no');
      },
    };
    const plugins = [accounts, { ...broken, orders }] as unknown as Plugin[];
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    expect((await w.request('DELETE', `/api/stream/${stream.id}/terminate`)).status).toBe(204);
    expect(w.media.retired).toEqual([stream.playbackId]);
    expect(await w.store.orders()).toHaveLength(1);
    await w.advance('1s');
    expect(carriedOut).toHaveLength(2);
    expect(await w.store.orders()).toEqual([]);
  });

  it('drops an order for the process before: its connections went with it', async () => {
    const carriedOut: string[] = [];
    const broken = { ...(streams as unknown as Plugin) };
    const orders = {
      ...broken.orders,
      'order.publish.close': ({ reason }: { reason: string }) => {
        carriedOut.push(reason);
        throw new Error('no');
      },
    };
    const plugins = [accounts, { ...broken, orders }] as unknown as Plugin[];
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    await w.crash({ downFor: '1s' });
    expect(carriedOut).toHaveLength(1);
    expect(await w.store.orders()).toEqual([]);
  });

  it('tells subscribers of events that come with plain resources', async () => {
    const heard: string[] = [];
    const plain = plugin('plain', {
      emits: { 'plain.made': 'x' },
      async start(kit) {
        kit.events.subscribe(({ type, position }) => heard.push(`${type} ${position}`));
        const event = { id: 'e1', type: 'plain.made', account: 'a', stream: '', body: '{}' };
        await kit.resources.write({ rows: [], events: [event] });
        return undefined;
      },
    });
    await using _ = await world({ plugins: [plain] });
    expect(heard).toEqual(['plain.made 1']);
  });

  it('names a circle of needs', () => {
    const other = token<string>('other');
    const problems = problemsOf([
      plugin('a', { needs: [greeting], provides: [other] }),
      plugin('b', { needs: [other], provides: [greeting] }),
    ]);
    expect(problems).toEqual(['plugins need each other in a circle: a → b']);
  });

  it('starts providers first, stops in reverse, and stops what had started when an essential plugin fails', async () => {
    const calls: string[] = [];
    const logged = (id: string, more: Partial<Plugin> = {}) =>
      plugin(id, {
        start: (kit) => {
          calls.push(`start ${id}`);
          if (id === 'provider') kit.provide(greeting, 'hello');
          if (id === 'broken') throw new Error('no');
          return () => void calls.push(`stop ${id}`);
        },
        ...more,
      });
    const user = logged('user', { needs: [greeting] });
    const provider = logged('provider', { provides: [greeting] });
    {
      await using _ = await world({ plugins: [user, provider] });
    }
    expect(calls).toEqual(['start provider', 'start user', 'stop user', 'stop provider']);
    calls.length = 0;
    const broken = logged('broken', { isEssential: true });
    await expect(world({ plugins: [user, provider, broken] })).rejects.toThrow(
      'plugin broken could not be started: no',
    );
    expect(calls).toEqual(['start provider', 'start user', 'start broken', 'stop user', 'stop provider']);
  });
});
