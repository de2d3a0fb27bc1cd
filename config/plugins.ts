import { Fault } from '../core/fault.ts';
import type { Plugin } from '../core/plugin.ts';
import type { Config } from './schema.ts';

/** The plugins that ship with the program. The code of one that is switched off is never loaded. */
const shipped: Readonly<Record<string, () => Promise<{ default: unknown }>>> = {
  accounts: () => import('../plugins/accounts/index.ts'),
  streams: () => import('../plugins/streams/index.ts'),
  recordings: () => import('../plugins/recordings/index.ts'),
  events: () => import('../plugins/events/index.ts'),
  watch: () => import('../plugins/watch/index.ts'),
};

/** Imports the enabled plugins. Throws one Fault that names every one that could not be had. */
export async function enabledPlugins(config: Config): Promise<{ plugin: Plugin; config: unknown }[]> {
  const problems: string[] = [];
  const wanted = { ...Object.fromEntries(Object.keys(shipped).map((id) => [id, true])), ...config.plugins };
  const loaded = await Promise.all(
    Object.entries(wanted)
      .filter(([, slice]) => slice !== false)
      .map(async ([id, slice]) => {
        try {
          const module = await (shipped[id] ?? (() => import(id)))();
          if (isPlugin(module.default)) return { plugin: module.default, config: slice };
          problems.push(`plugins.${id}: its default export is not a plugin`);
        } catch (error) {
          problems.push(`plugins.${id}: ${unavailable(id, error)}`);
        }
        return undefined;
      }),
  );
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  return loaded.filter((entry) => entry !== undefined);
}

function isPlugin(value: unknown): value is Plugin {
  return value !== null && typeof value === 'object' && 'id' in value && 'summary' in value;
}

function unavailable(id: string, error: unknown): string {
  if (id in shipped)
    return `it could not be loaded: ${error instanceof Error ? error.message : String(error)}`;
  const known = Object.keys(shipped).join(', ');
  return `there is no such plugin or package; the plugins that ship are ${known}`;
}
