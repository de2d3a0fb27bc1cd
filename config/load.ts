import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { type TSchema, Type } from '@sinclair/typebox';
import { parse as parseYaml } from 'yaml';
import { Fault } from '../core/fault.ts';
import { settingsOf } from '../core/settings.ts';
import { contradictions } from './contradictions.ts';
import { type Config, configSchema } from './schema.ts';

const prefix = 'MILLRACE_';
/** Variables that are not keys of the config. */
const reserved = new Set(['MILLRACE_CONFIG', 'MILLRACE_TEST']);

/**
 * The config of this deployment: defaults, then the file that MILLRACE_CONFIG names, then the environment.
 * Throws one Fault `config.invalid` that lists every problem.
 */
export async function loadConfig(environment: Readonly<Record<string, string | undefined>>): Promise<Config> {
  const { config, problems } = await readConfig(environment);
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  return config;
}

/**
 * The same, with the problems beside it, so that they can be told together with those of the plugins. With
 * problems the config is as written. Throws a Fault `config.invalid` when the file cannot be read.
 */
export async function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ config: Config; problems: string[] }> {
  const path = environment.MILLRACE_CONFIG;
  const given = path ? await readConfigFile(path) : {};
  const wrongNames: string[] = [];
  // Sorted, so that what sets a whole section never undoes what sets one key of it.
  for (const [name, text] of Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(prefix) || reserved.has(name) || text === undefined) continue;
    setPath(given, { name, text, problems: wrongNames });
  }
  const { value, problems } = settingsOf(configSchema, { given, whole: 'config' });
  const config = value as Config;
  const all = new Set([...wrongNames, ...problems, ...contradictions(config)]);
  return { config, problems: [...all] };
}

async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  const refuse = (why: string) =>
    new Fault('config.invalid', { status: 500, message: `MILLRACE_CONFIG=${path}: ${why}` });
  let value: unknown;
  try {
    if (extname(path) === '.ts') {
      value = ((await import(resolve(path))) as { default: unknown }).default;
    } else {
      const text = await readFile(path, 'utf8');
      value = /^\.ya?ml$/.test(extname(path)) ? parseYaml(text) : JSON.parse(text);
    }
    value = structuredClone(value);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw refuse('expected an object');
  return value as Record<string, unknown>;
}

/** `MILLRACE_HTTP__PORT=80` sets `http.port`: `__` between levels, camelCase written as SNAKE_CASE. */
function setPath(
  config: Record<string, unknown>,
  options: { name: string; text: string; problems: string[] },
): void {
  const { name, text, problems } = options;
  const path = name.slice(prefix.length).split('__').map(camelCase);
  if (path.some((key) => key === '' || key === '__proto__')) {
    problems.push(`${name}: expected the form ${prefix}SECTION__KEY`);
    return;
  }
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
  for (const key of path) schema = (schema?.properties as Record<string, TSchema> | undefined)?.[key];
  return schema?.type === Type.String().type;
}
