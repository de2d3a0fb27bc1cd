import type { Metrics } from '../../core/base/metrics.ts';
import type { HttpCore } from '../../core/http/http.ts';
import { innerRequest } from '../../core/http/inner-call.ts';
import { declaredEvents, type EventFeed } from '../../core/plugin/events.ts';
import type { Kit, Plugin, Resources, StepKit } from '../../core/plugin/plugin.ts';
import {
  type Derivation,
  type DerivationSet,
  derivationSet,
  type Field,
  type FieldSet,
  fieldSet,
} from '../../core/plugin/resource.ts';
import { type Services, services } from '../../core/plugin/services.ts';
import type { Collection, Offer, Token } from '../../core/plugin/token.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';
import type { ActorRuntime } from '../actors/actor-runtime.ts';
import { pluginEvents } from '../actors/plugin-events.ts';
import {
  absent,
  type Containment,
  containedDerivation,
  containedField,
  containedOffer,
} from './contained.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import type { PlannedPlugin } from './plan.ts';
import { PluginScope } from './plugin-scope.ts';
import type { PluginTroubles } from './plugin-troubles.ts';
import { ownWrite, rowOwners } from './row-owners.ts';
import { TimeLimit } from './time-limit.ts';

/** How long derived fields may take, ms: an answer waits for them. */
const derivationLimit = 3000;

/** The kit of each plugin. They are there once `fill` was called: the actors start before the plugins, and are in them. */
export class Kits {
  readonly #plan: readonly PlannedPlugin[];
  readonly #options: KitsOptions;
  readonly #limit: TimeLimit;
  readonly #kits = new Map<string, Kit>();
  readonly #stepKits = new Map<string, StepKit>();
  readonly #scopes = new Map<string, PluginScope>();
  readonly #provided = new Map<string, unknown>();
  /** Entries of collections that were asked for while the program starts, each list with their owners. */
  #lists: { readonly list: unknown[]; readonly owners: string[] }[] | undefined = [];
  readonly #unfit = new Set<unknown>();
  #app: Pick<HttpCore, 'inner'> | undefined;
  readonly #derivations = new Map<Derivation, Derivation>();

  constructor(plan: readonly PlannedPlugin[], options: KitsOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#limit = new TimeLimit(derivationLimit, options);
  }

  /** Makes all of them. `shared`: what is the same for all plugins. */
  fill(options: {
    shared: Omit<
      Kit,
      'config' | 'errors' | 'events' | 'ask' | 'resources' | 'use' | 'provide' | 'offered' | 'lacks'
    >;
    resources: Omit<Resources, 'fields' | 'derived'>;
    events: { feed: EventFeed; store: Pick<Store, 'write'>; wrote: ActorRuntime['wrote'] };
    services: Partial<Services>;
  }): void {
    const { shared } = options;
    for (const [name, service] of Object.entries(options.services))
      this.#provided.set(services[name as keyof Services].id, service);
    const { publicUrl } = shared.deployment;
    const fields: Resources['fields'] = (kind) => this.#fields(kind.kind);
    const derived: Resources['derived'] = (kind) => this.#derived(kind.kind);
    const owners = rowOwners(this.#plan.map(({ plugin }) => plugin));
    const declared = declaredEvents(this.#plan.map(({ plugin }) => plugin));
    for (const { plugin, config } of this.#plan) {
      const { id } = plugin;
      const scope = new PluginScope({
        ...{ ...shared, events: options.events.feed },
        tell: (where, error) => this.#options.troubles.tell(id, { where, error }),
      });
      this.#scopes.set(id, scope);
      this.#stepKits.set(id, { config, fields, publicUrl });
      const write = ownWrite(id, { owners, write: options.resources.write });
      this.#kits.set(id, {
        ...shared,
        ...{ config, resources: { ...options.resources, write, fields, derived } },
        ...{ clock: scope.clock, signal: scope.signal },
        log: shared.log.with({ plugin: id }),
        events: pluginEvents(id, {
          ...{ ...options.events, feed: scope.events, declared },
          kit: () => this.of(id),
        }),
        ...(plugin.errors && { errors: plugin.errors }),
        ask: (request, call) => this.#asked(innerRequest(request, call)),
        use: (token) => this.#used(plugin, token),
        provide: (token, value) => void this.#provided.set(token.id, value),
        offered: (to) => this.#offered(to),
        lacks: (to) => this.#lacks(to),
      });
    }
  }

  of(pluginId: string): Kit {
    return this.#kits.get(pluginId) as Kit;
  }

  scopeOf(pluginId: string): PluginScope {
    return this.#scopes.get(pluginId) as PluginScope;
  }

