import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import { type Derivation, field } from '../../../core/plugin/resource.ts';
import { offer } from '../../../core/plugin/token.ts';
import { concerns } from '../../../plugins/health/contract.ts';
import { playables, playbackAliases } from '../../../plugins/playback/contract.ts';
import { publishTerms, stream, streams } from '../../../plugins/streams/contract.ts';
import { broken, errorsOf, expectTheRestToWork, issuesOf, metricsOf, worldWith } from './kit.ts';

const never = new Promise<never>(() => {});
const fails = (what: string) => (): never => {
  throw new TypeError(what);
};
const route = (answer: () => unknown) => () =>
  new Elysia().get(
    '/broken',
    answer as () => Response,
    says('Breaks.', {
      name: 'getBroken',
      isOpen: true,
      answers: { 200: json(Type.Object({}, { additionalProperties: false })) },
    }),
  );
const moods = (of: Derivation['of']): Partial<Plugin> => ({
  needs: [streams],
  derives: [{ resource: stream, schemas: { mood: Type.String() }, of }],
});
const missing = 'Fields of the plugin broken are missing, because it failed.';
const told = (where: string) => `The plugin broken fails: ${where}. The log says how.`;
const counted = (where: string, count: number) =>
  `millrace_plugin_errors_total{plugin="broken",where="${where}"} ${count}`;

describe('a route of a plugin', () => {
  it('that throws is a 500 for that request, without a stack', async () => {
    await using w = await worldWith([broken({ routes: route(fails('secret place')) })]);
    const { status, body } = await w.request('GET', '/broken', { key: null });
    const errors = ['Internal error. The log of the server has the details.'];
    expect([status, body]).toEqual([500, { code: 'internal', errors }]);
    expect(w.lines.filter((line) => line.includes('secret place'))).toHaveLength(1);
    await expectTheRestToWork(w);
    expect(await issuesOf(w)).toEqual([]);
  });

  it('that never answers holds up no other request', async () => {
    await using w = await worldWith([broken({ routes: route(() => never) })]);
    let isAnswered = false;
    void w.app.handle(new Request('http://localhost:8080/broken')).then(() => {
      isAnswered = true;
    });
    await expectTheRestToWork(w);
    expect(isAnswered).toBe(false);
  });
});

describe('derived fields of a plugin', () => {
  it.each([
    ['throw', fails('no mood')],
    ['reject', () => Promise.reject(new TypeError('no mood'))],
  ])('that %s are left out: the object says so, the log at most once a minute', async (_, of) => {
    await using w = await worldWith([broken(moods(of))]);
    await expectTheRestToWork(w);
    const list = await w.request('GET', '/api/stream');
    expect(list.body.map(({ mood, issues }: { mood?: string; issues: string[] }) => [mood, issues])).toEqual([
      [undefined, [missing]],
      [undefined, [missing]],
    ]);
    for (let n = 0; n < 10; n += 1) await w.request('GET', '/api/stream');
    expect(errorsOf(w)).toEqual([
      expect.objectContaining({
        message: 'a plugin failed; the rest goes on',
        where: 'derived fields of stream',
        error: expect.stringContaining('no mood'),
      }),
    ]);
    expect(await issuesOf(w)).toEqual([told('derived fields of stream')]);
    expect(await metricsOf(w)).toMatch(
      /millrace_plugin_errors_total\{plugin="broken",where="derived fields of stream"\} \d\d/,
    );
    await w.advance('1m');
    await w.request('GET', '/api/stream');
    expect(errorsOf(w).map(({ unsaid }) => unsaid)).toEqual([undefined, expect.any(Number)]);
    await w.advance('11m');
    expect(await issuesOf(w)).toEqual([]);
  });

  it('that hang hold an answer up for 3 s once, and are tried again later', async () => {
    let isHanging = true;
    await using w = await worldWith([
      broken(moods(() => (isHanging ? never : { values: { mood: 'calm' } }))),
    ]);
    const making = w.given.stream();
    await w.advance('3s');
    const { id, issues } = await making;
    expect(issues).toEqual([missing]);
    // At once.
    expect((await w.request('GET', `/api/stream/${id}`)).body.issues).toEqual([missing]);
    await expectTheRestToWork(w);
    expect(errorsOf(w).map(({ error }) => error)).toEqual([expect.stringContaining('it took too long')]);
    isHanging = false;
    await w.advance('10s');
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({ mood: 'calm', issues: [] });
  });
});

describe('a field of a plugin', () => {
  const mood = (more: object) =>
    broken({
      needs: [streams],
      extends: [field(stream, 'mood', { schema: Type.String(), initial: 'calm', ...more })],
    });

  it.each(['validate', 'prepare'])(
    'whose %s throws fails the requests that set it, and no others',
    async (key) => {
      await using w = await worldWith([mood({ [key]: fails('no mood') })]);
      const { status, body } = await w.request('POST', '/api/stream', { body: { name: 'A', mood: 'wild' } });
      expect([status, body.code]).toEqual([500, 'internal']);
      await expectTheRestToWork(w);
      expect((await w.given.stream()).mood).toBe('calm');
    },
  );

  it('whose issues throw has none', async () => {
    await using w = await worldWith([mood({ issues: fails('no issues') })]);
    await expectTheRestToWork(w);
    expect((await w.given.stream({ mood: 'wild' })).issues).toEqual([]);
    expect(await issuesOf(w)).toEqual([told('field stream.mood')]);
  });
});

