import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { authenticator } from '../../../core/http/auth.ts';
import { says } from '../../../core/http/http.ts';
import { keyedRoutes } from '../../../core/http/keyed.ts';
import { nothing } from '../../../core/http/operation.ts';
import type { Actors } from '../../../core/plugin/actor.ts';
import type { Kit, Plugin } from '../../../core/plugin/plugin.ts';
import { field } from '../../../core/plugin/resource.ts';
import { offer, token } from '../../../core/plugin/token.ts';
import { playables } from '../../../plugins/playback/contract.ts';
import { stream, streams } from '../../../plugins/streams/contract.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { courierActor, courierPlugin, type Parcel } from '../../kit/courier.ts';
import { scriptedEffect } from '../../kit/scripted-effect.ts';
import { world } from '../../kit/world.ts';
import { documentProblems } from '../../openapi/valid.ts';
import { broken, errorsOf, expectTheRestToWork, issuesOf, metricsOf, worldWith } from './kit.ts';

const words = token<{ say(): string }>('broken.words');
const fails = (what: string) => (): never => {
  throw new Error(what);
};

describe('a plugin that is off', () => {
  it('takes those along that need it, directly or not; their routes are 503, and nothing of them runs', async () => {
    const more = token<string>('second.more');
    const started: string[] = [];
    const using = (id: string, plugin: Partial<Plugin>) =>
      broken(
        {
          ...plugin,
          start: () => void started.push(id),
          routes(kit) {
            const { keyed } = keyedRoutes(kit);
            // Taken apart when the route is declared, as plugins do.
            const { say } = id === 'second' ? kit.use(words) : { say: () => '' };
            return new Elysia().get(
              `/api/${id}`,
              keyed(() => Response.json({ said: say() })),
              says('Says it.', { name: id, answers: { 204: nothing } }),
            );
          },
        },
        id,
      );
    await using w = await worldWith([
      broken({ provides: [words], start: fails('no words') }),
      using('second', { needs: [authenticator, words], provides: [more] }),
      using('third', { needs: [authenticator, more] }),
      using('other', { needs: [authenticator] }),
    ]);
    await expectTheRestToWork(w);
    expect(started).toEqual(['other']);
    const fix = 'Fix what the log says about it, and restart the server.';
    expect(await issuesOf(w)).toEqual([
      `The plugin broken is off, because it could not be started. ${fix}`,
      `The plugin second is off, because it needs the plugin broken, which failed. ${fix}`,
      `The plugin third is off, because it needs the plugin broken, which failed. ${fix}`,
    ]);
    for (const id of ['second', 'third']) {
      const { status, body } = await w.request('GET', `/api/${id}`);
      const message = `The plugin ${id} is off, because it needs the plugin broken, which failed. The log of the server says why.`;
      expect([status, body]).toEqual([503, { code: 'plugin.failed', errors: [message] }]);
      expect(errorsOf(w, id)).toEqual([
        expect.objectContaining({
          message: 'a plugin is off, because it needs one that failed',
          needs: 'broken',
        }),
      ]);
      expect(w.bootLines.find((line) => line.includes(` ${id} `))).toContain(
        'OFF: it needs the plugin broken, which failed',
      );
      expect(await metricsOf(w)).toContain(`millrace_plugins_failed{plugin="${id}"} 1`);
    }
    expect(await metricsOf(w)).not.toContain('millrace_plugins_failed{plugin="other"}');
  });

  it('is stopped as far as it was started: its stop, its timers, its listeners, its signal', async () => {
    const seen: string[] = [];
    const plugin = broken({
      start(kit) {
        const tick = () => {
          seen.push('tick');
          kit.clock.at(kit.clock.now() + 1000, tick);
        };
        tick();
        kit.events.subscribe(({ type }) => seen.push(type));
        kit.signal.addEventListener('abort', () => seen.push('aborted'));
        return () => void seen.push('stopped');
      },
      routes: fails('no path'),
    });
    await using w = await worldWith([plugin]);
    await expectTheRestToWork(w);
    await w.advance('1m');
    expect(seen).toEqual(['tick', 'aborted', 'stopped']);
    expect(await metricsOf(w)).toContain('millrace_plugin_timers{plugin="broken"} 0');
  });

  it('is stopped when its start ends after all, long after it was given up', async () => {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    let isStopped = false;
    await using w = await worldWith([broken({ start: () => promise })], { startTakes: '15s' });
    expect(await issuesOf(w)).toHaveLength(1);
    resolve(() => {
      isStopped = true;
    });
    await w.settle();
    expect(isStopped).toBe(true);
    await expectTheRestToWork(w);
  });

  it('offers nothing, also to those that asked before it failed', async () => {
    let asked = 0;
    const plugin = broken({
      offers: [
        offer(playables, () => ({
          find: async () => {
            asked += 1;
            return undefined;
          },
        })),
      ],
      // After `playback` has declared its own, with what all others offer.
      routes: fails('no path'),
    });
    await using w = await worldWith([plugin]);
    expect((await w.request('GET', '/api/playback/none', { key: null })).status).toBe(404);
    expect(asked).toBe(0);
  });

  it('keeps the values of its field: they are shown, and cannot be changed', async () => {
    const mood = field(stream, 'mood', { schema: Type.String(), initial: 'calm' });
    const plugin = (more: Partial<Plugin> = {}) => broken({ needs: [streams], extends: [mood], ...more });
    await using w = await worldWith([plugin()], { durable: true });
    const { id } = await w.given.stream({ mood: 'wild' });
    await w.crash({ downFor: '1s', plugins: [...(await allPlugins()), plugin({ start: fails('no') })] });
    expect((await w.request('GET', `/api/stream/${id}`)).body.mood).toBe('wild');
    const change = await w.request('PATCH', `/api/stream/${id}`, { body: { mood: 'calm' } });
    expect([change.status, change.body.code]).toEqual([503, 'plugin.failed']);
    expect((await w.request('PATCH', `/api/stream/${id}`, { body: { name: 'New' } })).status).toBe(204);
    expect((await w.given.stream()).mood).toBe('calm');
    await w.crash({ downFor: '1s', plugins: [...(await allPlugins()), plugin()] });
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({ mood: 'wild', name: 'New' });
  });

  it('loses nothing of its actors: commands are 503, jobs and timers wait for the next start', async () => {
    let actors: Actors | undefined;
    const start = (kit: Kit): undefined => {
      actors = kit.actors;
    };
    const reach = broken({ start }, 'reach');
    const script = scriptedEffect<Parcel, { status: number }>();
    const failing = { ...courierPlugin, start: fails('no bags') };
    await using w = await world({
      plugins: [reach, courierPlugin],
      effects: { 'courier.deliver': script.run },
      durable: true,
    });
    const asked = () => actors as Actors;
    for (const id of ['a', 'b']) {
      await asked().spawn(courierActor, id, {});
      await asked().ask(courierActor, id, { type: 'carry', parcel: { parcel: 'first' } });
      await asked().ask(courierActor, id, { type: 'carry', parcel: { parcel: 'second' } });
    }
    await w.settle();
    expect(script.attempts).toHaveLength(2);

    await w.crash({ downFor: '1s', plugins: [reach, failing] });
    const refused = expect.objectContaining({ code: 'plugin.failed', status: 503 });
    await expect(asked().ask(courierActor, 'a', { type: 'recall' })).rejects.toEqual(refused);
    await expect(asked().spawn(courierActor, 'c', {})).rejects.toEqual(refused);
    await expect(asked().read(courierActor, 'a')).rejects.toEqual(refused);
    // Past the end of their patience, and of the leases of the former process.
    await w.advance('90s');
    expect(script.attempts).toHaveLength(2);
    expect(w.lines.filter((line) => line.includes('"level":"error"'))).toEqual([
      expect.stringContaining('a plugin is off, because it failed'),
    ]);

    await w.crash({ downFor: '1s', plugins: [reach, courierPlugin] });
    await w.advance('1s');
    // The timer that fell due long ago has dropped the first parcel, and the second is on its way. On several nodes a worker may
    // have tried the first once more by then: at least once.
    const again = script.attempts.slice(2).filter(({ input }) => input.parcel === 'second');
    expect(again).toHaveLength(2);
    for (const attempt of again) attempt.finish({ status: 200 });
    await w.settle();
    expect((await asked().read(courierActor, 'a'))?.context.receipts).toEqual([{ status: 200 }]);
    expect(await asked().read(courierActor, 'c')).toBeUndefined();
  });
});

