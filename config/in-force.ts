import type { TSchema } from '@sinclair/typebox';
import type { Plugin } from '../core/plugin/plugin.ts';
import type { ConfigFact, ConfigSource } from '../core/ports/program.ts';
import { variableOf } from './environment.ts';
import { type Config, configSchema } from './schema.ts';
import { secretsOf } from './secrets.ts';

/** In place of a secret. */
const dots = '••••';
/** A password of one letter is in every second word: it is hidden at its own key alone. */
const shortestSecret = 6;
/** Of keys that no schema marks: a plugin from outside may have forgotten to. */
const secretName =
  /secret|passw|passphrase|token|auth$|authorization|credential|cookie|signature|jwt|(api|private|signing|encryption|account)[-_]?key|^pass$|^pwd$/i;
/** PEM, whatever its key is called. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/**
 * Every key of the config with its value and where that is from, in the order of the schema. Secrets are hidden: what a schema marks,
 * what is called like one, passwords in URLs, and every other place that repeats one of them.
 *
 * @param options.given what file and environment say together
 * @param options.plugins the enabled ones; `config` is filled with defaults
 */
export function configInForce(config: Config, options: InForceOptions): ConfigFact[] {
  const { given, environment, plugins } = options;
  const known = secretsOf(config, plugins).filter(({ length }) => length >= shortestSecret);
  const facts: ConfigFact[] = [];
  const add = (
    path: readonly string[],
    { schemas, value }: { schemas: readonly TSchema[]; value: unknown },
  ) => {
    // The name of a plugin says nothing about its keys.
    const named = path.slice(path[0] === 'plugins' ? 2 : 0).findLast((name) => secretName.test(name));
    const shown = shownValue(value, { schemas, name: named ?? path.at(-1) ?? '', known });
    facts.push({
      ...{ key: path.join('.'), ...(shown !== undefined && { value: shown }) },
      source: sourceOf(path, { given, environment }),
      isSecret: schemas.some(isMarked) || JSON.stringify(shown)?.includes(dots) === true,
    });
  };
  const walk = (schema: TSchema, path: readonly string[], value: unknown) => {
    const fields = schema.properties as Record<string, TSchema> | undefined;
    if (!fields) return add(path, { schemas: variantsOf(schema), value });
    for (const [name, inner] of Object.entries(fields)) {
      // Each plugin has its own schema.
      if (path.length === 0 && name === 'plugins') continue;
      walk(inner, [...path, name], memberOf(value, name));
    }
  };
  walk(configSchema, [], config);
  for (const { plugin, config: slice, name = plugin.id } of plugins) {
    if (plugin.config) walk(plugin.config, ['plugins', name], slice);
  }
  for (const [name, slice] of Object.entries(config.plugins))
    if (slice === false) add(['plugins', name], { schemas: [], value: slice });
  return facts;
}

interface InForceOptions {
  readonly given: unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly plugins: readonly {
    readonly plugin: Plugin;
    readonly config: unknown;
    readonly name?: string | undefined;
  }[];
}

function sourceOf(
  path: readonly string[],
  { given, environment }: Pick<InForceOptions, 'given' | 'environment'>,
): ConfigSource {
  let value = given;
  for (const name of path) value = memberOf(value, name);
  if (value === undefined) return 'default';
  // A variable may set a whole section.
  const isSet = path.some((_, depth) => {
    const variable = variableOf(path.slice(0, depth + 1));
    return environment[variable] !== undefined || environment[`${variable}_FILE`] !== undefined;
  });
  return isSet ? 'environment' : 'file';
}

interface Shown {
  /** Any of them may be what the value is of. */
  readonly schemas: readonly TSchema[];
  readonly name: string;
  readonly known: readonly string[];
}

function shownValue(value: unknown, { schemas, name, known }: Shown): unknown {
  const isText = typeof value === 'string' || typeof value === 'number';
  if (schemas.some(isMarked) && value !== undefined) return dots;
  if (isText && secretName.test(name) && !schemas.some(isDuration)) return dots;
  if (typeof value === 'string') return withoutPasswords(value, known);
  if (Array.isArray(value)) {
    const items = schemas.flatMap((schema) => variantsOf(schema.items as TSchema | undefined));
    return value.map((one) => shownValue(one, { schemas: items, name, known }));
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [
      field,
      shownValue(one, {
        schemas: schemas.flatMap((schema) => fieldOf(schema, field)),
        // What is below `credentials` is one of them, whatever it is called.
        name: secretName.test(name) ? name : field,
        known,
      }),
    ]),
  );
}

/** In URLs and the like, and wherever else a known secret stands. */
function withoutPasswords(text: string, known: readonly string[]): string {
  if (privateKey.test(text)) return dots;
  return (
    known
      .reduce((rest, secret) => rest.replaceAll(secret, dots), text)
      // Up to the last `@` before the path: a password may hold one.
      .replace(/\/\/([^/?#\s:@]*):[^/?#\s]*@/g, `//$1:${dots}@`)
      .replace(/\/\/[^/?#\s:]+@/g, `//${dots}@`)
      .replace(/([?&;])([^=?&;#\s]+)=([^?&;#\s]*)/g, (pair, before: string, name: string) =>
        secretName.test(name) || /^(sig|key|x-amz-signature)$/i.test(name)
          ? `${before}${name}=${dots}`
          : pair,
      )
  );
}

function isMarked(schema: TSchema): boolean {
  return schema.isSecret === true;
}

/** How long a token lasts is no secret. */
function isDuration({ type, atLeast, atMost }: TSchema): boolean {
  return type === 'integer' || type === 'number' || atLeast !== undefined || atMost !== undefined;
}

/** The schemas that a value may have. */
function variantsOf(schema: TSchema | undefined): TSchema[] {
  if (schema === undefined) return [];
  const parts = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])] as TSchema[];
  return [schema, ...parts.flatMap(variantsOf)];
}

function fieldOf(schema: TSchema, name: string): TSchema[] {
  const named = (schema.properties as Record<string, TSchema> | undefined)?.[name];
  if (named) return variantsOf(named);
  const others = Object.values((schema.patternProperties ?? {}) as Record<string, TSchema>);
  return others.flatMap(variantsOf);
}

function memberOf(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
