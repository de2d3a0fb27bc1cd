import type { Kit, Resources, StepKit } from '../../core/plugin/plugin.ts';
import { derivationSet, fieldSet } from '../../core/plugin/resource.ts';
import { type Services, services } from '../../core/plugin/services.ts';
import type { Collection, Token } from '../../core/plugin/token.ts';
import type { Store } from '../../core/ports/store.ts';
import type { ActorRuntime } from '../actors/actor-runtime.ts';
import type { PlannedPlugin } from './plan.ts';

/** The kit of each plugin. They are there once `fill` was called: the actors start before the plugins, and are in them. */
export class Kits {
  readonly #plan: readonly PlannedPlugin[];
  readonly #kits = new Map<string, Kit>();
  readonly #stepKits = new Map<string, StepKit>();
  readonly #provided = new Map<string, unknown>();

  constructor(plan: readonly PlannedPlugin[]) {
    this.#plan = plan;
  }

  /** Makes all of them. `shared`: what is the same for all plugins. */
  fill(options: {
    shared: Omit<Kit, 'config' | 'resources' | 'use' | 'provide' | 'offered'>;
    resources: Omit<Resources, 'fields' | 'derived'>;
    services: Partial<Services>;
  }): void {
    const { shared } = options;
    for (const [name, service] of Object.entries(options.services))
      this.#provided.set(services[name as keyof Services].id, service);
    const { publicUrl } = shared.deployment;
    const fields: Resources['fields'] = (kind) =>
      fieldSet(
        this.#plan.flatMap(({ plugin }) =>
          (plugin.extends ?? [])
            .filter((field) => field.resource.kind === kind.kind)
            .map((field) => ({ plugin: plugin.id, field, kit: this.of(plugin.id) })),
        ),
      );
    const derived: Resources['derived'] = (kind) =>
      derivationSet(
        this.#plan.flatMap(({ plugin }) =>
          (plugin.derives ?? [])
            .filter(({ resource }) => resource.kind === kind.kind)
            .map((derivation) => ({ derivation, kit: this.of(plugin.id) })),
        ),
      );
    const resources = { ...options.resources, fields, derived };
    const offered = <T>(to: Collection<T>) =>
      this.#plan.flatMap(({ plugin }) =>
        (plugin.offers ?? [])
          .filter((offer) => offer.to.id === to.id)
          .map((offer) => offer.make(this.of(plugin.id)) as T),
      );
    for (const { plugin, config } of this.#plan) {
      const use = <T>({ id }: Token<T>): T => {
        if (!plugin.needs?.some((need) => need.id === id)) {
          throw new Error(`plugin ${plugin.id} uses ${id} without naming it in its needs`);
        }
        return this.#provided.get(id) as T;
      };
      this.#stepKits.set(plugin.id, { config, fields, publicUrl });
      this.#kits.set(plugin.id, {
        ...shared,
        config,
        log: shared.log.with({ plugin: plugin.id }),
        resources,
        use,
        provide: (token, value) => void this.#provided.set(token.id, value),
        offered,
      });
    }
  }

  of(pluginId: string): Kit {
    return this.#kits.get(pluginId) as Kit;
  }

  stepKit(pluginId: string): StepKit | undefined {
    return this.#stepKits.get(pluginId);
  }

  isProvided({ id }: Token<unknown>): boolean {
    return this.#provided.has(id);
  }
}

/** The rows of the store, for plugins. */
export function resourcesOf(options: {
  store: Store;
  clock: { now(): number };
  runtime: Pick<ActorRuntime, 'wrote' | 'certain'>;
}): Omit<Resources, 'fields' | 'derived'> {
  const { store, clock, runtime } = options;
  const { list, count } = store.resources;
  const get = store.resources.get.bind(store.resources);
  const find = store.resources.find.bind(store.resources);
  return {
    get: (kind, id) => runtime.certain({ kind, id }, () => get(kind, id)),
    find: (kind, index, value) => runtime.certain({ kind }, () => find(kind, index, value)),
    list: list.bind(store.resources),
    count: count.bind(store.resources),
    async write(commit) {
      const at = clock.now();
      const written = await store.write({ ...commit, at });
      if (written.outcome !== 'ok') return 'conflict';
      runtime.wrote(
        commit.events.map((event, index) => ({ ...event, at, position: written.events[index]! })),
      );
      return 'ok';
    },
  };
}
