import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Role } from '../../core/plugin/nodes.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { ActorRuntime } from '../actors/actor-runtime.ts';
import type { EventHub } from '../actors/events.ts';
import type { JobWorkers } from '../actors/jobs/workers.ts';
import { ParkedReactions } from '../actors/parked-reactions.ts';
import type { ReactionWatch } from '../actors/reaction-watch.ts';
import { react, takePlace } from '../actors/reactions.ts';
import { sweeping } from '../actors/sweeping.ts';
import { publisherName } from '../cluster/publisher.ts';
import type { PlannedPlugin } from './plan.ts';
import type { StartContext } from './plugin-starts.ts';

/** Wait before a singleton task that could not begin is tried again, ms. */
const beginRetry = 10_000;

/** Runs reactions and singleton tasks of the plugins that are on, and the jobs last. */
export async function startWork(context: WorkContext): Promise<void> {
  const { plan, life, roles, runtime, workers, failed, store, bus, clock, log, metrics } = context;
  if (roles.includes('actors')) {
    const on = plan.filter(({ plugin }) => !failed.isOff(plugin.id));
    for (const one of on) await startReactions(one, context);
    for (const one of on) await startDuties(one, context);
  }
  if (roles.includes('worker')) {
    life.atStop('jobs', () => workers.stop());
    await life.start('jobs', () => workers.start());
  }
  const sweep = async () =>
    sweeping({ ...{ store, clock, log, metrics }, ...(bus !== undefined && { publisher: publisherName }) });
  life.atStop('sweep', await runtime.onDuty('sweep', sweep));
}

async function startReactions({ plugin, culprit }: PlannedPlugin, context: WorkContext): Promise<void> {
  if (!plugin.reactions) return;
  const { life, kits, runtime, hub, reactions: watch, store, clock } = context;
  const kit = kits.of(plugin.id);
  const own = Object.fromEntries(
    Object.entries(plugin.reactions).map(([event, run]) => [event, async (e: LoggedEvent) => run(e, kit)]),
  );
  const { log, resources } = kit;
  const begin = () => {
    const parked = new ParkedReactions({
      ...{ plugin: plugin.id, resources, clock },
      write: (commit) => resources.write(commit),
      operator: async () => (await store.resources.find('account', 'role', 'admin'))?.id ?? '',
    });
    return react({ plugin: plugin.id, reactions: own, store, hub, clock, log, watch, parked });
  };
  await takePlace({ store, plugin: plugin.id });
  life.atStop(`reactions of plugin ${culprit}`, await runtime.onDuty(`reactions/${plugin.id}`, begin));
}

async function startDuties({ plugin, culprit }: PlannedPlugin, context: WorkContext): Promise<void> {
  const { life, kits, runtime, troubles, clock } = context;
  const { id, duties = {} } = plugin;
  for (const [name, begin] of Object.entries(duties)) {
    const failed = (error: unknown) => troubles.tell(id, { where: `singleton task ${name}`, error });
    const work = () => begin(kits.of(id));
    const stop = await runtime.onDuty(`${id}/${name}`, async () => persistently(work, { clock, failed }));
    life.atStop(`${name} of plugin ${culprit}`, stop);
  }
}

/** Begins something, again and again while that fails. Returns the stop. */
function persistently(
  begin: () => Stop,
  { clock, failed }: { clock: Clock; failed: (error: unknown) => void },
): Stop {
  let stop: Stop = () => {};
  const attempt = () => {
    try {
      stop = begin();
    } catch (error) {
      failed(error);
      stop = clock.at(clock.now() + beginRetry, attempt);
    }
  };
  attempt();
  return () => stop();
}

/** Timers and listeners that plugins did not end with their stop. */
export function tellLeaks({ plan, kits, log }: Pick<WorkContext, 'plan' | 'kits' | 'log'>): void {
  for (const { plugin } of plan) {
    const { timers, listeners } = kits.scopeOf(plugin.id).held;
    if (timers + listeners === 0) continue;
    log.warn('a plugin left timers or listeners behind at its stop', {
      ...{ plugin: plugin.id, timers, listeners },
    });
  }
}

interface WorkContext extends StartContext {
  readonly roles: readonly Role[];
  readonly runtime: ActorRuntime;
  readonly workers: JobWorkers;
  readonly hub: EventHub;
  readonly reactions: ReactionWatch;
  readonly store: Store;
  readonly bus?: Bus;
  readonly log: Log;
  readonly metrics: Metrics;
}
