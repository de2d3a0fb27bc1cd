import { describe, expect, it } from 'vitest';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import { pluginNeeds } from '../../scripts/plugin-needs.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { parseExposition } from '../kit/exposition.ts';
import { type World, world } from '../kit/world.ts';
import { documentProblems } from '../openapi/valid.ts';
import { film, put } from './uploads/kit.ts';

// Every deployment with a single plugin off, and what needs it: it starts, shows only what is there, and does its main work.

const shipped = await allPlugins();
const needs = pluginNeeds(shipped);

/** Files that a plugin adds to the routes of others. */
const filesOf: Record<string, readonly string[]> = {
  stills: ['jpg', 'png', 'webp'].map((ending) => `thumbnail.${ending}`),
};

/** Names of the metrics that each plugin adds by itself. */
const metricsOf = await ownMetrics();

/** What an enabled plugin does for a client, at least. Each throws unless it works. */
const jobs: Record<string, (w: World) => Promise<void>> = {
  async accounts(w) {
    expect((await w.request('POST', '/api/account', { body: { name: 'One' } })).status).toBe(201);
  },
  async streams(w) {
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.isActive).toBe(true);
    expect((await w.events()).map(({ event }) => event)).toContain('stream.started');
  },
  async assets(w) {
    const { body } = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    expect((await put(w, body.url)).body).toMatchObject({ status: 'ready', size: film.length });
  },
  async mcp(w) {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await w.request('POST', '/mcp', { body })).body.result.tools).not.toEqual([]);
  },
  async tasks(w) {
    expect((await w.request('GET', '/api/task')).status).toBe(200);
  },
  async multistream(w) {
    const url = 'rtmp://push.example.com/live/a';
    const target = await w.request('POST', '/api/multistream/target', { body: { url } });
    expect(target.status).toBe(201);
    const multistream = { targets: [{ profile: 'source', id: target.body.id }] };
    expect((await w.given.stream({ multistream })).multistream).toEqual(multistream);
  },
  async renditions(w) {
    expect((await w.given.stream({ profiles: [] })).profiles).toEqual([]);
  },
  async recordings(w) {
    expect((await w.given.stream({ record: true })).record).toBe(true);
  },
  async aliases(w) {
    expect((await w.request('GET', '/api/alias')).status).toBe(200);
  },
  async health(w) {
    const stream = await w.given.stream();
    expect((await w.request('GET', `/api/stream/${stream.id}/health`)).status).toBe(200);
  },
  async webhooks(w) {
    const events = ['stream.started', 'asset.created'];
    const body = { name: 'Hook', url: 'https://hooks.example.com/a', events };
    const { id } = (await w.request('POST', '/api/webhook', { body })).body;
    // Also of an event that no enabled plugin emits.
    const test = await w.request('POST', `/api/webhook/${id}/test`, { body: { event: 'stream.started' } });
    expect(test.status).toBe(200);
    expect(w.outbound.sent.map(({ url }) => url)).toContain('https://hooks.example.com/a');
  },
  async events(w) {
    expect((await w.request('HEAD', '/api/events')).status).toBe(200);
    // Also one that no enabled plugin emits.
    expect((await w.request('HEAD', '/api/events?type=multistream.error')).status).toBe(200);
  },
  async system(w) {
    expect((await w.request('GET', '/api/system/reactions')).body).toEqual([]);
    expect((await w.request('GET', '/api/system')).status).toBe(200);
  },
  async ingest(w) {
    expect((await w.request('GET', '/api/ingest')).status).toBe(200);
  },
  async playback(w) {
    expect((await w.request('GET', '/api/playback/none', { key: null })).body.code).toBe(
      'playback.not_found',
    );
  },
  async docs(w) {
    const page = await w.app.handle(new Request('http://localhost:8080/docs'));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('scalar.js')]);
    const guide = await w.app.handle(new Request('http://localhost:8080/docs/guides/api'));
    expect([guide.status, await guide.text()]).toEqual([
      200,
      expect.stringContaining('<h1 id="api">API</h1>'),
    ]);
  },
  async dashboard(w) {
    const page = await w.app.handle(new Request('http://localhost:8080/'));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('id="app"')]);
    const script = await w.app.handle(new Request('http://localhost:8080/dashboard/app/app.js'));
    expect([script.status, script.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('javascript'),
    ]);
  },
  async protection(w) {
    expect((await w.request('GET', '/api/signing-key')).body).toEqual([]);
    if (!('/api/stream' in w.document.paths)) return;
    const { playbackId } = await w.given.stream({ playbackPolicy: { type: 'signed' } });
    const answer = await w.app.handle(new Request(`http://localhost:8080/hls/${playbackId}/index.m3u8`));
    expect(answer.status).toBe(403);
  },
  async audit(w) {
    const { body } = await w.request('GET', '/api/audit');
    expect(body).toEqual(expect.any(Array));
  },
  async limits(w) {
    const { body } = await w.request('GET', '/api/account/usage');
    expect(body.streams).toEqual({ used: expect.any(Number), limit: null });
  },
  async watch(w) {
    const page = await w.app.handle(new Request('http://localhost:8080/watch/6pukxh2m0ydr9h3q'));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')]);
    const player = await w.app.handle(new Request('http://localhost:8080/embed/6pukxh2m0ydr9h3q'));
    expect([player.status, await player.text()]).toEqual([200, expect.stringContaining('<media-controller')]);
    const url = 'http%3A%2F%2Flocalhost%3A8080%2Fwatch%2Fnone';
    expect((await w.request('GET', `/oembed?url=${url}`, { key: null })).body.code).toBe('oembed.not_found');
  },
};

