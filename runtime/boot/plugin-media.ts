import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { PublishedBroadcast } from '../../core/plugin/media.ts';
import { PluginMedia } from '../media/plugins/plugin-media.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import type { Kits } from './kits.ts';
import type { PlannedPlugin } from './plan.ts';
import type { PluginTroubles } from './plugin-troubles.ts';

/** The plugins that see broadcasts; undefined where none is enabled. They are asked with each publish, and none begins before there are kits. */
export function pluginMedia({
  plan,
  kits,
  failed,
  troubles,
  options: { log },
  metrics,
}: {
  readonly plan: readonly PlannedPlugin[];
  readonly kits: Kits;
  readonly failed: FailedPlugins;
  readonly troubles: PluginTroubles;
  readonly options: { readonly log: Log };
  readonly metrics: Metrics;
}): PluginMedia | undefined {
  const watchers = plan.flatMap(({ plugin: { id, media } }) =>
    media
      ? [
          {
            plugin: id,
            open: (broadcast: PublishedBroadcast) =>
              failed.isOff(id) ? undefined : media(broadcast, kits.of(id)),
          },
        ]
      : [],
  );
  if (watchers.length === 0) return undefined;
  const tell = (plugin: string, error: unknown) => troubles.tell(plugin, { where: 'media', error });
  return new PluginMedia({ watchers, log, metrics, tell });
}
