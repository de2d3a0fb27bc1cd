import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Fault } from '../core/base/fault.ts';
import { didYouMean, nearMiss } from '../core/base/near-miss.ts';
import { contractVersion, type Plugin } from '../core/plugin/plugin.ts';
import { provideEntryPoints } from './entry-points.ts';
import type { Config } from './schema.ts';

/** The plugins that ship with the program. The code of one that is switched off is never loaded. */
const shipped: ReadonlyMap<string, () => Promise<{ default: unknown }>> = new Map([
  ['accounts', () => import('../plugins/accounts/index.ts')],
  ['streams', () => import('../plugins/streams/index.ts')],
  ['health', () => import('../plugins/health/index.ts')],
  ['renditions', () => import('../plugins/renditions/index.ts')],
  ['multistream', () => import('../plugins/multistream/index.ts')],
  ['tasks', () => import('../plugins/tasks/index.ts')],
  ['assets', () => import('../plugins/assets/index.ts')],
  ['transcode', () => import('../plugins/transcode/index.ts')],
  ['exports', () => import('../plugins/exports/index.ts')],
  ['recordings', () => import('../plugins/recordings/index.ts')],
  ['stills', () => import('../plugins/stills/index.ts')],
  ['playback', () => import('../plugins/playback/index.ts')],
  ['aliases', () => import('../plugins/aliases/index.ts')],
  ['protection', () => import('../plugins/protection/index.ts')],
  ['ingest', () => import('../plugins/ingest/index.ts')],
  ['events', () => import('../plugins/events/index.ts')],
  ['webhooks', () => import('../plugins/webhooks/index.ts')],
  ['limits', () => import('../plugins/limits/index.ts')],
  ['audit', () => import('../plugins/audit/index.ts')],
  ['system', () => import('../plugins/system/index.ts')],
  ['dashboard', () => import('../plugins/dashboard/index.ts')],
  ['watch', () => import('../plugins/watch/index.ts')],
  ['docs', () => import('../plugins/docs/index.ts')],
  ['mux-compat', () => import('../plugins/mux-compat/index.ts')],
  ['studio-compat', () => import('../plugins/studio-compat/index.ts')],
  ['mcp', () => import('../plugins/mcp/index.ts')],
] as [string, () => Promise<{ default: unknown }>][]);

/** Shipped plugins that are off unless the config names them: they add the API of another platform. */
const offByDefault: ReadonlySet<string> = new Set(['mux-compat', 'studio-compat']);

/** Imports the enabled plugins. Throws one Fault that names every one that could not be loaded. */
export async function enabledPlugins(config: Config): Promise<EnabledPlugin[]> {
  const { plugins, problems } = await importPlugins(config.plugins);
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  return plugins;
}

/**
 * The same, with the problems beside it. `slices`: plugin id → its config, true or false, as written.
 *
 * @param folder of the config file: paths of plugins are relative to it
 */
export async function importPlugins(
  slices: unknown,
  folder = process.cwd(),
): Promise<{ plugins: EnabledPlugin[]; problems: string[] }> {
  const given = slices !== null && typeof slices === 'object' && !Array.isArray(slices) ? slices : {};
  const wanted = new Map<string, unknown>(
    [...shipped.keys()].filter((id) => !offByDefault.has(id)).map((id) => [id, true]),
  );
  for (const [id, slice] of Object.entries(given)) wanted.set(id, slice);
  // What is off is never loaded, so nothing else would notice that the plugin that was meant is still on.
  const misspelt = Object.entries(given)
    .filter(([id, slice]) => slice === false && !shipped.has(id) && findPlugin(id, folder) === undefined)
    .filter(([id]) => nearMiss(id, shipped.keys()))
    .map(([id]) => `plugins.${id}: ${noSuchPlugin(id)}`);
  const loaded = await Promise.all(
    [...wanted]
      .filter(([, slice]) => slice !== false)
      .map(async ([id, slice]) => {
        const load = shipped.get(id);
        const file = load ? `plugins/${id}` : findPlugin(id, folder);
        if (file === undefined) return `plugins.${id}: ${noSuchPlugin(id)}${installHint(id, folder)}`;
        try {
          if (!load) provideEntryPoints();
          const module = await (load ? load() : inTime(import(file) as Promise<{ default: unknown }>));
          if (!isPlugin(module.default))
            return `plugins.${id}: the default export of ${file} is not a plugin`;
          const problem = load ? undefined : contractProblem(module.default, id);
          return problem
            ? `plugins.${id}: ${problem}`
            : { plugin: module.default, config: slice, file, name: id };
        } catch (error) {
          return `plugins.${id}: ${importProblem(error, file)}`;
        }
      }),
  );
  // In the order of the config, whichever import was the faster.
  return {
    plugins: loaded.filter((entry) => typeof entry !== 'string'),
    problems: [...misspelt, ...loaded.filter((entry) => typeof entry === 'string')],
  };
}

interface EnabledPlugin {
  readonly plugin: Plugin;
  /** Its slice of config as written. */
  readonly config: unknown;
  /** Where it was loaded from. */
  readonly file: string;
  /** What the config calls it. */
  readonly name: string;
}

