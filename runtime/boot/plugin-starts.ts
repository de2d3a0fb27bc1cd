import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { within } from '../../core/base/timing.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { isOfProgram } from './contained.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import { failedRoutes } from './failed-routes.ts';
import type { Kits } from './kits.ts';
import type { Lifetime } from './lifetime.ts';
import type { PlannedPlugin } from './plan.ts';
import type { PluginTroubles } from './plugin-troubles.ts';

/** How long one plugin may take to settle what a former process left, ms: nothing else happens before it is done. */
const settleLimit = 60_000;
/** How long one plugin may take to declare its routes, ms. It should take none. */
const declareLimit = 10_000;
/** Characters of an error in the boot tree. */
const maxReason = 200;

/** Starts the plugins in the order of their needs. One that fails is off, with all that need it, and the others go on. */
export async function startPlugins(context: StartContext): Promise<void> {
  const { plan, kits, life, failed } = context;
  for (const one of plan) {
    const { plugin, culprit } = one;
    if (failed.isOff(plugin.id)) continue;
    await contained(one, context, async () => {
      const work = async () => (await plugin.start?.(kits.of(plugin.id))) ?? undefined;
      await life.startPlugin(plugin.id, { culprit, work });
      const missing = plugin.provides?.find((token) => !kits.isProvided(token));
      if (missing) throw new Failure(`it did not provide ${missing.id}`, `plugin ${culprit}`);
    });
  }
  for (const one of plan) {
    for (const field of one.plugin.extends ?? []) {
      if (failed.isOff(one.plugin.id)) break;
      const name = `${field.resource.kind}.${field.name}`;
      await contained(one, context, async () => {
        try {
          field.initial(kits.of(one.plugin.id));
        } catch (error) {
          kits.dropField(field);
          throw new Failure(
            `the initial value of its field ${name} is not known`,
            `plugin ${one.culprit}`,
            error,
          );
        }
      });
    }
  }
}

/** What a plugin that failed is stopped for; a plugin without which the program must not start throws it on. */
async function contained(
  one: PlannedPlugin,
  context: StartContext,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (endsStart(one, error)) throw error;
    await switchOff(one, context, error);
  }
}

/** It is not the plugin's failure, or the program is better off not running than without the plugin. */
function endsStart({ plugin }: PlannedPlugin, error: unknown): boolean {
  return plugin.isEssential === true || isOfProgram(error);
}

async function switchOff(
  { plugin: { id } }: PlannedPlugin,
  { kits, life, failed, plan }: StartContext,
  error: unknown,
): Promise<void> {
  const reason = reasonOf(error);
  const off = failed.add(id, { reason, error });
  const essential = plan.find(({ plugin }) => plugin.isEssential && off.includes(plugin.id));
  if (essential) throw error;
  for (const one of off) {
    kits.scopeOf(one).abort();
    await life.stopPlugin(one);
    kits.scopeOf(one).end();
    kits.withdraw(one);
    life.noteOff(one, one === id ? inTree(reason, error) : (failed.reasonOf(one) ?? ''));
  }
}

/** Why a plugin is off, as the end of a sentence that everyone may read. */
function reasonOf(error: unknown): string {
  if (error instanceof Failure) return error.reason;
  if (error instanceof Fault && error.code === 'boot.slow') return 'it did not start within 10 s';
  return 'it could not be started';
}

function inTree(reason: string, error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const [message = ''] = String(cause instanceof Error ? cause.message : cause).split('\n', 1);
  const isSaid = error instanceof Failure && error.cause === undefined;
  return isSaid || reason.includes('within') ? reason : `${reason}: ${message.slice(0, maxReason)}`;
}

/** Why a plugin is off, where it is more than that its start threw. */
class Failure extends Error {
  readonly reason: string;

  constructor(reason: string, who: string, cause?: unknown) {
    const because = cause === undefined ? '' : `: ${cause instanceof Error ? cause.message : String(cause)}`;
    super(`${who}: ${reason}${because}`, cause === undefined ? {} : { cause });
    this.reason = reason;
  }
}

/**
 * Tells every plugin of lost processes. Throws when one of them failed, after all were told. With `isOnce` nobody tells them
 * again, so one that fails is off.
 */
