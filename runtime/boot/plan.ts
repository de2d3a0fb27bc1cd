import type { TObject } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { didYouMean } from '../../core/base/near-miss.ts';
import { decisionKinds } from '../../core/plugin/decide.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { Field } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { settingsOf } from '../../core/plugin/settings.ts';
import type { Token } from '../../core/plugin/token.ts';
import { invokeProblems, jobKind } from '../actors/jobs/kind.ts';
import { dialectProblems } from './dialects.ts';
import { eventNameProblems } from './event-names.ts';
import { shapeProblems } from './plugin-shape.ts';

export interface ConfiguredPlugin {
  readonly plugin: Plugin;
  /** Its slice of config as written, or undefined. */
  readonly config: unknown;
  /** Where it was loaded from, for errors. */
  readonly file?: string;
  /** What the config calls it: its id, its package or its path. Default: its id. */
  readonly name?: string;
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
export function planOf(given: readonly ConfiguredPlugin[]): { plan: PlannedPlugin[]; problems: string[] } {
  const malformed = given.map(({ plugin }) => shapeProblems(plugin));
  const entries = given.filter((_, index) => malformed[index]?.length === 0);
  const plugins = entries.map(({ plugin }) => plugin);
  const provider = new Map(
    plugins.flatMap((plugin) => (plugin.provides ?? []).map(({ id }) => [id, plugin] as const)),
  );
  const problems = [
    ...malformed.flat(),
    ...Object.entries(namesOf).flatMap(([what, names]) => twins(entries, { what, names })),
    ...entries
      .filter(({ plugin }) => !kebabCase.test(plugin.id))
      .map((entry) => `plugin ${culprit(entry)}: its id must be in kebab-case, such as live-captions`),
    ...plugins.flatMap((plugin) =>
      broughtProblems(plugin).map((problem) => `plugin ${plugin.id}: ${problem}`),
    ),
    ...plugins.flatMap(eventNameProblems),
    ...unmet(plugins, provider),
    ...stranded(plugins, provider),
  ];
  const checked = new Map(
    entries.map((entry) => [entry.plugin, { entry, ...checkedConfig(entry, problems) }]),
  );
  for (const [plugin, config] of checked) problems.push(...effectProblems(plugin, config));
  const valid = [...checked.values()].filter(({ isValid }) => isValid);
  problems.push(
    ...dialectProblems(
      valid.map(({ entry, value }) => ({ plugin: entry.plugin, config: value, culprit: culprit(entry) })),
    ),
  );
  const plan = sorted(plugins, { provider, problems }).flatMap((plugin) => {
    const one = checked.get(plugin);
    return one
      ? { plugin, config: one.value as never, culprit: culprit(one.entry), name: one.entry.name }
      : [];
  });
  return { plan, problems };
}

/** What only one plugin may declare. */
const namesOf: Readonly<Record<string, (plugin: Plugin) => readonly string[]>> = {
  plugin: ({ id }) => [id],
  'actor type': ({ actors = [] }) => actors.map(({ type }) => type),
  event: ({ emits = {} }) => Object.keys(emits),
  order: ({ orders = {} }) => Object.keys(orders),
  effect: ({ effects = {} }) => Object.keys(effects),
  fault: ({ faults = {} }) => Object.keys(faults),
  token: ({ provides = [] }) => provides.map(({ id }) => id),
  resource: ({ resources = [] }) => resources.map(({ kind }) => kind),
  field: ({ resources = [], extends: fields = [], derives = [] }) => [
    ...resources.flatMap(({ kind, ownFields = [] }) => ownFields.map((name) => `${kind}.${name}`)),
    ...fields.map(({ resource, name }) => `${resource.kind}.${name}`),
    ...derives.flatMap(({ resource, schemas }) =>
      Object.keys(schemas).map((name) => `${resource.kind}.${name}`),
    ),
  ],
};

/** What plugins ask of others that no enabled plugin has. */
function unmet(plugins: readonly Plugin[], provider: ReadonlyMap<string, Plugin>): string[] {
  const all = (what: keyof typeof namesOf) => new Set(plugins.flatMap((plugin) => namesOf[what](plugin)));
  const [kinds, events, effects] = [all('resource'), all('event'), all('effect')];
  return plugins.flatMap(
    ({ id, needs = [], extends: fields = [], reactions = {}, actors = [], orders = {}, decides = {} }) =>
      [
        ...deciderProblems(decides),
        ...needs
          .filter((token) => !provider.has(token.id) && !isService(token))
          .map((token) => `needs ${token.id}, which no enabled plugin provides`),
        ...fields.flatMap((field) => fieldProblems(field, kinds)),
        ...Object.keys(reactions)
          .filter((event) => event !== '*' && !events.has(event))
          .map((event) => `reacts to ${event}, an event that no enabled plugin emits`),
        ...actors.flatMap((type) => invokeProblems(type, effects)),
        ...Object.keys(orders)
          .filter((order) => !order.startsWith('order.'))
          .map((order) => `order ${order} must be named order.*`),
      ].map((problem) => `plugin ${id}: ${problem}`),
  );
}

/** Names that no document has otherwise: with `constructor`, which every object has, no stream could be created. */
const fieldName = /^[A-Za-z][A-Za-z0-9_]*$/;

function fieldProblems({ resource, name, isOptional }: Field, kinds: ReadonlySet<string>): string[] {
  const { kind } = resource;
  return [
    ...(kinds.has(kind) || isOptional ? [] : [`extends ${kind}, a resource of no enabled plugin`]),
    ...(fieldName.test(name) && !(name in {})
      ? []
      : [`extends ${kind} by ${JSON.stringify(name)}; expected a name such as viewCount`]),
  ];
}

/** A decider that is never asked would let everything through. */
function deciderProblems(decides: NonNullable<Plugin['decides']>): string[] {
  return Object.entries(decides).flatMap(([kind, decider]) => {
    const isKnown = (decisionKinds as readonly string[]).includes(kind);
    if (!isKnown)
      return `decides ${kind}, which nobody asks; expected ${decisionKinds.join(', ')}${didYouMean(kind, decisionKinds)}`;
    return decider === undefined || typeof decider === 'function' ? [] : `decides.${kind} must be a function`;
  });
}

/** What is wrong with the drivers that a plugin brings. */
function broughtProblems({ drivers = {} }: Plugin): string[] {
  return Object.keys(drivers)
    .filter((port) => port !== 'blobs')
    .map(
      (port) =>
        `brings a driver for ${port}; plugins can bring drivers for blobs only, because store, bus and jobs commit together`,
    );
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
  /** What the config calls it, where that is known. */
  readonly name?: string | undefined;
}

function twins(
  entries: readonly ConfiguredPlugin[],
  { what, names }: { what: string; names: (plugin: Plugin) => readonly string[] },
): string[] {
  const owners = new Map<string, string>();
  return entries.flatMap((entry) =>
    names(entry.plugin).flatMap((name) => {
      const owner = owners.get(name);
      owners.set(name, culprit(entry));
      if (owner === undefined) return [];
      return [`${what} ${name} is declared twice: by ${owner} and ${culprit(entry)}`];
    }),
  );
}

/** How an error names a plugin: with its file, as two may have one id. */
function culprit({ plugin: { id }, file }: ConfiguredPlugin): string {
  return file === undefined ? id : `${id} (${file})`;
}

/** What a plugin's effects say of themselves, where its config is one that they can be asked with. */
function effectProblems(plugin: Plugin, config: { value: unknown; isValid: boolean }): string[] {
  if (!config.isValid) return [];
  return Object.entries(plugin.effects ?? {}).flatMap(([kind, effect]) => {
    const kit = () => {
      throw new Error('there is no kit before the start');
    };
    try {
      return jobKind(kind, { effect, config: config.value, kit }).problems;
    } catch (error) {
      return [`plugin ${plugin.id}: effect ${kind} could not be checked: ${messageOf(error)}`];
    }
  });
}

function checkedConfig(
  { plugin, config: given }: ConfiguredPlugin,
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
    wrong.push(...contradictionsOf(plugin, value).map((problem) => `${prefix}.${problem}`));
  }
  problems.push(...wrong);
  return { value, isValid: wrong.length === 0 };
}

function contradictionsOf(plugin: Plugin, value: unknown): readonly string[] {
  try {
    return plugin.contradictions?.(value as never) ?? [];
  } catch (error) {
    return [`contradictions could not be checked: ${messageOf(error)}`];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Plugins that would have all they need, were it not for others that have not: one report names all of them. */
function stranded(plugins: readonly Plugin[], provider: ReadonlyMap<string, Plugin>): string[] {
  const lacks = ({ needs = [] }: Plugin) => needs.some((need) => !provider.has(need.id) && !isService(need));
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
