import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importPlugins } from '../../../config/plugins.ts';
import { says } from '../../../core/http/http.ts';
import { nothing } from '../../../core/http/operation.ts';
import { contractVersion, type Plugin } from '../../../core/plugin/plugin.ts';
import { field, resource } from '../../../core/plugin/resource.ts';
import { offer, token } from '../../../core/plugin/token.ts';
import { stream, streams } from '../../../plugins/streams/contract.ts';
import { planOf } from '../../../runtime/boot/plan.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { broken, worldWith } from './kit.ts';

// What a start is refused for, with exit code 78: a person must change the config or the plugin first.

const shipped = await allPlugins();
const fails = (what: string) => (): never => {
  throw new TypeError(what);
};

/** What the report says of these plugins beside all that ship. */
function problemsOf(plugins: readonly Plugin[], config?: unknown): readonly string[] {
  const entries = [
    ...shipped.map((plugin) => ({ plugin, config: true })),
    ...plugins.map((plugin) => ({ plugin, config })),
  ];
  return planOf(entries as never).problems;
}

const rows: Record<string, [plugins: readonly Plugin[], problems: readonly string[], config?: unknown]> = {
  'a wrong config': [
    [broken({ config: Type.Object({ limit: Type.Integer({ default: 1 }) }) })],
    ['plugins.broken.limits: unknown field; did you mean limit?', 'plugins.broken.limit: expected integer'],
    { limit: 'many', limits: 2 },
  ],
  'a config that contradicts itself': [
    [
      broken({
        config: Type.Object({ limit: Type.Integer({ default: 1 }) }),
        contradictions: () => ['limit: expected less than most'],
      }),
    ],
    ['plugins.broken.limit: expected less than most'],
  ],
  'a check of its config that throws': [
    [broken({ config: Type.Object({}), contradictions: fails('no check') })],
    ['plugins.broken.contradictions could not be checked: no check'],
  ],
  'fields with names that documents cannot have': [
    [
      broken({
        extends: ['x"', 'constructor', '__proto__'].map((name) =>
          field(stream, name, { schema: Type.String(), initial: '' }),
        ),
      }),
    ],
    [
      'plugin broken: extends stream by "x\\""; expected a name such as viewCount',
      'plugin broken: extends stream by "constructor"; expected a name such as viewCount',
      'plugin broken: extends stream by "__proto__"; expected a name such as viewCount',
    ],
  ],
  'entries that are none, as modules that import each other give them': [
    [broken({ needs: [undefined], offers: [null], actors: ['views'] } as never)],
    [
      'plugin broken: needs[0]: expected an object',
      'plugin broken: offers[0]: expected an object',
      'plugin broken: actors[0]: expected an object',
    ],
  ],
  'an offer to nothing, as a collection that was forgotten gives it': [
    [broken({ offers: [{ make: () => 1 }, offer(undefined as never, () => 1)] } as never)],
    [
      'plugin broken: offers[0].to: expected a collection',
      'plugin broken: offers[1].to: expected a collection',
    ],
  ],
  'a token that nobody provides': [
    [broken({ needs: [token('acme.nothing')] })],
    ['plugin broken: needs acme.nothing, which no enabled plugin provides'],
  ],
  'a token that two provide': [
    [broken({ provides: [streams] })],
    ['token streams is declared twice: by streams and broken'],
  ],
  'needs in a circle': [
    [
      broken({ needs: [token('b')], provides: [token('a')] }),
      broken({ needs: [token('a')], provides: [token('b')] }, 'other'),
    ],
    ['plugins need each other in a circle: broken → other'],
  ],
  'a field of another plugin, and one of a resource that is not there': [
    [
      broken({
        extends: [
          field(stream, 'record', { schema: Type.Boolean(), initial: false }),
          field(resource('nothing'), 'mood', { schema: Type.String(), initial: '' }),
        ],
      }),
    ],
    [
      'field stream.record is declared twice: by recordings and broken',
      'plugin broken: extends nothing, a resource of no enabled plugin',
    ],
  ],
  'names that others have: of itself, an event, a fault, an effect': [
    [
      broken({
        emits: { 'stream.started': 'Mine.' },
        faults: { 'stream.not_found': { status: 404, meaning: '' } },
      }),
      broken({ effects: { 'asset.erase': { concurrency: 1, timeout: 1, run: async () => 1 } } }),
    ],
    [
      'plugin broken is declared twice: by broken and broken',
      'event stream.started is declared twice: by streams and broken',
      'effect asset.erase is declared twice: by assets and broken',
      'fault stream.not_found is declared twice: by streams and broken',
    ],
  ],
  'a reaction to an event that nobody emits': [
    [broken({ reactions: { 'stream.startet': async () => {} } })],
    ['plugin broken: reacts to stream.startet, an event that no enabled plugin emits'],
  ],
  'an effect that cannot be': [
    [
      broken({
        effects: {
          'a.b': { concurrency: 0, timeout: 1000, run: async () => 1 },
          'a.c': { concurrency: fails('no number'), timeout: 1000, run: async () => 1 },
        },
      }),
    ],
    [
      'effect a.b: concurrency must be a whole number from 1 to 1000, not 0',
      'plugin broken: effect a.c could not be checked: no number',
    ],
  ],
  'a declaration of another form, as JavaScript lets one write it': [
    [
      broken({ needs: 'streams', routes: {}, emits: ['a'], reactions: { 'stream.started': 5 } } as never),
      broken({ summary: 5 as never }, 'other'),
    ],
    [
      'plugin broken: needs: expected a list',
      'plugin broken: emits: expected an object',
      'plugin broken: routes: expected a function',
      'plugin broken: reactions.stream.started: expected a function',
      'plugin other: summary: expected a text',
    ],
  ],
};

