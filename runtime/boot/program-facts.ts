import type { ConfigFact, PluginFacts, ProgramFacts } from '../../core/ports/program.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { DiskWatch } from './disk-watch.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import type { Lifetime } from './lifetime.ts';
import type { PlannedPlugin } from './plan.ts';

/** What a start is told for operators to read. */
export interface AboutProgram {
  config(): readonly ConfigFact[];
  /** Ids of plugins that the config switches off. */
  readonly off: readonly string[];
}

/** What the parts of a running program know anyway; asked when somebody reads it. */
export function programFacts(parts: {
  readonly about: AboutProgram;
  readonly startedAt: number;
  readonly dataDir: string;
  readonly plan: readonly PlannedPlugin[];
  readonly failed: FailedPlugins;
  readonly life: Lifetime;
  readonly disks: DiskWatch | undefined;
  issues(): readonly string[];
}): ProgramFacts {
  const { about, startedAt, dataDir, plan, failed, life, disks, issues } = parts;
  const factsOf = ({ plugin: { id, summary } }: PlannedPlugin): PluginFacts => {
    const startMs = life.startOf(id);
    const error = failed.reasonOf(id);
    return {
      ...{ id, summary, state: error === undefined ? 'on' : 'failed' },
      ...(startMs !== undefined && { startMs }),
      ...(error !== undefined && { error }),
    };
  };
  return {
    ...{ version: packageJson.version, startedAt, issues, config: about.config },
    plugins: () => [...plan.map(factsOf), ...about.off.map((id): PluginFacts => ({ id, state: 'off' }))],
    async disk() {
      await disks?.look();
      const state = disks?.data;
      return state && { dataDir, freeBytes: state.free, totalBytes: state.size };
    },
  };
}
