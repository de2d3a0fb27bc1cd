import { Fault } from '../../core/base/fault.ts';
import { didYouMean } from '../../core/base/near-miss.ts';
import type { DriverContext } from '../../core/plugin/driver.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import { blamed } from './lifetime.ts';
import type { PlannedPlugin } from './plan.ts';

/** What is wrong with the driver for blobs that the config chooses: `fs`, `s3` or a plugin by its id or its name in the config. */
export function chosenProblems(name: string, plan: readonly PlannedPlugin[]): string[] {
  if (name === 'fs' || name === 's3') return [];
  const chosen = bringing(name, plan);
  if (chosen?.plugin.drivers?.blobs) return [];
  if (chosen) return [`drivers.blobs: plugin ${chosen.culprit} brings no driver for blobs`];
  const known = ['fs', 's3', ...plan.flatMap((one) => (one.plugin.drivers?.blobs ? [nameOf(one)] : []))];
  const expected = `expected one of ${known.join(', ')}${didYouMean(name, known)}`;
  return [`drivers.blobs: no plugin ${name} is enabled; name it under plugins too, or ${expected}`];
}

/** Makes the driver for blobs of a plugin. What it throws names the plugin. */
export async function blobsOfPlugin(
  name: string,
  { plan, context }: { plan: readonly PlannedPlugin[]; context: DriverContext },
): Promise<Blobs> {
  const problems = chosenProblems(name, plan);
  if (problems.length > 0) throw new Fault('boot.invalid', { status: 500, message: problems });
  const { plugin, config, culprit } = bringing(name, plan) as PlannedPlugin;
  const what = `the driver for blobs of plugin ${culprit} could not be made`;
  const log = context.log.with({ plugin: plugin.id });
  const blobs = await blamed(what, () => plugin.drivers?.blobs?.(config, { ...context, log }));
  const lacks = missing(blobs);
  if (lacks.length > 0) throw new Error(`${what}: the result lacks ${lacks.join(', ')}`);
  return blobs as Blobs;
}

function bringing(name: string, plan: readonly PlannedPlugin[]): PlannedPlugin | undefined {
  return plan.find((one) => one.name === name) ?? plan.find(({ plugin }) => plugin.id === name);
}

function nameOf({ name, plugin }: PlannedPlugin): string {
  return name ?? plugin.id;
}

function missing(blobs: unknown): string[] {
  const given = (blobs ?? {}) as Readonly<Record<string, unknown>>;
  const uploads = (given.uploads ?? {}) as Readonly<Record<string, unknown>>;
  return [
    ...calls.filter((call) => typeof given[call] !== 'function'),
    ...uploadCalls.filter((call) => typeof uploads[call] !== 'function').map((call) => `uploads.${call}`),
    ...(given.adopting === 'rename' || given.adopting === 'copy' ? [] : ['adopting']),
  ];
}

const calls = ['open', 'put', 'adopt', 'head', 'get', 'list', 'delete', 'close'] as const;
const uploadCalls = ['begin', 'part', 'parts', 'complete', 'abort', 'unfinished'] as const;
