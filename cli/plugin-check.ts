import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { readConfig } from '../config/load.ts';
import { importPlugins, pluginFile } from '../config/plugins.ts';
import { Fault } from '../core/base/fault.ts';
import type { Plugin } from '../core/plugin/plugin.ts';
import { type ConfiguredPlugin, planOf } from '../runtime/boot/plan.ts';
import { type Command, complain, exits, print } from './command.ts';

/** Checks a plugin against all others as the start does, and starts it once in memory, with virtual time and no sockets. */
export const pluginCheck: Command = {
  name: 'plugin check',
  usage: '<path|package> [--config FILE] [--json]',
  summary: 'checks a plugin without starting a server',
  details:
    'Imports the plugin, compares its declarations with those of all plugins that the config enables, and starts it in memory.\n' +
    'Exit code 0: it fits, and a summary says what it adds. 1: each problem is one line.',
  options: {
    config: {
      ...{ type: 'string', value: 'FILE' },
      summary:
        'config of the deployment. Default: MILLRACE_CONFIG, or else all built-in plugins and the defaults',
    },
    json: { type: 'boolean', summary: 'prints one JSON document' },
  },
  arguments: { least: 1, most: 1 },
  async run({ arguments: [given = ''], options: { config: file, json } }) {
    const path = typeof file === 'string' ? file : process.env.MILLRACE_CONFIG;
    const read = await deployment(path);
    if (typeof read === 'string') {
      complain(read);
      return exits.config;
    }
    const checked = await check(keyOf(given), read);
    if (json) print(JSON.stringify(checked));
    else if (checked.problems.length > 0) complain(listed(`${given} does not work:`, checked.problems));
    else print(summary(checked));
    return checked.problems.length > 0 ? exits.failed : exits.fine;
  },
};

interface Deployment {
  readonly slices: Readonly<Record<string, unknown>>;
  readonly folder: string;
}

interface Checked {
  readonly problems: readonly string[];
  readonly plugin?: { readonly id: string; readonly summary: string; readonly file: string };
  /** What is worth a look, and keeps nothing from working. */
  readonly notes?: readonly string[];
  /** What the program has more of with it: routes, fields, events … */
  readonly adds?: Readonly<Record<string, readonly string[]>>;
}

/** The config, or why it cannot be read. */
async function deployment(path: string | undefined): Promise<Deployment | string> {
  try {
    const { config, problems, folder } = await readConfig({ MILLRACE_CONFIG: path });
    if (problems.length > 0) return listed(`${path} is wrong:`, problems);
    return { slices: config.plugins as Deployment['slices'], folder };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error.problems.join('\n');
  }
}

/** A path is relative to here, not to the config; so that `views` can be the folder of this name, too. */
function keyOf(given: string): string {
  const path = resolve(given);
  return isAbsolute(given) || given.startsWith('.') || existsSync(path) ? path : given;
}

async function check(key: string, { slices, folder }: Deployment): Promise<Checked> {
  const name = nameIn(Object.keys(slices), { key, folder });
  const { plugins, problems } = await importPlugins({ ...slices, [name]: slices[name] || true }, folder);
  const entry = plugins.find((one) => one.name === name);
  const found = [...problems, ...planOf(plugins).problems];
  if (!entry) return { problems: found };
  const { plugin, file } = entry;
  const facts = { plugin: { id: plugin.id, summary: plugin.summary, file } };
  if (found.length > 0) return { ...facts, problems: found };
  const run = await started(plugins, plugin);
  if (run.problems.length > 0) return { ...facts, problems: run.problems };
  return {
    ...facts,
    problems: [],
    notes: await notesOf(file, folder),
    adds: { ...run.adds, ...declared(plugin) },
  };
}

/** What the config calls the plugin: it may name the same one by another path, or by its package. */
function nameIn(names: readonly string[], { key, folder }: { key: string; folder: string }): string {
  if (names.includes(key)) return key;
  const file = pluginFile(key, folder);
  const same = file !== undefined && names.find((one) => pluginFile(one, folder) === file);
  return same || key;
}

/** Time for the start of the plugin, ms, as in a server. Its clock stands still here, so this one is real. */
const startLimit = 10_000;

