import type { TSchema } from '@sinclair/typebox';
import type { Plugin } from '../core/plugin/plugin.ts';
import { type Config, configSchema } from './schema.ts';

/**
 * What this config holds that no log, no answer and no message may repeat, longest first: what the schemas of the program and of its
 * plugins call `isSecret`, and the password in the URL of Redis.
 */
export function secretsOf(
  config: Config,
  plugins: readonly { readonly plugin: Plugin; readonly config: unknown }[] = [],
): string[] {
  const ofPlugins = plugins.flatMap(({ plugin, config: slice }) =>
    plugin.config ? secretsIn(plugin.config, slice) : [],
  );
  const found = [...secretsIn(configSchema, config), ...passwordsOf(config.redis.url), ...ofPlugins];
  const texts = found.filter((text) => text !== '');
  // In a line of JSON it may look otherwise.
  const written = texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

/** The text with `***` in place of each of them. */
export function concealed(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

function secretsIn(schema: TSchema, value: unknown): string[] {
  if (schema.isSecret === true) return typeof value === 'string' ? [value] : [];
  const parts = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])] as TSchema[];
  const found = parts.flatMap((part) => secretsIn(part, value));
  if (value === null || typeof value !== 'object') return found;
  if (Array.isArray(value))
    return [...found, ...value.flatMap((one) => (schema.items ? secretsIn(schema.items, one) : []))];
  const named = (schema.properties ?? {}) as Record<string, TSchema>;
  const others = Object.values((schema.patternProperties ?? {}) as Record<string, TSchema>);
  const inside = Object.entries(value).flatMap(([name, one]) => {
    const schemas = Object.hasOwn(named, name) ? [named[name] as TSchema] : others;
    return schemas.flatMap((inner) => secretsIn(inner, one));
  });
  return [...found, ...inside];
}

/** As it stands in the URL, and as it is meant. */
function passwordsOf(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { password } = new URL(url);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
