import { readFileSync } from 'node:fs';
import { type TSchema, Type } from '@sinclair/typebox';
import { nearMiss } from '../core/base/near-miss.ts';
import { configSchema } from './schema.ts';

const prefix = 'MILLRACE_';
/** Behind the name of a variable: it names the file that the value is in, as images of containers expect for their secrets. */
const fileSuffix = '_FILE';
/** Bytes of such a file. */
const maxFile = 65_536;
/** The keys of plugins are not known here, and one may end in `File`. Only what is certainly a secret is read. */
const secretEnd = /(secret|password|token)$/i;
/** Variables that are not keys of the config. `MILLRACE_INSTALL` is for scripts/bun.sh, `MILLRACE_URL` and `MILLRACE_KEY` for clients. */
const reserved = new Set([
  ...['MILLRACE_CONFIG', 'MILLRACE_TEST', 'MILLRACE_INSTALL'],
  ...['MILLRACE_URL', 'MILLRACE_KEY'],
]);

/**
 * Puts what the environment says over what the config file says, into `config`. `MILLRACE_HTTP__PORT=80` sets `http.port`: `__`
 * between levels, camelCase written as SNAKE_CASE. With `_FILE` behind it, the value is the content of that file, without the line
 * break at its end. Returns problems; what they are of is left out.
 */
export function addEnvironment(
  config: Record<string, unknown>,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const problems: string[] = [];
  // Sorted, so that what sets a whole section never undoes what sets one key of it.
  for (const [name, text] of Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(prefix) || reserved.has(name) || text === undefined) continue;
    const read = contentOf(name, { text, environment });
    const path = pathOf(read.name);
    const problem =
      read.problem ?? pathProblem(path, read.name) ?? wholeProblem(config, { name, path, environment });
    if (problem !== undefined) problems.push(problem);
    else setPath(config, { path, text: read.text });
  }
  return problems;
}

interface Content {
  /** Of the variable that sets the key itself. */
  readonly name: string;
  readonly text: string;
  readonly problem?: string;
}

function contentOf(
  name: string,
  options: { text: string; environment: Readonly<Record<string, string | undefined>> },
): Content {
  const { text, environment } = options;
  const own = name.slice(0, -fileSuffix.length);
  if (!name.endsWith(fileSuffix) || !mayBeRead(pathOf(own), pathOf(name))) return { name, text };
  if (environment[own] !== undefined)
    return { name: own, text, problem: `${name}: ${own} is set too; take one of the two away` };
  try {
    const bytes = readFileSync(text);
    const problem = bytes.length > maxFile ? `${name}: ${text} has more than ${maxFile} bytes` : undefined;
    return { name: own, text: bytes.toString().replace(/\r?\n$/, ''), ...(problem && { problem }) };
  } catch (error) {
    return { name: own, text, problem: `${name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Whether `path` is a key whose value may come from a file, and `whole`, with `File` behind it, is none. */
function mayBeRead(path: readonly string[], whole: readonly string[]): boolean {
  if (path[0] === 'plugins') return secretEnd.test(path.at(-1) ?? '');
  return isKnown(path) && !isKnown(whole);
}

function pathOf(name: string): string[] {
  return name.slice(prefix.length).split('__').map(camelCase);
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
