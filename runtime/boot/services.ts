import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import { type Services, services } from '../../core/plugin/services.ts';
import { type Amount, countRemoved } from '../../core/plugin/sweep-counts.ts';
import type { PluginMedia } from '../media/plugins/plugin-media.ts';
import type { Lifetime } from './lifetime.ts';
import type { PlannedPlugin } from './plan.ts';

/** Services that are made where a plugin needs them; the others every node has. */
type OpenableServices = Omit<Services, 'volatile' | 'program' | 'secrets'>;

/** How each service is made. */
export type ServiceFactories = {
  readonly [K in keyof OpenableServices]: (needs: ServiceNeeds) => OpenableServices[K];
};

/** What services get of the plugins. */
export interface ServiceNeeds {
  /** Those that see broadcasts; undefined: none does. */
  readonly pluginMedia: PluginMedia | undefined;
  /** RTMP applications beside `live`. */
  readonly rtmpApps: readonly string[];
}

/** Opens the services that enabled plugins need, and no others: a plugin that is off costs no thread. They close in reverse order. */
export async function openServices(
  factories: ServiceFactories,
  context: ServiceNeeds & {
    plan: readonly PlannedPlugin[];
    life: Lifetime;
    metrics: Metrics;
    log: Log;
  },
): Promise<Partial<OpenableServices>> {
  const { plan, life, metrics, log, pluginMedia, rtmpApps } = context;
  const needed = new Set(plan.flatMap(({ plugin }) => plugin.needs?.map(({ id }) => id) ?? []));
  const opened: Record<string, unknown> = {};
  for (const name of order) {
    if (!needed.has(services[name].id)) continue;
    const one = factories[name]({ pluginMedia, rtmpApps }) as Partial<Openable>;
    opened[name] = one;
    // The media closes by the stop that `accept` returns.
    if (name !== 'media') life.atStop(name, () => one.close?.());
    if (!opening.has(name)) continue;
    const found = await life.start(name, () => one.open?.());
    if (name !== 'intake') continue;
    // Uploads that a former process never finished.
    const spools = found as Amount;
    countRemoved(metrics, 'spools')(spools);
    if (spools.count > 0) log.info('removed files of unfinished uploads', { spools });
  }
  return opened;
}

/** What closes last comes first: what others hand bytes to. */
const order: readonly (keyof OpenableServices)[] = [
  ...(['recorder', 'transcoder', 'pusher'] as const),
  ...(['inspector', 'converter', 'intake', 'stills', 'packer', 'media'] as const),
];
const opening: ReadonlySet<string> = new Set(['recorder', 'intake', 'packer']);

interface Openable {
  open(): Promise<unknown>;
  close(): Promise<void> | void;
}