export async function tellLost(
  lost: LostNode,
  context: StartContext & { readonly isOnce: boolean },
): Promise<void> {
  const { plan, kits, failed, troubles, clock, isOnce } = context;
  let first: unknown;
  for (const one of plan) {
    const { id, lostNode } = one.plugin;
    if (!lostNode || failed.isOff(id)) continue;
    const reason = 'it could not settle what a lost process left';
    const late = () => new Error(`it took longer than ${settleLimit / 1000} s`);
    const told = async () => one.plugin.lostNode?.(lost, kits.of(id));
    try {
      await within(told(), { ms: settleLimit, clock, late });
    } catch (error) {
      if (isOnce && !endsStart(one, error)) {
        await switchOff(one, context, new Failure(reason, `plugin ${one.culprit}`, error));
        continue;
      }
      if (!isOfProgram(error)) troubles.tell(id, { where: 'what a lost process left', error });
      first ??= error;
    }
  }
  if (first !== undefined) throw first;
}

/** The routes of all plugins. Those of plugins that are off answer 503 `plugin.failed`, as far as they can be declared. */
export async function declareRoutes(context: StartContext): Promise<PluginRoutes[]> {
  const { plan, failed, clock } = context;
  const declared: Declared[] = [];
  for (const one of plan) {
    const routes: Declared = { planned: one, app: new Elysia(), internal: new Elysia() };
    declared.push(routes);
    const late = () => new Error(`it took longer than ${declareLimit / 1000} s`);
    const work = () => within(declare(routes, context), { ms: declareLimit, clock, late });
    // Of one that is off already: what can be declared of its routes is known to clients then.
    const { id } = one.plugin;
    if (failed.isOff(id)) await work().catch((error: unknown) => failed.noteUnknownRoutes(id, error));
    else await contained(one, context, work);
  }
  return declared.map(({ planned, app, internal }) => {
    const fault = failed.faultOf(planned.plugin.id);
    if (!fault) return { planned, app, internal };
    return { planned, app: failedRoutes(app, fault), internal: failedRoutes(internal, fault) };
  });
}

async function declare(routes: Declared, { kits }: StartContext): Promise<void> {
  const { plugin, culprit } = routes.planned;
  const kit = kits.of(plugin.id);
  const attempt = async (make: ((kit: never) => AnyElysia) | undefined): Promise<AnyElysia> => {
    if (!make) return new Elysia();
    try {
      const made: unknown = await make(kit as never);
      if (!isApp(made)) throw new Error('what it returned is not an Elysia app');
      const [hook] = hooksForAll(made);
      if (hook === undefined) return made;
      throw new Error(
        `its ${hook} hook is for the requests of all plugins; give one to its own routes, without a scope`,
      );
    } catch (error) {
      if (plugin.isEssential) throw error;
      throw new Failure('it could not declare its routes', `plugin ${culprit}`, error);
    }
  };
  routes.app = await attempt(plugin.routes);
  routes.internal = await attempt(plugin.nodeRoutes);
}

function isApp(value: unknown): value is AnyElysia {
  const isObject = value !== null && (typeof value === 'object' || typeof value === 'function');
  return isObject && 'routes' in value && Array.isArray(value.routes);
}

/** Kinds of hooks that Elysia would run for the routes of other plugins too. */
function hooksForAll({ event }: AnyElysia): string[] {
  const hooks = Object.entries(event as Readonly<Record<string, readonly Hook[] | undefined>>);
  return hooks.flatMap(([kind, list = []]) => {
    const isForAll = kind === 'request' ? list.length > 0 : list.some(({ scope }) => reaching.has(scope));
    return isForAll ? [kind] : [];
  });
}

interface Hook {
  readonly scope?: string;
}

const reaching: ReadonlySet<string | undefined> = new Set(['global', 'scoped']);

type Declared = { -readonly [K in keyof PluginRoutes]: PluginRoutes[K] };

export interface PluginRoutes {
  readonly planned: PlannedPlugin;
  readonly app: AnyElysia;
  /** For other nodes alone. */
  readonly internal: AnyElysia;
}

export interface StartContext {
  readonly plan: readonly PlannedPlugin[];
  readonly kits: Kits;
  readonly life: Lifetime;
  readonly clock: Clock;
  readonly failed: FailedPlugins;
  readonly troubles: PluginTroubles;
}
