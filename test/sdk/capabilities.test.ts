/** What a plugin can do, and the test that shows it through the public entry alone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';

const root = join(import.meta.dirname, '../..');

interface Shown {
  /** The file with the test, and how the test is called there. */
  readonly test: readonly [file: string, name: string];
  /** The file with the plugin, if it is another one: a module, or a page whose blocks are modules. */
  readonly plugin?: string;
}

const own = (file: string, name: string): Shown => ({
  test: [`test/sdk/capabilities/${file}.test.ts`, name],
});

const capabilities = {
  'routes with OpenAPI and scopes': own(
    'routes',
    'adds routes to the OpenAPI document and asks for a key with the right scope',
  ),
  'a throw in a route': own('routes', 'answers a throw in a route with a 500 without details, and goes on'),
  'resources with lists, filters and counts': own(
    'resources',
    'keeps documents with lists, filters and counts, each account its own',
  ),
  'fields and derived fields': own('resources', 'adds fields to streams: stored and filtered, and derived'),
  'machines, actors, reactions, orders': own(
    'actors',
    'runs machines that react to events, keep rows, carry out orders and emit events',
  ),
  effects: own('actors', 'tries an effect again, with the same id, also after a crash'),
  'singleton tasks': own('actors', 'runs a singleton task, and stops it with the program'),
  'own events, to webhooks': {
    test: [
      'test/plugins/own-events.test.ts',
      'reach webhooks, event streams and reactions, with the stream and its owner alone',
    ],
    plugin: 'test/kit/telling-plugin.ts',
  },
  config: own('config', 'fills its config with defaults, and refuses what does not fit, all at once'),
  'metrics and faults': own('config', 'counts metrics and answers with Faults of its own'),
  'services by token, collections': own(
    'config',
    'meets other plugins and services by token, in the order of their needs',
  ),
  'decide: publish, play, upload': {
    test: ['test/plugins/decide/guide.test.ts', 'the plugin of docs/plugins/decide.md does what it says'],
    plugin: 'docs/plugins/decide.md',
  },
  'decide: exports': {
    test: [
      'test/plugins/decide/export.test.ts',
      'a plugin that decides about exports refuses them with a reason, and makes no task',
    ],
    plugin: 'test/plugins/decide/kit.ts',
  },
  'decide: deliveries': {
    test: [
      'test/plugins/decide/delivery.test.ts',
      'a plugin that refuses deliveries ends them without a request; the log says why',
    ],
    plugin: 'test/plugins/decide/kit.ts',
  },
  'see media, text tracks in live playlists': {
    test: [
      'test/media/plugins/guide.test.ts',
      'its captions come back from a worker, and are in the playlist',
    ],
    plugin: 'docs/plugins/media.md',
  },
  'text tracks of films': {
    test: ['test/media/plugins/guide.test.ts', 'its subtitles of an asset are those in the blob store'],
    plugin: 'docs/plugins/media.md',
  },
  'renditions in live playlists': {
    test: [
      'test/media/plugins/plugins.e2e.ts',
      'make a rendition with a process of their own, which keeps every rule of a live playlist',
    ],
    plugin: 'test/media/plugins/overlay-plugin.ts',
  },
  'a driver for a port': {
    test: ['test/sdk/drivers/http-blobs.test.ts', 'keeps the files of the program'],
    plugin: 'test/sdk/drivers/http-blobs.ts',
  },
  'be a dialect': {
    test: [
      'test/plugins/dialect.test.ts',
      'speaks another API: paths, hosts, keys, errors, webhooks, names and RTMP in one go',
    ],
    plugin: 'test/kit/dialect-plugin.ts',
  },
  'a page, panel, column, command and tool': {
    test: ['test/plugins/face.test.ts', 'is declared by a plugin and read by another'],
  },
  'routes between nodes': own('nodes', 'asks another node, where nobody else gets to'),
  'lost nodes': own('nodes', 'hears of processes of a node that are gone'),
} satisfies Readonly<Record<string, Shown>>;

/** Where each key of a plugin is shown: a new one needs a row. */
const keys: Readonly<Record<keyof Plugin, keyof typeof capabilities>> = {
  id: 'config',
  summary: 'config',
  contract: 'config',
  isEssential: 'config',
  config: 'config',
  contradictions: 'config',
  needs: 'services by token, collections',
  provides: 'services by token, collections',
  offers: 'services by token, collections',
  resources: 'resources with lists, filters and counts',
  extends: 'fields and derived fields',
  derives: 'fields and derived fields',
  actors: 'machines, actors, reactions, orders',
  emits: 'own events, to webhooks',
  orders: 'machines, actors, reactions, orders',
  effects: 'effects',
  faults: 'metrics and faults',
  reactions: 'machines, actors, reactions, orders',
  decides: 'decide: publish, play, upload',
  lostNode: 'lost nodes',
  duties: 'singleton tasks',
  media: 'see media, text tracks in live playlists',
  drivers: 'a driver for a port',
  routes: 'routes with OpenAPI and scopes',
  errors: 'be a dialect',
  hosts: 'be a dialect',
  rtmpApps: 'be a dialect',
  nodeRoutes: 'routes between nodes',
  start: 'services by token, collections',
};

it.each(Object.entries<Shown>(capabilities))('%s: has a test', (_, { test: [file, name] }) => {
  expect([file, name, read(file).includes(`'${name}'`)]).toEqual([file, name, true]);
});

it.each(Object.entries<Shown>(capabilities))(
  '%s: needs no internal file',
  (_, { test: [file], plugin = file }) => {
    const imported = [...read(plugin).matchAll(/from '([^']+)'/g)].map(([, name = '']) => name);
    // `../../sdk/plugin.ts` is `millrace/plugin`; the rest of these is what runs the test.
    const allowed = /^(millrace\/|node:|vitest$|\.\/|(\.\.\/)+(sdk|kit)\/)/;
    expect(imported.some((name) => /millrace\/plugin|sdk\/plugin\.ts/.test(name))).toBe(true);
    expect(imported.filter((name) => !allowed.test(name))).toEqual([]);
  },
);

it('has a row for each key of a plugin', () => {
  for (const capability of Object.values(keys)) expect(capabilities).toHaveProperty([capability]);
});

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
