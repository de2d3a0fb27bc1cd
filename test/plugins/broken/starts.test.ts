import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import { field } from '../../../core/plugin/resource.ts';
import { token } from '../../../core/plugin/token.ts';
import { stream, streams } from '../../../plugins/streams/contract.ts';
import { broken, errorsOf, expectTheRestToWork, issuesOf, metricsOf, worldWith } from './kit.ts';

/** What it provides to others, and its own route. */
const words = token<{ say(): string }>('broken.words');
const never = new Promise<never>(() => {});
const routes =
  (path = '/broken', name = 'getBroken') =>
  () =>
    new Elysia().get(
      path,
      () => Response.json({ is: 'fine' }),
      says('Whether it works.', {
        name,
        isOpen: true,
        answers: { 200: json(Type.Object({ is: Type.String() }, { additionalProperties: false })) },
      }),
    );
const fails = (what: string) => (): never => {
  throw new Error(what);
};

interface Row {
  readonly plugin: Partial<Plugin>;
  /** Why it is off, as the end of a sentence. */
  readonly reason: string;
  /** What the log has of it. */
  readonly error: RegExp;
  /** What the boot tree says. */
  readonly tree: string;
  /** Status of its route. */
  readonly answer: 503 | 404;
}

const rows: Record<string, Row> = {
  'whose start throws': {
    plugin: { start: fails('no disk'), routes: routes() },
    reason: 'it could not be started',
    error: /^plugin broken could not be started: no disk\nError: no disk\n +at /,
    tree: 'OFF: it could not be started: no disk',
    answer: 503,
  },
  'whose start rejects with a Fault of its own': {
    plugin: {
      start: async () => {
        throw new Fault('broken.licence', { status: 500, message: 'The licence has ended.' });
      },
      routes: routes(),
    },
    reason: 'it could not be started',
    error: /^Fault: The licence has ended\./,
    tree: 'OFF: it could not be started: The licence has ended.',
    answer: 503,
  },
  'whose start hangs': {
    plugin: { start: () => never, routes: routes() },
    reason: 'it did not start within 10 s',
    error: /^Fault: starting plugin broken took longer than 10 s/,
    tree: 'OFF: it did not start within 10 s',
    answer: 503,
  },
  'that does not provide what it promised': {
    plugin: { provides: [words], start: () => undefined, routes: routes() },
    reason: 'it did not provide broken.words',
    error: /plugin broken: it did not provide broken\.words/,
    tree: 'OFF: it did not provide broken.words',
    answer: 503,
  },
  'whose routes throw': {
    plugin: { routes: fails('no path') },
    reason: 'it could not declare its routes',
    error: /plugin broken: it could not declare its routes: no path/,
    tree: 'OFF: it could not declare its routes: no path',
    answer: 404,
  },
  'whose routes are none': {
    plugin: { routes: () => 5 as never },
    reason: 'it could not declare its routes',
    error: /plugin broken: it could not declare its routes: what it returned is not an Elysia app/,
    tree: 'OFF: it could not declare its routes: what it returned is not an Elysia app',
    answer: 404,
  },
  'whose hook would run for the routes of others': {
    plugin: {
      routes: () => routes()().onBeforeHandle({ as: 'global' }, fails('no entry')),
    },
    reason: 'it could not declare its routes',
    error: /its beforeHandle hook is for the requests of all plugins/,
    tree: 'OFF: it could not declare its routes: its beforeHandle hook is for the requests of all plugins',
    answer: 404,
  },
  'whose hook would run for every request': {
    plugin: { routes: () => routes()().onRequest(fails('no entry')) },
    reason: 'it could not declare its routes',
    error: /its request hook is for the requests of all plugins/,
    tree: 'OFF: it could not declare its routes: its request hook is for the requests of all plugins',
    answer: 404,
  },
  'whose routes for other nodes throw': {
    plugin: { routes: routes(), nodeRoutes: fails('no path') },
    reason: 'it could not declare its routes',
    error: /plugin broken: it could not declare its routes: no path/,
    tree: 'OFF: it could not declare its routes: no path',
    answer: 503,
  },
  'whose field has no initial value': {
    plugin: {
      needs: [streams],
      extends: [field(stream, 'mood', { schema: Type.String(), initial: fails('no mood') })],
      routes: routes(),
    },
    reason: 'the initial value of its field stream.mood is not known',
    error: /plugin broken: the initial value of its field stream\.mood is not known: no mood/,
    tree: 'OFF: the initial value of its field stream.mood is not known: no mood',
    answer: 503,
  },
};

describe('a plugin is off, and the rest works,', () => {
  it.each(Object.entries(rows))('%s', async (_, { plugin, reason, error, tree, answer }) => {
    const heard: string[] = [];
    const watch = () => {
      heard.push('duty');
      return () => {};
    };
    await using w = await worldWith(
      [
        broken({
          ...plugin,
          reactions: { '*': async ({ type }) => void heard.push(type) },
          duties: { watch },
        }),
      ],
      { startTakes: '15s' },
    );
    await expectTheRestToWork(w);
    await w.advance('1m');
    expect(heard).toEqual([]);

    expect(await issuesOf(w)).toEqual([
      `The plugin broken is off, because ${reason}. Fix what the log says about it, and restart the server.`,
    ]);
    expect(errorsOf(w)).toEqual([
      expect.objectContaining({ message: 'a plugin is off, because it failed', plugin: 'broken', reason }),
    ]);
    expect(errorsOf(w)[0]?.error).toMatch(error);
    expect(w.bootLines.find((line) => line.includes(' broken '))).toContain(tree);
    expect(await metricsOf(w)).toContain('millrace_plugins_failed{plugin="broken"} 1');

    const { status, body } = await w.request('GET', '/broken', { key: null });
    if (answer === 503) {
      const message = `The plugin broken is off, because ${reason}. The log of the server says why.`;
      expect([status, body]).toEqual([503, { code: 'plugin.failed', errors: [message] }]);
      expect(w.document.paths['/broken']).toBeDefined();
    } else {
      expect([status, body.code]).toEqual([404, 'route.not_found']);
    }
  });
});
