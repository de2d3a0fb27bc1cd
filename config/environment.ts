import { type TSchema, Type } from '@sinclair/typebox';
import { nearMiss } from '../core/base/near-miss.ts';
import { configSchema } from './schema.ts';

const prefix = 'MILLRACE_';
/** Variables that are not keys of the config. `MILLRACE_INSTALL` is for scripts/bun.sh. */
const reserved = new Set(['MILLRACE_CONFIG', 'MILLRACE_TEST', 'MILLRACE_INSTALL']);

/**
 * Puts what the environment says over what the config file says, into `config`. `MILLRACE_HTTP__PORT=80` sets `http.port`: `__`
 * between levels, camelCase written as SNAKE_CASE. Returns problems; what they are of is left out.
 */
export function addEnvironment(
  config: Record<string, unknown>,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const problems: string[] = [];
  // Sorted, so that what sets a whole section never undoes what sets one key of it.
  for (const [name, text] of Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(prefix) || reserved.has(name) || text === undefined) continue;
    const path = name.slice(prefix.length).split('__').map(camelCase);
    const problem = pathProblem(path, name) ?? wholeProblem(config, { name, path, environment });
    if (problem !== undefined) problems.push(problem);
    else setPath(config, { path, text });
  }
  return problems;
}

function pathProblem(path: readonly string[], name: string): string | undefined {
  if (path.some((key) => key === '' || key === '__proto__'))
    return `${name}: expected the form ${prefix}SECTION__KEY`;
  const meant = isKnown(path) ? undefined : nameLike(path, name);
  return meant && `${name}: there is no such key; did you mean ${meant}?`;
}

/** A section that is switched off, or is a value, and a key of it: a contradiction. */
function wholeProblem(
  config: Record<string, unknown>,
  options: { name: string; path: readonly string[]; environment: Readonly<Record<string, unknown>> },
): string | undefined {
  const { name, path, environment } = options;
  let section: unknown = config;
  for (const [depth, key] of path.slice(0, -1).entries()) {
    section = Object.hasOwn(section as object, key) ? (section as Record<string, unknown>)[key] : undefined;
    // `true`: a plugin is on, with whatever else is said of it.
    if (section === undefined || section === null || section === true) return undefined;
    if (typeof section === 'object') continue;
    const whole = path.slice(0, depth + 1);
    const where = environment[variableOf(whole)] === undefined ? 'the config file' : variableOf(whole);
    const value = section === false ? 'off' : 'no section';
    return `${name}: ${whole.join('.')} is ${value}, by ${where}; take one of the two away`;
  }
  return undefined;
}

function setPath(
  config: Record<string, unknown>,
  { path, text }: { path: readonly string[]; text: string },
): void {
  let target = config;
  for (const key of path.slice(0, -1)) {
    const inner = target[key];
    if (inner === null || typeof inner !== 'object') target[key] = {};
    target = target[key] as Record<string, unknown>;
  }
  target[path[path.length - 1]] = isText(path) ? text : fromText(text);
}

function camelCase(words: string): string {
  return words.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The variable that sets a key of the config. */
export function variableOf(path: readonly string[]): string {
  return prefix + path.map((key) => key.replace(/[A-Z]/g, '_$&').toUpperCase()).join('__');
}

/** Where a schema says no keys, as of plugins, any may be. */
function isKnown(path: readonly string[]): boolean {
  let keys = keysOf(configSchema);
  for (const key of path) {
    if (keys === undefined) return true;
    if (!Object.hasOwn(keys, key)) return false;
    keys = keysOf(keys[key]);
  }
  return true;
}

/** The variable that was probably meant: `_` for `__` or the other way round, or letters that are wrong. */
function nameLike(path: readonly string[], name: string): string | undefined {
  const whole = nearMiss(name.slice(prefix.length), knownNames());
  if (whole !== undefined) return prefix + whole;
  // The section alone: what follows may be of a plugin, which only its own schema knows.
  const section = nearMiss(path[0], Object.keys(keysOf(configSchema) ?? {}));
  return section && variableOf([section, ...path.slice(1)]);
}

/** Every variable that is one key of the config, those of plugins aside, without the prefix. */
function knownNames(): string[] {
  const namesOf = (schema: TSchema, path: readonly string[]): string[] =>
    Object.entries(keysOf(schema) ?? {}).flatMap(([key, inner]) => [
      variableOf([...path, key]),
      ...namesOf(inner, [...path, key]),
    ]);
  return [...reserved, ...namesOf(configSchema, [])].map((name) => name.slice(prefix.length));
}

function keysOf(schema: TSchema): Record<string, TSchema> | undefined {
  return schema.properties as Record<string, TSchema> | undefined;
}

function fromText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Whether the schema wants text here, so that a key of digits stays text. */
function isText(path: readonly string[]): boolean {
  let schema: TSchema | undefined = configSchema;
  for (const key of path) schema = schema && keysOf(schema)?.[key];
  return schema?.type === Type.String().type;
}
