import { driversOf } from '../../config/drivers.ts';
import { configInForce } from '../../config/in-force.ts';
import { readConfig } from '../../config/load.ts';
import { importPlugins } from '../../config/plugins.ts';
import type { Config } from '../../config/schema.ts';
import { Fault } from '../../core/base/fault.ts';
import type { ConfigFact } from '../../core/ports/program.ts';
import { type ConfiguredPlugin, type PlannedPlugin, planOf } from './plan.ts';
import { chosenProblems } from './plugin-drivers.ts';

/** What config file, environment and plugins say together, checked. */
export interface ReadDeployment {
  readonly config: Config;
  readonly plugins: readonly ConfiguredPlugin[];
  /** The plugins in the order in which they start, each with its whole config. */
  readonly plan: readonly PlannedPlugin[];
  /** Every key with its value and where that is from, without secrets. */
  facts(): ConfigFact[];
}

/** Throws one Fault `config.invalid` with every problem of the config or of its plugins. */
export async function readDeployment(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ReadDeployment> {
  const { config, given, problems, folder } = await readConfig(environment);
  const imported = await importPlugins(config.plugins, folder);
  const { plan, problems: ofPlan } = planOf(imported.plugins);
  const blobs: unknown = driversOf(config).blobs;
  const ofDrivers = typeof blobs === 'string' ? chosenProblems(blobs, plan) : [];
  problems.push(...imported.problems, ...ofPlan, ...ofDrivers);
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  const facts = () => configInForce(config, { given, environment, plugins: plan });
  return { config, plugins: imported.plugins, plan, facts };
}