/** On several nodes it is told again: test/kernel/tell-lost.test.ts. */
const isClustered = process.env.MILLRACE_WORLD === 'cluster';

if (!isClustered)
  describe('a plugin that cannot settle what an earlier process left', () => {
    it.each([
      ['throws', fails('no books'), 'it could not settle what a lost process left: no books'],
      [
        'hangs',
        () => new Promise<never>(() => {}),
        'it could not settle what a lost process left: it took longer than 60 s',
      ],
    ])('and %s is off, for nobody tells it again', async (_, lostNode, tree) => {
      let started = 0;
      const plugin = broken({
        lostNode,
        start() {
          started += 1;
          return undefined;
        },
      });
      await using w = await worldWith([plugin], { durable: true, startTakes: '65s' });
      await expectTheRestToWork(w);
      expect([started, await issuesOf(w)]).toEqual([1, []]);
      await w.crash({ downFor: '1s' });
      expect(w.bootLines.find((line) => line.includes(' broken '))).toContain(`OFF: ${tree}`);
      await expectTheRestToWork(w);
      expect(started).toBe(1);
    });
  });

describe('the start ends', () => {
  it('when an essential plugin fails, or one that it needs', async () => {
    const first = broken({ provides: [words], start: fails('no words') });
    const essential = broken({ isEssential: true, needs: [words] }, 'essential');
    await expect(world({ plugins: [first, essential] })).rejects.toThrow(
      'plugin broken could not be started: no words',
    );
    const alone = broken({ isEssential: true, routes: fails('no path') });
    await expect(world({ plugins: [alone] })).rejects.toThrow('no path');
  });

  it.each([
    ['config.invalid', 500],
    ['rtmp.port_in_use', 500],
    ['store.unreachable', 503],
    ['blobs.unavailable', 503],
  ])('when it is no failure of the plugin: %s', async (code, status) => {
    const start = () => {
      throw new Fault(code, { status, message: 'What to do.' });
    };
    await expect(world({ plugins: [broken({ start })] })).rejects.toMatchObject({ code });
  });

  it.each([
    ['accounts', 'nobody could be let in'],
    ['protection', 'everybody could watch what is private'],
  ])('without %s: %s', async (id) => {
    const plugins = (await allPlugins()).map((plugin) =>
      plugin.id === id ? { ...plugin, start: fails('no keys') } : plugin,
    );
    await expect(world({ plugins })).rejects.toThrow(`plugin ${id} could not be started: no keys`);
  });
});

