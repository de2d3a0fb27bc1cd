import type { Plugin, Resources } from '../../core/plugin/plugin.ts';

/** Kinds of rows that actors write, with the plugin that has the actors. */
export function rowOwners(plugins: readonly Plugin[]): ReadonlyMap<string, string> {
  return new Map(
    plugins.flatMap(({ id, actors = [] }) =>
      actors.flatMap(({ kinds = {} }) => Object.keys(kinds).map((kind) => [kind, id] as const)),
    ),
  );
}

/**
 * Refuses rows that actors of another plugin write: their next step would write over the change, and knows nothing of it. An error
 * of the plugin, not a Fault: no request can cure it.
 */
export function ownWrite(
  plugin: string,
  { owners, write }: { owners: ReadonlyMap<string, string>; write: Resources['write'] },
): Resources['write'] {
  return async (commit) => {
    for (const { kind } of commit.rows) {
      const owner = owners.get(kind);
      if (owner === undefined || owner === plugin) continue;
      throw new Error(
        `plugin ${plugin} may not write a row of kind "${kind}": only actors of plugin ${owner} write it. Use what ${owner} offers in its contract.`,
      );
    }
    return write(commit);
  };
}