/** The plugin, whose start fails when it takes too long. */
function limited(plugin: Plugin): Plugin {
  const { start } = plugin;
  if (!start) return plugin;
  return {
    ...plugin,
    start(kit) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => late.reject(new Error(`it did not start within ${startLimit / 1000} s`)),
        startLimit,
      );
      const started = (async () => start.call(plugin, kit))();
      return Promise.race([started, late.promise]).finally(() => clearTimeout(timer));
    },
  };
}

/** Starts all of them in memory, and stops them again: what only shows then is found too. */
async function started(
  plugins: readonly ConfiguredPlugin[],
  checked: Plugin,
): Promise<Required<Pick<Checked, 'problems' | 'adds'>>> {
  const { world } = await import('../sdk/testing.ts');
  const configs = plugins.map(({ plugin, config }) => [plugin.id, config] as const);
  try {
    await using w = await world({
      plugins: plugins.map(({ plugin }) => (plugin === checked ? limited(plugin) : plugin)),
      config: Object.fromEntries(configs),
    });
    const routes = Object.entries(w.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method, { tags }]) => !['head', 'options'].includes(method) && isTagged(tags, checked.id))
        .map(([method, { summary: what }]) => `${method.toUpperCase()} ${path}: ${what}`),
    );
    const answered = await w.request('GET', '/health/ready');
    const issues: readonly string[] = answered.body?.issues ?? [];
    const errors = w.lines.flatMap((line) => errorOf(line));
    return { problems: [...issues, ...errors], adds: routes.length > 0 ? { routes } : {} };
  } catch (error) {
    const problems = error instanceof Fault ? error.problems : [(error as Error).message];
    return { problems, adds: {} };
  }
}

/** What a line of the log at the level of errors says. */
function errorOf(line: string): string[] {
  const { level, message, error, plugin } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  if (level !== 'error') return [];
  const why = typeof error === 'string' ? error.split('\n')[0] : JSON.stringify(error);
  return [`${plugin === undefined ? '' : `${plugin}: `}${message}${error === undefined ? '' : ` (${why})`}`];
}

function isTagged(tags: unknown, id: string): boolean {
  return Array.isArray(tags) && tags.includes(id);
}

function declared(plugin: Plugin): Record<string, readonly string[]> {
  const { extends: fields = [], derives = [], emits = {}, reactions = {}, resources = [] } = plugin;
  const lists: Record<string, readonly string[]> = {
    resources: resources.map(({ kind }) => kind),
    fields: [
      ...fields.map(({ resource, name }) => `${resource.kind}.${name}`),
      ...derives.flatMap(({ resource, schemas }) =>
        Object.keys(schemas).map((name) => `${resource.kind}.${name}`),
      ),
    ],
    events: Object.keys(emits),
    'reacts to': Object.keys(reactions),
    actors: (plugin.actors ?? []).map(({ type }) => type),
    effects: Object.keys(plugin.effects ?? {}),
    'singleton tasks': Object.keys(plugin.duties ?? {}),
    'config keys': Object.keys(plugin.config?.properties ?? {}),
    needs: (plugin.needs ?? []).map((token) => token.id),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** What npm needs to know of a plugin's package. A plugin without one lies in the package of its deployment, which is another. */
async function notesOf(file: string, folder: string): Promise<string[]> {
  const path = nearest(dirname(file));
  if (path === undefined || pluginFile(dirname(path), folder) !== (await realpath(file))) return [];
  const { peerDependencies, dependencies } = JSON.parse(await readFile(path, 'utf8'));
  if (dependencies?.millrace !== undefined)
    return [`${path}: millrace belongs in peerDependencies; in dependencies npm installs a second one`];
  if (peerDependencies?.millrace !== undefined) return [];
  return [`${path}: peerDependencies.millrace is missing; npm cannot warn where the versions do not fit`];
}

function nearest(folder: string): string | undefined {
  const path = join(folder, 'package.json');
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : nearest(dirname(folder));
}

function summary({ plugin, notes = [], adds = {} }: Checked): string {
  const lines = Object.entries(adds).map(([what, list]) =>
    list.length === 1 ? `  ${what}: ${list[0]}` : `  ${what}:\n${list.map((one) => `    ${one}`).join('\n')}`,
  );
  return [
    `${plugin?.id} fits: ${plugin?.summary} (${plugin?.file})`,
    ...lines,
    ...notes.map((note) => `  note: ${note}`),
  ].join('\n');
}

function listed(head: string, problems: readonly string[]): string {
  return [head, ...problems.map((problem) => `  - ${problem}`)].join('\n');
}
