import type { TObject } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { settingsOf } from '../../core/plugin/settings.ts';
import type { Token } from '../../core/plugin/token.ts';
import { invokeProblems, jobKind } from '../actors/jobs/kind.ts';

export interface ConfiguredPlugin {
  readonly plugin: Plugin;
  /** Its slice of config as written, or undefined. */
  readonly config: unknown;
  /** Where it was loaded from, for errors. */
  readonly file?: string;
}

/**
 * Checks the enabled plugins against each other and orders them so that whoever provides comes before
 * whoever needs. Throws one Fault `boot.invalid` with every problem found.
 */
export function planned(entries: readonly ConfiguredPlugin[]): PlannedPlugin[] {
  const { plan, problems } = planOf(entries);
  if (problems.length > 0) throw new Fault('boot.invalid', { status: 500, message: problems });
  return plan;
}

/** The same, with the problems beside it, so that they can be told together with those of the config. */
export function planOf(entries: readonly ConfiguredPlugin[]): { plan: PlannedPlugin[]; problems: string[] } {
  const problems: string[] = [];
  const plugins = entries.map(({ plugin }) => plugin);
  const provider = new Map<string, Plugin>();

  unique(entries, { what: 'plugin', names: (plugin) => [plugin.id], problems });
  unique(entries, { what: 'actor type', names: (p) => (p.actors ?? []).map(({ type }) => type), problems });
  unique(entries, { what: 'event', names: (p) => Object.keys(p.emits ?? {}), problems });
  unique(entries, { what: 'order', names: (p) => Object.keys(p.orders ?? {}), problems });
  unique(entries, { what: 'effect', names: (p) => Object.keys(p.effects ?? {}), problems });
  unique(entries, { what: 'fault', names: (p) => Object.keys(p.faults ?? {}), problems });
  unique(entries, { what: 'token', names: (p) => (p.provides ?? []).map(({ id }) => id), problems });
  unique(entries, { what: 'resource', names: (p) => (p.resources ?? []).map(({ kind }) => kind), problems });
  unique(entries, {
    what: 'field',
    names: (p) => [
      ...(p.extends ?? []).map((field) => `${field.resource.kind}.${field.name}`),
      ...(p.derives ?? []).flatMap((one) =>
        Object.keys(one.schemas).map((name) => `${one.resource.kind}.${name}`),
      ),
    ],
    problems,
  });

  for (const { plugin, file } of entries) {
    if (kebabCase.test(plugin.id)) continue;
    problems.push(`plugin ${culprit(plugin.id, file)}: its id must be in kebab-case, such as live-captions`);
  }
  for (const plugin of plugins) for (const token of plugin.provides ?? []) provider.set(token.id, plugin);
  const kinds = new Set(plugins.flatMap((plugin) => (plugin.resources ?? []).map(({ kind }) => kind)));
  const events = new Set(plugins.flatMap((plugin) => Object.keys(plugin.emits ?? {})));
  const effects = new Set(plugins.flatMap((plugin) => Object.keys(plugin.effects ?? {})));
  for (const plugin of plugins) {
    for (const token of plugin.needs ?? []) {
      if (!provider.has(token.id) && !isService(token)) {
        problems.push(`plugin ${plugin.id}: needs ${token.id}, which no enabled plugin provides`);
      }
    }
    for (const field of plugin.extends ?? []) {
      if (!kinds.has(field.resource.kind)) {
        problems.push(`plugin ${plugin.id}: extends ${field.resource.kind}, a resource of no enabled plugin`);
      }
    }
    for (const event of Object.keys(plugin.reactions ?? {})) {
      if (event !== '*' && !events.has(event)) {
        problems.push(`plugin ${plugin.id}: reacts to ${event}, an event that no enabled plugin emits`);
      }
    }
    for (const type of plugin.actors ?? []) {
      problems.push(...invokeProblems(type, effects).map((problem) => `plugin ${plugin.id}: ${problem}`));
    }
    for (const order of Object.keys(plugin.orders ?? {})) {
      if (!order.startsWith('order.')) {
        problems.push(`plugin ${plugin.id}: order ${order} must be named order.*`);
      }
    }
  }

  problems.push(...stranded(plugins, provider));

  const configs = new Map(
    entries.map(({ plugin, config }) => [plugin.id, checkedConfig(plugin, config, problems)]),
  );
  for (const plugin of plugins) problems.push(...effectProblems(plugin, configs.get(plugin.id)));
  const ordered = sorted(plugins, { provider, problems });
  return {
    plan: ordered.map((plugin) => ({
      plugin,
      config: configs.get(plugin.id)?.value as never,
      culprit: culprit(plugin.id, entries.find((entry) => entry.plugin === plugin)?.file),
    })),
    problems,
  };
}