describe('a start is refused for', () => {
  it.each(Object.entries(rows))('%s', (_, [plugins, problems, config = true]) => {
    expect(problemsOf(plugins, config)).toEqual(problems);
  });

  it('a route that another plugin has, or that says nothing of itself', async () => {
    const routes = () =>
      new Elysia()
        .get('/api/stream/:any', () => '', says('Mine.', { name: 'mine', answers: { 204: nothing } }))
        .get('/broken', () => '');
    await expect(worldWith([broken({ routes })])).rejects.toMatchObject({
      code: 'boot.invalid',
      problems: [
        'route GET /api/stream/:any is declared twice: by streams and broken',
        'plugin broken: GET /broken: it has no description; give the route says(…)',
      ],
    });
  });

  it('a part of a path that others call by another name, which the router does not take', async () => {
    const routes = () =>
      new Elysia().get(
        '/api/stream/:streamId/mine',
        () => '',
        says('Mine.', { name: 'mine', answers: { 204: nothing } }),
      );
    await expect(worldWith([broken({ routes })])).rejects.toMatchObject({
      code: 'boot.invalid',
      problems: [
        'route GET /api/stream/:streamId/mine of broken: :streamId must be named :id, as in /api/stream/:id/sessions of streams',
      ],
    });
  });

  it('two plugins with metrics of one name, as a failure of the later one', async () => {
    const start: Plugin['start'] = ({ metrics }) => {
      metrics.reading('acme_things', { help: 'Things.', read: () => 1 });
      return undefined;
    };
    await using w = await worldWith([broken({ start }, 'first'), broken({ start })]);
    expect(w.bootLines.find((line) => line.includes(' broken '))).toContain(
      'OFF: it could not be started: the metric acme_things is there already',
    );
  });
});

describe('a plugin of another package is refused', () => {
  let folder = '';
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return (await importPlugins({ [`./${name}`]: true }, folder)).problems;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-broken-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('that is too old, too new, or does not say', async () => {
    const plugin = (contract: string) => `export default { id: 'x', summary: 'x', ${contract} };`;
    const older = contractVersion - 1;
    const newer = contractVersion + 1;
    expect(await write('old.ts', plugin(`contract: ${older}`))).toEqual([
      expect.stringContaining(`version ${older} of the plugin contract`),
    ]);
    expect(await write('new.ts', plugin(`contract: ${newer}`))).toEqual([
      expect.stringContaining(`version ${newer} of the plugin contract`),
    ]);
    expect(await write('mute.ts', plugin(''))).toEqual([
      expect.stringContaining('which plugin contract it was written for'),
    ]);
  });

  it('that throws when it is loaded, that is not one, or whose text is wrong', async () => {
    expect(await write('throws.ts', `throw new TypeError('no licence');`)).toEqual([
      expect.stringMatching(
        /^plugins\.\.\/throws\.ts: .*throws\.ts could not be loaded: no licence \(.*throws\.ts:1:\d+.*\)$/,
      ),
    ]);
    expect(await write('other.ts', 'export default 5;')).toEqual([
      expect.stringMatching(/the default export of .*other\.ts is not a plugin$/),
    ]);
    expect(await write('typo.ts', 'export default {')).toEqual([
      expect.stringMatching(/typo\.ts could not be loaded: .*\(.*typo\.ts:1:\d+\)$/),
    ]);
  });
});