describe('what a plugin offers', () => {
  it('and cannot make is left out', async () => {
    await using w = await worldWith([
      broken({ offers: [offer(playables, fails('no film')), offer(publishTerms, fails('no terms'))] }),
    ]);
    await expectTheRestToWork(w);
    expect(await issuesOf(w)).toEqual([told('offer playables'), told('offer streams.publish-terms')]);
    // Playback, the watch page and private playback ask for it.
    expect(await metricsOf(w)).toContain(counted('offer playables', 3));
  });

  it.each([
    ['nothing', () => undefined],
    ['a promise', async () => ({ find: async () => undefined })],
  ])('and makes as %s is left out', async (_, make) => {
    const offers = [offer(playables, make as never), offer(playbackAliases, make as never)];
    await using w = await worldWith([broken({ offers })]);
    await expectTheRestToWork(w);
    expect((await w.request('GET', '/hls/unknown/index.m3u8', { key: null })).status).toBe(404);
    expect(await issuesOf(w)).toEqual([told('offer playback.aliases'), told('offer playables')]);
  });

  it('and throws when it is asked is left out: terms of a publish, concerns about it, a kind of video', async () => {
    await using w = await worldWith([
      broken({
        offers: [
          offer(publishTerms, () => fails('no terms')),
          offer(concerns, () => fails('no concern')),
          offer(playables, () => ({ find: fails('no film') })),
        ],
      }),
    ]);
    await expectTheRestToWork(w);
    const live = await w.given.stream();
    const publish = await w.given.broadcast(live);
    publish.progress({ bytes: 5000 });
    await w.advance('10s');
    expect((await w.request('GET', `/api/stream/${live.id}`)).body.sourceBytes).toBe(5000);
    const said = w.lines.filter((line) => line.includes('what another plugin offers fails'));
    expect(said.map((line) => JSON.parse(line).what)).toEqual(['streams.publish-terms', 'health.concerns']);
    // Of what nobody else has, it cannot be said that it is not there.
    expect((await w.request('GET', '/api/playback/none', { key: null })).status).toBe(500);
  });
});

describe('a plugin', () => {
  it('whose timers and listeners throw, now or later, hears of it in the log', async () => {
    const start: Plugin['start'] = (kit) => {
      const { clock, events } = kit;
      clock.at(clock.now() + 1000, fails('a tick'));
      clock.at(clock.now() + 1000, async () => fails('a later tick')());
      events.subscribe(fails('an event'));
      events.subscribe(async () => fails('an event later')());
      return undefined;
    };
    await using w = await worldWith([broken({ start })]);
    await expectTheRestToWork(w);
    await w.advance('1s');
    expect(await issuesOf(w)).toEqual([told('a listener for events'), told('a timer')]);
    expect(await metricsOf(w)).toContain(counted('a timer', 2));
    expect(w.lines.filter((line) => line.includes('an event listener failed'))).toEqual([]);
  });

  it('whose singleton task does not begin gets another try every 10 s', async () => {
    let tries = 0;
    const task = () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return () => {};
    };
    await using w = await worldWith([broken({ duties: { task } })]);
    await expectTheRestToWork(w);
    expect(await issuesOf(w)).toEqual([told('singleton task task')]);
    await w.advance('9s');
    expect(tries).toBe(1);
    await w.advance('1m');
    expect(tries).toBe(3);
  });

  it('whose metric cannot be read costs no other metric', async () => {
    const start: Plugin['start'] = ({ metrics }) => {
      metrics.reading('acme_before', { help: 'Before.', read: () => 1 });
      metrics.reading('acme_broken', { help: 'Broken.', read: fails('no number') });
      metrics.reading('acme_behind', { help: 'Behind.', read: () => 2 });
      return undefined;
    };
    await using w = await worldWith([broken({ start })]);
    const text = await metricsOf(w);
    expect(text).toMatch(/acme_before 1\n[\s\S]*acme_behind 2\n/);
    expect(text).not.toContain('acme_broken');
    expect(text).toContain('millrace_build_info');
    expect(await issuesOf(w)).toEqual(['Something fails: metric acme_broken. The log says how.']);
  });

  it('that leaks timers and listeners is named while it does, and at its stop', async () => {
    const start: Plugin['start'] = ({ clock, events }) => {
      for (let n = 0; n < 100_001; n += 1) clock.at(clock.now() + 3_600_000, () => {});
      events.subscribe(() => {});
      return () => {};
    };
    const w = await worldWith([broken({ start })]);
    await expectTheRestToWork(w);
    expect(await issuesOf(w)).toEqual(['The plugin broken has 100001 timers: it may leak them.']);
    expect(await metricsOf(w)).toContain('millrace_plugin_timers{plugin="broken"} 100001');
    expect(await metricsOf(w)).toContain('millrace_plugin_listeners{plugin="broken"} 1');
    await expect(w[Symbol.asyncDispose]()).rejects.toThrow('100001 timers were left behind');
    expect(errorsOf(w)).toEqual([
      expect.objectContaining({
        message: 'a plugin left timers or listeners behind at its stop',
        ...{ timers: 100_001, listeners: 1 },
      }),
    ]);
  });
});