const serviceIds: ReadonlySet<string> = new Set(Object.values(services).map(({ id }) => id));

function isService({ id }: Token<unknown>): boolean {
  return serviceIds.has(id);
}

const kebabCase = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

export interface PlannedPlugin {
  readonly plugin: Plugin;
  /** Checked and filled. */
  readonly config: never;
  /** How errors name it. */
  readonly culprit: string;
}

function unique(
  entries: readonly ConfiguredPlugin[],
  options: { what: string; names: (plugin: Plugin) => readonly string[]; problems: string[] },
): void {
  const owners = new Map<string, string>();
  for (const { plugin, file } of entries) {
    const own = culprit(plugin.id, file);
    for (const name of options.names(plugin)) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        options.problems.push(`${options.what} ${name} is declared twice: by ${owner} and ${own}`);
      }
      owners.set(name, own);
    }
  }
}

/** How an error names a plugin: with its file, as two may have one id. */
function culprit(id: string, file: string | undefined): string {
  return file === undefined ? id : `${id} (${file})`;
}

/** What a plugin's effects say of themselves, where its config is one that they can be asked with. */
function effectProblems(plugin: Plugin, config: { value: unknown; isValid: boolean } | undefined): string[] {
  if (!config?.isValid) return [];
  return Object.entries(plugin.effects ?? {}).flatMap(([kind, effect]) => {
    const kit = () => {
      throw new Error('there is no kit before the start');
    };
    return jobKind(kind, { effect, config: config.value, kit }).problems;
  });
}

function checkedConfig(
  plugin: Plugin,
  given: unknown,
  problems: string[],
): { value: unknown; isValid: boolean } {
  if (given !== undefined && given !== true && (given === null || typeof given !== 'object')) {
    problems.push(`plugins.${plugin.id}: expected an object, true or false`);
    return { value: {}, isValid: false };
  }
  const values = given === undefined || given === true ? {} : given;
  if (!plugin.config) {
    for (const name of Object.keys(values)) problems.push(`plugins.${plugin.id}.${name}: unknown field`);
    return { value: {}, isValid: true };
  }
  const schema: TObject = { ...plugin.config, additionalProperties: false };
  const prefix = `plugins.${plugin.id}`;
  const { value, problems: wrong } = settingsOf(schema, { given: values, prefix, whole: prefix });
  if (wrong.length === 0) {
    const contradictions = plugin.contradictions?.(value as never) ?? [];
    wrong.push(...contradictions.map((problem) => `${prefix}.${problem}`));
  }
  problems.push(...wrong);
  return { value, isValid: wrong.length === 0 };
}

/** Plugins that would have all they need, were it not for others that have not: one report names all of them. */
function stranded(plugins: readonly Plugin[], provider: ReadonlyMap<string, Plugin>): string[] {
  const lacks = (plugin: Plugin) =>
    (plugin.needs ?? []).some((need) => !provider.has(need.id) && !isService(need));
  const broken = new Set(plugins.filter(lacks));
  const problems: string[] = [];
  for (let before = -1; before !== broken.size; ) {
    before = broken.size;
    for (const plugin of plugins) {
      if (broken.has(plugin)) continue;
      const need = (plugin.needs ?? []).find(({ id }) => broken.has(provider.get(id) as Plugin));
      if (!need) continue;
      broken.add(plugin);
      problems.push(
        `plugin ${plugin.id}: needs plugin ${provider.get(need.id)?.id}, which lacks what it needs itself`,
      );
    }
  }
  return problems;
}

/** Providers before those who need them; otherwise in the given order. */
function sorted(
  plugins: readonly Plugin[],
  options: { provider: ReadonlyMap<string, Plugin>; problems: string[] },
): Plugin[] {
  const done = new Set<Plugin>();
  const open = new Set<Plugin>();
  const visit = (plugin: Plugin) => {
    if (done.has(plugin)) return;
    if (open.has(plugin)) {
      options.problems.push(`plugins need each other in a circle: ${[...open].map((p) => p.id).join(' → ')}`);
      return;
    }
    open.add(plugin);
    for (const token of plugin.needs ?? []) {
      const needed = options.provider.get(token.id);
      if (needed && needed !== plugin) visit(needed);
    }
    open.delete(plugin);
    done.add(plugin);
  };
  for (const plugin of plugins) visit(plugin);
  return [...done];
}
