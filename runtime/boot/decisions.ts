import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import {
  asking,
  type Decide,
  type Decider,
  type DecisionKind,
  type DecisionSettings,
  decisionKinds,
} from '../../core/plugin/decide.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { DecisionWatch } from './decision-watch.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import type { Kits } from './kits.ts';
import type { PlannedPlugin } from './plan.ts';

const defaults: DecisionSettings = { timeout: 3000, onError: 'refuse' };

/** What `kit.decide` asks, and what it says to operators. Throws Fault `boot.invalid` for settings of a plugin that decides nothing. */
export function decisionsOf(
  plan: readonly PlannedPlugin[],
  options: {
    settings: DecisionSettings | undefined;
    kits: Kits;
    failed: FailedPlugins;
    clock: Clock;
    log: Log;
    metrics: Metrics;
  },
): { decide: Decide; watch: DecisionWatch } {
  const { settings = defaults, kits, failed, clock } = options;
  const deciding = plan.filter(({ plugin }) => Object.keys(plugin.decides ?? {}).length > 0);
  checkOverrides(settings, deciding);
  const watch = new DecisionWatch(options);
  const decidersOf = (kind: DecisionKind): Decider<never>[] =>
    deciding.flatMap(({ plugin: { id, decides } }) => {
      if (!decides?.[kind]) return [];
      const onError = settings.plugins?.[id] ?? settings.onError;
      const decide = (question: unknown) => {
        // One that could not be started lets nothing pass that it was to look at.
        const fault = failed.faultOf(id);
        if (fault) throw fault;
        return (decides[kind] as (question: unknown, kit: Kit) => unknown)(question, kits.of(id));
      };
      const hasTerms = kind === 'play';
      return [{ plugin: id, onError, decide, hasTerms, note: watch.of(id, { kind, onError }) }];
    });
  const decide = Object.fromEntries(
    decisionKinds.flatMap((kind) => {
      const deciders = decidersOf(kind);
      return deciders.length === 0 ? [] : [[kind, asking(deciders, { clock, timeout: settings.timeout })]];
    }),
  );
  return { decide, watch };
}

/** A misspelt id would silently leave its decider as all others are. */
function checkOverrides({ plugins = {} }: DecisionSettings, deciding: readonly PlannedPlugin[]): void {
  const known = deciding.map(({ plugin }) => plugin.id);
  const problems = Object.keys(plugins)
    .filter((id) => !known.includes(id))
    .map(
      (id) =>
        `decisions.plugins.${id}: no enabled plugin of this id decides anything${known.length > 0 ? `; those that do are ${known.join(', ')}` : ''}`,
    );
  if (problems.length > 0) throw new Fault('boot.invalid', { status: 500, message: problems });
}