  /** A plugin is off: what it offered is taken from those that asked before. */
  withdraw(pluginId: string): void {
    for (const { list, owners } of this.#lists ?? []) {
      for (let at = owners.indexOf(pluginId); at >= 0; at = owners.indexOf(pluginId)) {
        list.splice(at, 1);
        owners.splice(at, 1);
      }
    }
  }

  /** A field that no document can have, as its initial value cannot be told. */
  dropField(field: unknown): void {
    this.#unfit.add(field);
  }

  measure(metrics: Metrics): void {
    const read = (what: 'timers' | 'listeners') => () =>
      [...this.#scopes].map(([plugin, { held }]) => ({ labels: { plugin }, value: held[what] }));
    metrics.readings('millrace_plugin_timers', {
      help: 'Timers that plugins have set and that wait for their time, by plugin.',
      read: read('timers'),
    });
    metrics.readings('millrace_plugin_listeners', {
      help: 'Listeners for events that plugins have, by plugin.',
      read: read('listeners'),
    });
  }

  /** The program has started: nothing is withdrawn any more, and `app` answers. */
  settled(app: Pick<HttpCore, 'inner'>): void {
    this.#lists = undefined;
    this.#app = app;
  }

  stepKit(pluginId: string): StepKit | undefined {
    return this.#stepKits.get(pluginId);
  }

  async #asked(request: Request): Promise<Response> {
    if (!this.#app) throw new Error('the program has not started yet');
    return this.#app.inner(request);
  }

  isProvided({ id }: Token<unknown>): boolean {
    return this.#provided.has(id);
  }

  #fields(kind: string): FieldSet {
    return fieldSet(
      this.#plan.flatMap(({ plugin }) =>
        ((plugin.extends ?? []) as readonly Field[])
          .filter((field) => field.resource.kind === kind && !this.#unfit.has(field))
          .map((field) => ({
            plugin: plugin.id,
            field: containedField(field, this.#containment(plugin.id)),
            kit: this.of(plugin.id),
          })),
      ),
    );
  }

  #derived(kind: string): DerivationSet {
    return derivationSet(
      this.#plan.flatMap(({ plugin }) =>
        ((plugin.derives ?? []) as readonly Derivation[])
          .filter(({ resource }) => resource.kind === kind)
          .map((derivation) => ({
            derivation: this.#contained(derivation, plugin.id),
            kit: this.of(plugin.id),
          })),
      ),
    );
  }

  /** The same wherever it is shown: one that took too long rests everywhere. */
  #contained(derivation: Derivation, plugin: string): Derivation {
    const contained =
      this.#derivations.get(derivation) ?? containedDerivation(derivation, this.#containment(plugin));
    this.#derivations.set(derivation, contained);
    return contained;
  }

  #offered<T>(to: Collection<T>): T[] {
    const list: T[] = [];
    const owners: string[] = [];
    for (const { plugin } of this.#plan) {
      if (this.#options.failed.isOff(plugin.id)) continue;
      for (const offer of plugin.offers ?? []) {
        if (offer.to.id !== to.id) continue;
        const containment = this.#containment(plugin.id);
        const made = containedOffer<T>(offer as Offer, { kit: this.of(plugin.id), containment });
        list.push(...made);
        owners.push(...made.map(() => plugin.id));
      }
    }
    this.#lists?.push({ list, owners });
    return list;
  }

  #lacks(to: Collection<unknown>): boolean {
    return this.#plan.some(
      ({ plugin: { id, offers = [] } }) =>
        this.#options.failed.isOff(id) && offers.some((offer) => offer.to.id === to.id),
    );
  }

  #used<T>(plugin: Plugin, { id }: Token<T>): T {
    if (!plugin.needs?.some((need) => need.id === id)) {
      throw new Error(`plugin ${plugin.id} uses ${id} without naming it in its needs`);
    }
    if (this.#provided.has(id)) return this.#provided.get(id) as T;
    const provider = this.#plan.find(({ plugin: { provides = [] } }) =>
      provides.some((one) => one.id === id),
    );
    const isOff = provider !== undefined && this.#options.failed.isOff(provider.plugin.id);
    return isOff ? absent<T>() : (undefined as T);
  }

  #containment(plugin: string): Containment {
    const { clock, failed, troubles } = this.#options;
    return {
      ...{ plugin, clock, limit: this.#limit },
      failure: () => failed.faultOf(plugin),
      tell: (where, error) => troubles.tell(plugin, { where, error }),
    };
  }
}

interface KitsOptions {
  readonly clock: Clock;
  readonly failed: FailedPlugins;
  readonly troubles: PluginTroubles;
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
