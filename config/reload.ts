import type { TSchema } from '@sinclair/typebox';
import type { Plugin } from '../core/plugin/plugin.ts';
import { type Config, configSchema } from './schema.ts';

/** A config with the plugins that it enables, each with its whole config. */
export interface Settings {
  readonly config: Config;
  readonly plan: readonly {
    readonly plugin: Plugin;
    readonly config: unknown;
    readonly name?: string | undefined;
  }[];
}

/** Keys of the config, such as `log.level`. */
export interface Reloaded {
  /** Those that have their new value now. */
  readonly changed: readonly string[];
  /** Those that are different in the new config, and keep their value until a restart. */
  readonly kept: readonly string[];
}

/**
 * Gives the running config the new values of all keys whose schema has `isReloaded`. Code that uses such a key reads it each time,
 * so there is nothing else to do.
 */
export function reload(running: Settings, fresh: Settings): Reloaded {
  const changed: string[] = [];
  const kept: string[] = [];
  const walk = (schema: TSchema, { path, current, next }: Place) => {
    for (const [name, inner] of Object.entries(fieldsOf(schema) ?? {})) {
      const key = [...path, name];
      // Each plugin has its own schema.
      if (path.length === 0 && name === 'plugins') continue;
      const [before, after] = [current[name], next[name]];
      if (fieldsOf(inner) && isRecord(before) && isRecord(after)) {
        walk(inner, { path: key, current: before, next: after });
      } else if (!Bun.deepEquals(before, after)) {
        if (inner.isReloaded === true) current[name] = after;
        (inner.isReloaded === true ? changed : kept).push(key.join('.'));
      }
    }
  };
  walk(configSchema, { path: [], current: running.config, next: fresh.config });
  const enabled = new Map(fresh.plan.map((entry) => [nameOf(entry), entry]));
  for (const entry of running.plan) {
    const name = nameOf(entry);
    const other = enabled.get(name);
    enabled.delete(name);
    if (!other) kept.push(`plugins.${name}`);
    else if (entry.plugin.config && isRecord(entry.config) && isRecord(other.config))
      walk(entry.plugin.config, { path: ['plugins', name], current: entry.config, next: other.config });
  }
  kept.push(...[...enabled.keys()].map((name) => `plugins.${name}`));
  return { changed, kept };
}

interface Place {
  readonly path: readonly string[];
  readonly current: Record<string, unknown>;
  readonly next: Record<string, unknown>;
}

function nameOf({ plugin, name = plugin.id }: Settings['plan'][number]): string {
  return name;
}

function fieldsOf(schema: TSchema): Record<string, TSchema> | undefined {
  return schema.properties as Record<string, TSchema> | undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