/** ms. A module that waits at its top level for what never comes would keep the program from starting, without a word. */
const importLimit = 10_000;

async function inTime<T>(loading: Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(importLimit);
  return Promise.race([
    loading,
    new Promise<never>((_, reject) => {
      const message = `it took longer than ${importLimit / 1000} s; does it wait for something at its top level?`;
      // Its own place is of no use to whoever reads it.
      late.addEventListener('abort', () => reject(Object.assign(new Error(message), { stack: '' })));
    }),
  ]);
}

function isPlugin(value: unknown): value is Plugin {
  return value !== null && typeof value === 'object' && 'id' in value && 'summary' in value;
}

/** What ships is of one piece; what was written elsewhere may be older or newer than this program. */
function contractProblem({ contract }: { readonly contract?: unknown }, id: string): string | undefined {
  if (contract === contractVersion) return undefined;
  if (contract !== undefined && !Number.isSafeInteger(contract)) {
    return `contract: expected the number ${contractVersion}, not ${JSON.stringify(contract)?.slice(0, 40)}`;
  }
  const has = `this program has version ${contractVersion}`;
  if (contract === undefined) {
    return `it does not say which plugin contract it was written for; ${has}: write contract: ${contractVersion} into it, and check it with millrace plugin check ${id}`;
  }
  const release = isPath(id) ? 'change it' : `install a release of ${id}`;
  const instead = (contract as number) > contractVersion ? 'update Millrace' : 'run an older Millrace';
  return `it was written for version ${contract} of the plugin contract, and ${has}; ${release} for version ${contractVersion}, or ${instead}`;
}

function noSuchPlugin(id: string): string {
  const known = [...shipped.keys()];
  return `there is no such plugin or package; the plugins that ship are ${known.join(', ')}${didYouMean(id, known)}`;
}

/**
 * The file that a name or a path of the config stands for, without symbolic links, so that two names of one plugin can be compared.
 * Undefined for a plugin that ships, and when there is nothing of this name.
 */
export function pluginFile(id: string, folder: string): string | undefined {
  const file = shipped.has(id) ? undefined : findPlugin(id, folder);
  return file === undefined ? undefined : realpathSync(file);
}

/**
 * Finds a plugin that does not ship with the program: a package, or a file or folder whose path begins with `/`, `./` or
 * `../`. `folder` is that of the config file: paths are relative to it, and packages are looked for from there first.
 * Undefined when there is nothing of this name.
 */
function findPlugin(id: string, folder: string): string | undefined {
  if (isPath(id)) {
    const path = resolve(folder, id);
    return exportOf(path) ?? resolved(path, folder);
  }
  for (const from of [folder, import.meta.dirname]) {
    const parent = installedIn(id, from);
    if (parent !== undefined) return resolved(id, parent);
  }
  return undefined;
}

/** What a folder's package.json exports. A path to a folder heeds only its `main`; a package finds its exports by its own name. */
function exportOf(folder: string): string | undefined {
  try {
    const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return exports === undefined ? undefined : resolved(name, folder);
  } catch {
    return undefined;
  }
}

/** What to do about a package that is not there, or about a path that was written like the name of one. */
function installHint(id: string, folder: string): string {
  if (isPath(id)) return '';
  if (existsSync(join(folder, id))) return `; for the file or folder of this name write ./${id}`;
  return id.startsWith('@') ? `; to install it: cd ${folder} && npm install ${id}` : '';
}

function isPath(id: string): boolean {
  return isAbsolute(id) || id.startsWith('./') || id.startsWith('../');
}

/** The folder, `from` or one above it, in whose `node_modules` a package is. Bun alone would try to download one that is not there. */
function installedIn(id: string, from: string): string | undefined {
  const name = /^(@[^/]+\/)?[^/]+/.exec(id)?.[0];
  if (name === undefined || /^\.+$/.test(name)) return undefined;
  if (existsSync(join(from, 'node_modules', name))) return from;
  const above = dirname(from);
  return above === from ? undefined : installedIn(id, above);
}

function resolved(id: string, from: string): string | undefined {
  try {
    const file = Bun.resolveSync(id, from);
    // A module that Node or Bun brings along (`stream`, `ws`) resolves to its own name.
    return isAbsolute(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** Why a module could not be imported, in one line: the message of the first error, and the place that it names. */
function importProblem(error: unknown, file: string): string {
  // Bun collects what is wrong with the syntax of a file.
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const thrown = (first !== null && typeof first === 'object' ? first : {}) as Thrown;
  const [message] = String(thrown.message ?? first).split('\n', 1);
  const place = placeOf(thrown);
  return `${file} could not be loaded: ${message}${place === undefined ? '' : ` (${place})`}`;
}

/** Errors of Bun's parser have a position, all others a stack; frames of the runtime itself name no file. */
function placeOf({ position, stack }: Thrown): string | undefined {
  if (position) return `${position.file}:${position.line}:${position.column}`;
  const frames = typeof stack === 'string' ? stack.split('\n').map((line) => line.trim()) : [];
  return frames.find((frame) => frame.startsWith('at ') && frame.includes('/'));
}

interface Thrown {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | null;
}