describe('a deployment', async () => {
  await using whole = await world({ plugins: shipped });
  const full = partsOf(whole);

  it.each(needs.map(({ id, neededBy }) => [id, neededBy] as const))(
    'without %s starts, shows only what is there, and works',
    async (id, neededBy) => {
      const off = new Set([id, ...neededBy]);
      const plugins = shipped.filter((plugin) => !off.has(plugin.id));
      const absent = shipped.filter((plugin) => off.has(plugin.id));
      await using w = await world({ plugins });
      expect((await w.request('GET', '/health/ready', { key: null })).body).toEqual({ status: 'ready' });

      expect(await documentProblems(w.document)).toEqual([]);
      const parts = partsOf(w);
      expect(parts.tags).toEqual(full.tags.filter((tag) => !off.has(tag)));
      const files = absent.flatMap((plugin) => filesOf[plugin.id] ?? []);
      const isLeft = (path: string) => !files.some((name) => path.endsWith(`/${name}`));
      // Where the dashboard is off, the program has a page there itself.
      const isHome = ({ path, tag }: { path: string; tag: string }) => path === '/' && tag === 'core';
      expect(parts.routes.some(isHome)).toBe(off.has('dashboard'));
      expect(parts.routes.filter((route) => !isHome(route))).toEqual(
        full.routes.filter(({ tag, path }) => !off.has(tag) && isLeft(path)),
      );
      const left = JSON.stringify(w.document);
      for (const name of namesOf(absent, plugins))
        expect([name, left.includes(`"${name}"`)]).toEqual([name, false]);
      // An error of the core has the same name as an event.
      const gone = new Set(absent.flatMap(({ emits = {} }) => Object.keys(emits)));
      gone.delete('playback.refused');
      expect(choicesIn(w.document).filter((value) => gone.has(value as string))).toEqual([]);
      expect(parts.schemas.filter((name) => !full.schemas.includes(name))).toEqual([]);

      const metrics = await textOf(w, '/metrics');
      parseExposition(metrics);
      const families = familiesOf(metrics);
      for (const plugin of absent) {
        expect([plugin.id, families.filter((name) => metricsOf.get(plugin.id)?.has(name))]).toEqual([
          plugin.id,
          [],
        ]);
      }
      const foreign = absent.flatMap(({ id: one, emits = {}, effects = {}, actors = [] }) => [
        `plugin="${one}"`,
        ...[...Object.keys(emits), ...actors.map(({ type }) => type)].map((type) => `type="${type}"`),
        ...Object.keys(effects).map((kind) => `kind="${kind}"`),
      ]);
      expect(foreign.filter((label) => metrics.includes(label))).toEqual([]);

      for (const plugin of plugins) await jobs[plugin.id]?.(w);
      expect(w.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    },
  );

  it('has a job for every plugin but those that do nothing alone', () => {
    const alone = ['transcode', 'exports', 'stills'];
    expect(shipped.map(({ id }) => id).filter((id) => !jobs[id])).toEqual(alone.toSorted(byOrder));
  });
});

const byOrder = (a: string, b: string) =>
  shipped.findIndex(({ id }) => id === a) - shipped.findIndex(({ id }) => id === b);

/** What a document has, by name. */
function partsOf({ document }: World) {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags }]) => ({
      method,
      path,
      tag: (tags as string[])[0] as string,
    })),
  );
  return {
    // A preflight is described by the plugin that answers it, for the routes of others.
    routes: routes.filter(({ method }) => method !== 'options'),
    tags: document.tags.map(({ name }) => name),
    schemas: Object.keys(document.components.schemas),
  };
}

/** What `enum`s of a document have to choose from. */
function choicesIn(node: unknown): unknown[] {
  if (node === null || typeof node !== 'object') return [];
  return Object.entries(node).flatMap(([name, value]) =>
    name === 'enum' && Array.isArray(value) ? value : choicesIn(value),
  );
}

/** Fields, faults and parameters that these plugins alone declare. */
function namesOf(absent: readonly Plugin[], others: readonly Plugin[]): string[] {
  const declared = (plugins: readonly Plugin[]) =>
    plugins.flatMap(({ extends: fields = [], derives = [], faults = {} }) => [
      ...fields.map(({ name }) => name),
      ...derives.flatMap(({ schemas }) => Object.keys(schemas)),
      ...Object.keys(faults),
    ]);
  const known = new Set(declared(others));
  return declared(absent).filter((name) => !known.has(name));
}

/** By plugin: what is there after its start and its routes that was not there before. */
async function ownMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const own = new Map<string, Set<string>>();
  const names = ({ metrics }: Kit) => familiesOf(metrics.text());
  const noting = (plugin: Plugin): Plugin => {
    const found = new Set<string>();
    own.set(plugin.id, found);
    const { start, routes } = plugin;
    const noted = <T>(kit: Kit, work: () => T): T => {
      const before = new Set(names(kit));
      const note = () => {
        for (const name of names(kit)) if (!before.has(name)) found.add(name);
      };
      const result = work();
      if (result instanceof Promise) return result.finally(note) as T;
      note();
      return result;
    };
    return {
      ...plugin,
      ...(start && { start: (kit: Kit) => noted(kit, () => start(kit)) }),
      ...(routes && { routes: (kit: Kit) => noted(kit, () => routes(kit)) }),
    };
  };
  await using _ = await world({ plugins: shipped.map(noting) });
  return own;
}

function familiesOf(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name as string);
}

async function textOf(w: World, path: string): Promise<string> {
  return (await w.app.handle(new Request(`http://localhost:8080${path}`))).text();
}