it.each((await allPlugins()).filter(({ isEssential }) => !isEssential).map(({ id }) => id))(
  'without %s, which failed, what does not need it works',
  async (id) => {
    const plugins = (await allPlugins()).map((plugin) =>
      plugin.id === id ? { ...plugin, start: fails('no'), routes: plugin.routes } : plugin,
    );
    await using w = await world({ plugins: plugins as Plugin[] });
    const issues = await issuesOf(w);
    expect(issues[0]).toBe(
      `The plugin ${id} is off, because it could not be started. Fix what the log says about it, and restart the server.`,
    );
    const off = new Set(issues.map((issue) => /^The plugin (\S+) is off/.exec(issue)?.[1]));
    // Every route is there, and those of plugins that are off say so.
    for (const [path, methods] of Object.entries(w.document.paths)) {
      for (const [method, { tags }] of Object.entries(methods) as [string, { tags: string[] }][]) {
        if (method === 'options' || !off.has(tags[0])) continue;
        const url = `http://localhost:8080${path.replace(/\{\w+\}/g, 'x')}`;
        const answer = await w.app.handle(new Request(url, { method: method.toUpperCase() }));
        expect([method, path, answer.status]).toEqual([method, path, 503]);
      }
    }
    expect(await documentProblems(w.document)).toEqual([]);
    const own = plugins.filter((plugin) => off.has(plugin.id) && plugin.routes);
    const tags = new Set(w.document.tags.map(({ name }) => name));
    expect(own.filter((plugin) => !tags.has(plugin.id)).map((plugin) => plugin.id)).toEqual([]);
    const account = await w.request('POST', '/api/account', { body: { name: 'One' } });
    expect(account.status).toBe(201);
    if (!off.has('streams')) await expectTheRestToWork(w, { hasPlayback: !off.has('playback') });
  },
);
