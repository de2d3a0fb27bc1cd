import { readFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { Fault } from '../core/base/fault.ts';
import { settingsOf } from '../core/plugin/settings.ts';
import { contradictions } from './contradictions.ts';
import { addEnvironment } from './environment.ts';
import { type Config, configSchema } from './schema.ts';

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
 * The same, with the problems beside it, so that they can be reported together with those of the plugins. With
 * problems the config is as written. `given`: what file and environment say, without defaults. `folder` is what paths in it are relative to. Throws a Fault `config.invalid` when the file cannot be read.
 */
export async function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ config: Config; given: unknown; problems: string[]; folder: string }> {
  const path = environment.MILLRACE_CONFIG;
  const given = path ? await readConfigFile(path) : {};
  const wrongNames = addEnvironment(given, environment);
  const { value, problems } = settingsOf(configSchema, { given, whole: 'config' });
  const config = value as Config;
  const all = new Set([...wrongNames, ...problems, ...contradictions(config)]);
  return { config, given, problems: [...all], folder: path ? dirname(resolve(path)) : process.cwd() };
}

async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  const refuse = (why: string) =>
    new Fault('config.invalid', { status: 500, message: `MILLRACE_CONFIG=${path}: ${why}` });
  let value: unknown;
  try {
    if (extname(path) === '.ts') {
      value = ((await import(resolve(path))) as { default: unknown }).default;
    } else {
      // JSON is YAML too, and an error of this parser names the line.
      value = parseYaml(await readFile(path, 'utf8'));
    }
    value = structuredClone(value);
  } catch (error) {
    // The parser quotes the file behind the first line of its message, and the file may hold secrets.
    const [why] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw refuse(why.replace(/:$/, ''));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw refuse('expected an object');
  return value as Record<string, unknown>;
}
