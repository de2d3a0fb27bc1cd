import type { Plugin } from '../core/plugin/plugin.ts';

/** What a plugin and the others have to do with each other. All are ids, in the order in which plugins start. */
interface PluginNeeds {
  readonly id: string;
  /** It does not start without them. */
  readonly needs: readonly string[];
  /** What does not start without it, directly or through another. */
  readonly neededBy: readonly string[];
  /** It adds to what these show, and starts without them. */
  readonly addsTo: readonly string[];
}

/** From what the plugins declare: tokens, resources and events of each other. */
export function pluginNeeds(plugins: readonly Plugin[]): PluginNeeds[] {
  const owners = (names: (plugin: Plugin) => readonly string[]) =>
    new Map(plugins.flatMap((plugin) => names(plugin).map((name) => [name, plugin.id] as const)));
  const tokens = owners(({ provides = [] }) => provides.map(({ id }) => id));
  const resources = owners((plugin) => (plugin.resources ?? []).map(({ kind }) => kind));
  const events = owners(({ emits = {} }) => Object.keys(emits));
  const others = ({ id }: Plugin, found: readonly (string | undefined)[]) =>
    plugins.map((one) => one.id).filter((one) => one !== id && found.includes(one));

  const direct = new Map(
    plugins.map((plugin) => {
      const { needs = [], extends: fields = [], reactions = {} } = plugin;
      const found = [
        ...needs.map(({ id }) => tokens.get(id)),
        ...fields.filter(({ isOptional }) => !isOptional).map(({ resource }) => resources.get(resource.kind)),
        ...Object.keys(reactions).map((event) => events.get(event)),
      ];
      return [plugin.id, others(plugin, found)];
    }),
  );
  const reaches = (from: string, to: string): boolean =>
    (direct.get(from) ?? []).some((one) => one === to || reaches(one, to));
  return plugins.map((plugin) => {
    const needs = direct.get(plugin.id) ?? [];
    const added = [...(plugin.derives ?? []), ...(plugin.extends ?? [])];
    const shown = added.map(({ resource }) => resources.get(resource.kind));
    return {
      id: plugin.id,
      needs,
      neededBy: plugins.map(({ id }) => id).filter((id) => reaches(id, plugin.id)),
      addsTo: others(plugin, shown).filter((id) => !needs.includes(id)),
    };
  });
}
