import type { Cidr } from '../../core/base/cidr.ts';
import type { Log } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import type { HttpCore } from '../../core/http/http.ts';
import type { DecisionSettings } from '../../core/plugin/decide.ts';
import { type AskNode, allRoles, type Nodes, type Role } from '../../core/plugin/nodes.ts';
import type { Deployment, Kit, Plugin } from '../../core/plugin/plugin.ts';
import type { Services } from '../../core/plugin/services.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import type { Outbound } from '../../core/ports/outbound.ts';
import type { Order, Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { type ActorRuntime, actorRuntime } from '../actors/actor-runtime.ts';
import { ActorTypes } from '../actors/actor-types.ts';
import { EventHub } from '../actors/events.ts';
import type { HostOptions } from '../actors/host.ts';
import { jobKind } from '../actors/jobs/kind.ts';
import { freeJobs } from '../actors/jobs/leases.ts';
import { JobCounts, measureJobs } from '../actors/jobs/metrics.ts';
import { JobWorkers } from '../actors/jobs/workers.ts';
import { ReactionWatch } from '../actors/reaction-watch.ts';
import { StepCounts } from '../actors/step-counts.ts';
import { sampleLoopDelay } from '../drivers/clock/loop-delay.ts';
import type { Readiness } from '../http/health.ts';
import type { OpenApi } from '../http/openapi/document.ts';
import { NodePresence } from '../nodes/node.ts';
import { KnownNodes } from '../nodes/nodes.ts';
import { OrderRunner } from '../nodes/orders.ts';
import { decisionsOf } from './decisions.ts';
import { dialectsOf } from './dialects.ts';
import type { DiskWatch } from './disk-watch.ts';
import { type EngineWatch, engineWatch } from './engine-watch.ts';
import { FailedPlugins } from './failed-plugins.ts';
import { Kits, resourcesOf } from './kits.ts';
import { Lifetime } from './lifetime.ts';
import { checkNamedOffers } from './named-offers.ts';
import { patiently } from './patience.ts';
import { type ConfiguredPlugin, planned } from './plan.ts';
import { pluginMedia } from './plugin-media.ts';
import { declareRoutes, type StartContext, startPlugins, tellLost } from './plugin-starts.ts';
import { PluginTroubles } from './plugin-troubles.ts';
import { startWork, tellLeaks } from './plugin-work.ts';
import { type AboutProgram, programFacts } from './program-facts.ts';
import { measureProgram } from './program-metrics.ts';
import { mountRoutes } from './routes.ts';
import { openSecrets } from './secrets-key.ts';
import { openServices, type ServiceFactories } from './services.ts';
import { originOf } from './stray-errors.ts';

/**
 * Checks the plugins as a whole, takes over the data, and starts them in the order of their needs.
 * Throws a Fault `boot.invalid` that lists every problem. A failed start stops what had started.
 */
export async function boot(options: BootOptions): Promise<Booted> {
  const { clock } = options.drivers;
  const { log } = options;
  const life = new Lifetime({ clock, log });
  const startedAt = clock.now();
  const { publicUrl } = options.deployment;
  const { trustedProxies: trusted = [], isPublicUrlSet: isFixed = false } = options;
  const reactions = new ReactionWatch({ clock, log });
  let isReady = false;
  let engines: EngineWatch | undefined;
  let pluginIssues = (): readonly string[] => [];
  const allIssues = () => [...(options.drivers.disks?.issues ?? []), ...pluginIssues(), ...reactions.issues];
  const readiness = (): Readiness => {
    if (!isReady) return { status: 'stopping' };
    const silent = engines?.silent() ?? [];
    if (silent.length > 0) return { status: 'waiting', engines: silent };
    const issues = allIssues();
    return { status: 'ready', ...(issues.length > 0 && { issues }) };
  };
  const stop = () => {
    isReady = false;
    return life.stop();
  };

  try {
    const base = planBase(options, life);
    const { plan, kits, metrics } = base;
    const { caller, hostPath, rtmpApps } = dialectsOf(plan, { trusted, publicUrl, isFixed, log });
    const decisions = decisionsOf(plan, { ...base, settings: options.decisions, log });
    pluginIssues = () => [...issuesOf(base), ...decisions.watch.issues];
    const makeRuntime = await openStore(base);
    const secrets = await life.start('secrets', () => openSecrets(options));
    await openBlobs(base);
    const needs = { rtmpApps, pluginMedia: pluginMedia(base) };
    const services = await openServices(options.services, { ...base, log, ...needs });
    await watchDisks(base);
    const program = await startNode({ ...base, makeRuntime });
    const { runtime, nodes, deployment, orders, workers } = program;
    reactions.measure(metrics);
    const eventTypes = plan.flatMap(({ plugin }) => Object.keys(plugin.emits ?? {}));
    measureProgram(metrics, { clock, runtime, eventTypes, services });
    const facts = programFacts({
      ...{ ...base, ...options.deployment, ...options.drivers, startedAt, issues: allIssues },
      about: options.about ?? { config: () => [], off: [] },
      disks: options.drivers.disks,
    });
    const all = { ...services, secrets, program: facts };
    fillKits({ ...base, ...program, services: all, shared: { caller, decide: decisions.decide } });
    life.atStop('leaks', () => tellLeaks({ ...base, log }));
    await life.start('actors', () => runtime.start());
    // Alone nobody else can answer, and nothing else happens before it is done.
    if (deployment.isAlone) await life.start('former', () => nodes.tellFormer());
    await startPlugins(base);
    checkNamedOffers(base);
    const { app, internal, document } = mountRoutes({
      ...{ clock, log, metrics, readiness, caller, hostPath, publicUrl, own: kits.own },
      declared: await declareRoutes(base),
      hasApi: program.roles.includes('api'),
    });
    kits.settled();
    await startWork({ ...base, ...program, ...options.drivers, log, reactions });
    nodes.watch();
    if (options.engines) {
      engines = engineWatch({ engines: options.engines, clock, log });
      life.atStop('engines', engines.stop);
    }
    life.atStop('loop delay', sampleLoopDelay(metrics, { log }));
    isReady = true;
    return {
      ...{ app, internal, document, nodes, stop },
      plugins: plan.map(({ plugin }) => plugin),
      lines: (notes) => life.lines(notes),
      takeOrder: (order) => orders.take(order),
      jobsRunning: () => workers.allRunning,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Gives every plugin its kit. */
function fillKits(base: Base & Program & KitParts): void {
  const { options, kits, life, metrics, runtime, hub, deployment, services, shared } = base;
  const { log } = options;
  const { store, clock, blobs, outbound, volatile } = options.drivers;
  kits.fill({
    shared: {
      ...{ ...shared, log, clock, metrics, deployment, blobs, outbound },
      ...{ actors: runtime.actors, signal: life.signal },
    },
    resources: resourcesOf({ store, clock, runtime }),
    events: { feed: hub, store, wrote: (events) => runtime.wrote(events) },
    services: { ...services, volatile },
  });
}

interface KitParts {
  readonly services: Partial<Services>;
  readonly shared: Pick<Kit, 'caller' | 'decide'>;
}

/** What the phases of a start have in common. */
interface Base extends StartContext {
  readonly options: BootOptions;
  readonly metrics: Metrics;
}

/** The enabled plugins, checked against each other, and what is known of their failures. Throws Fault `boot.invalid`. */
function planBase(options: BootOptions, life: Lifetime): Base {
  const { log } = options;
  const { clock } = options.drivers;
  const plan = planned(options.plugins);
  const troubles = options.troubles ?? new PluginTroubles({ clock, log });
  const metrics = new Metrics({
    failed(name, error) {
      const { plugin } = originOf(error, options.plugins);
      troubles.tell(plugin, { where: `metric ${name}`, error });
    },
  });
  const failed = new FailedPlugins(plan, { log });
  const kits = new Kits(plan, { clock, failed, troubles });
  for (const one of [failed, troubles, kits]) one.measure(metrics);
  return { options, plan, life, metrics, kits, clock, failed, troubles };
}

/** What is wrong with plugins, for operators. */
function issuesOf({ plan, kits, failed, troubles }: Base): string[] {
  const ofScopes = plan.flatMap(({ plugin: { id } }) => kits.scopeOf(id).issues(id));
  return [...failed.issues, ...troubles.issues, ...ofScopes];
}

/** Takes over the data, once the engines that hold it answer. */
async function openStore({ options, life }: Base): ReturnType<typeof actorRuntime> {
  const { store, bus, clock, outbound, volatile } = options.drivers;
  const { log, partitions } = options;
  life.atStop('store', () => store.close());
  life.atStop('volatile', () => volatile.close());
  life.atStop('outbound', () => outbound.close());
  if (bus) life.atStop('bus', () => bus.close());
  const signal = options.signal ?? life.signal;
  return life.start('store', () =>
    actorRuntime({ ...{ store, clock, log, partitions, signal }, ...(bus && { bus }) }),
  );
}

async function openBlobs({ options, life }: Base): Promise<void> {
  const { blobs, clock } = options.drivers;
  const signal = options.signal ?? life.signal;
  life.atStop('blobs', () => blobs.close());
  await life.start('blobs', () =>
    patiently('blobs', { ...{ clock, log: options.log, signal }, attempt: () => blobs.open() }),
  );
}

async function watchDisks({ options, life, metrics }: Base): Promise<void> {
  const { disks } = options.drivers;
  if (!disks) return;
  life.atStop('disks', () => disks.stop());
  await life.start('disks', () => disks.start());
  disks.measure(metrics);
}

/** A node that runs actors, and what goes with them. */
interface Program {
  readonly roles: readonly Role[];
  readonly deployment: Deployment;
  readonly nodes: KnownNodes;
  readonly hub: EventHub;
  readonly runtime: ActorRuntime;
  readonly orders: OrderRunner;
  readonly workers: JobWorkers;
}

/** Joins the deployment as a node, and makes its actors and jobs; neither runs yet. */
async function startNode(
  base: Base & { makeRuntime: Awaited<ReturnType<typeof actorRuntime>> },
): Promise<Program> {
  const { options, plan, life, metrics, kits, failed } = base;
  const { store, bus, jobs, clock, volatile } = options.drivers;
  const { log, onFatal, nodeUrl: url } = options;
  const { roles = allRoles, isAlone = bus === undefined } = options;
  const presence = new NodePresence({
    ...{ id: options.nodeId, url, roles, store, clock },
    ...announced(options, { isAlone, roles }),
  });
  await life.start('node', () => presence.take());
  const { id, incarnation } = presence.info;
  const hub = new EventHub(store, { log });
  const nodes = new KnownNodes({
    ...{ presence, store, clock, isAlone, timeout: options.nodeTimeout, log },
    declares: roles.includes('actors'),
    ...(options.askNode && { ask: options.askNode }),
    async tell(lost) {
      const freed = await freeJobs(lost, { jobs, clock, log });
      if (freed > 0) workers.wake();
      await tellLost(lost, { ...base, isOnce: isAlone });
    },
    onEnd: onFatal,
  });
  life.atStop('node', () => nodes.stop());
  const orders = new OrderRunner({
    ...{ plan, kits, store, clock, own: { id, incarnation }, log, signal: life.signal },
    isOff: (plugin) => failed.isOff(plugin),
    isGone: (process) => nodes.isGone(process),
    send: options.sendOrder ?? ((order, to) => runtime.sendOrder(order, to)),
  });
  const kinds = plan.flatMap(({ plugin, config }) =>
    Object.entries(plugin.effects ?? {}).map(
      ([kind, effect]) => jobKind(kind, { effect, config, kit: () => kits.of(plugin.id) }).kind,
    ),
  );
  const ownerOf = new Map(
    plan.flatMap(({ plugin: { id, effects = {} } }) => Object.keys(effects).map((kind) => [kind, id])),
  );
  const types = new ActorTypes(
    plan.flatMap(({ plugin }) =>
      (plugin.actors ?? []).map((type) => ({
        type,
        get tools() {
          return kits.stepKit(plugin.id);
        },
        get failure() {
          return failed.faultOf(plugin.id);
        },
      })),
    ),
  );
  const workers = new JobWorkers({
    ...{ jobs, clock, log, kinds },
    owner: `${id}/${incarnation}`,
    knows: (actor) => types.knows(actor),
    serves: (kind) => !failed.isOff(ownerOf.get(kind) ?? ''),
    conclude: (job, result) => runtime.conclude(job, result),
    isShared: bus !== undefined,
    counts: new JobCounts(metrics, { kinds: kinds.map(({ kind }) => kind) }),
  });
  measureJobs(metrics, { clock, jobs, workers, kinds });
  const runtime: ActorRuntime = base.makeRuntime({
    ...{ self: { node: id, incarnation }, roles, volatile, metrics, hub, types, onFatal },
    hotActors: options.hotActors,
    counts: new StepCounts(metrics, { types: types.names }),
    // Without the role they claim nothing: what steps here ask for is done by others.
    work: workers,
    ...(options.probe && { probe: options.probe }),
    runOrders: (list) => orders.run(list),
    takeOrder: (order) => orders.take(order),
  });
  life.atStop('actors', () => runtime.stop());
  const deployment = { ...options.deployment, node: { id, incarnation }, nodes, isAlone };
  return { roles, deployment, nodes, hub, runtime, orders, workers };
}

/** What other nodes tell clients about this one. */
function announced(
  { ingestUrl, region, nodeUrl, deployment }: BootOptions,
  { isAlone, roles }: { isAlone: boolean; roles: readonly Role[] },
): { ingestUrl?: string | undefined; region: string | undefined } {
  if (!roles.includes('media')) return { region };
  if (ingestUrl !== undefined || isAlone || nodeUrl === undefined) return { ingestUrl, region };
  return { ingestUrl: `rtmp://${new URL(nodeUrl).hostname}:${deployment.rtmpPort}/live`, region };
}

export interface BootOptions {
  readonly plugins: readonly ConfiguredPlugin[];
  readonly drivers: {
    readonly store: Store;
    /** How nodes speak to each other; absent where this process is the only one. */
    readonly bus?: Bus;
    readonly jobs: Jobs;
    readonly clock: Clock;
    readonly volatile: Volatile;
    readonly outbound: Outbound;
    readonly blobs: Blobs;
    /** Where this node has any. */
    readonly disks?: DiskWatch;
  };
  /** Services that plugins may need. Only those that enabled plugins need are made. */
  readonly services: ServiceFactories;
  readonly deployment: Omit<Deployment, 'node' | 'nodes' | 'isAlone'>;
  /** Default: that in `secrets.key` of the data folder. */
  readonly secretsKey?: string;
  /** `publicUrl` was configured: all URLs in answers begin with it. Default: with the address that the request came to. */
  readonly isPublicUrlSet?: boolean;
  /** What this node does; default: everything. */
  readonly roles?: readonly Role[];
  /** No other process writes to the data. Default: where there is no bus. */
  readonly isAlone?: boolean;
  readonly nodeId: string;
  /** Where other nodes reach this one. */
  readonly nodeUrl?: string;
  readonly askNode?: AskNode;
  /** Where encoders reach this node. Default, where there may be others: the RTMP port at the host of `nodeUrl`. */
  readonly ingestUrl?: string;
  /** Region of this node. */
  readonly region?: string;
  /**
   * Hands an order to the process that it names: resolves when that will hear of it for sure, should it live on.
   * Default: over the bus.
   */
  readonly sendOrder?: (order: Order, to: { node: string; incarnation: string }) => Promise<void>;
  /** ms */
  readonly nodeTimeout: number;
  /** Fixed for the life of the data. */
  readonly partitions: number;
  /** Actors kept restored in memory. */
  readonly hotActors: number;
  /** Whose `X-Forwarded-*` is believed; default: nobody's. */
  readonly trustedProxies?: readonly Cidr[];
  /** Default: 3 s, and what fails is refused. */
  readonly decisions?: DecisionSettings;
  /** Engines beside the program that this node needs: name → a question that each answers when it can. */
  readonly engines?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Aborted when the program is to end while it starts. */
  readonly signal?: AbortSignal;
  readonly log: Log;
  /** For operators to read. Default: nothing. */
  readonly about?: AboutProgram;
  /** Notes errors of plugins that came from nowhere as well; default: its own. */
  readonly troubles?: PluginTroubles;
  /** Something happened after which the process must end. */
  onFatal(reason: string): void;
  /** For crash tests. */
  readonly probe?: HostOptions['probe'];
}

export interface Booted {
  readonly app: HttpCore;
  /** What other nodes alone are answered. */
  readonly internal: HttpCore;
  /** What was started, a line per part. */
  lines: Lifetime['lines'];
  /** In the order in which they were started. */
  readonly plugins: readonly Plugin[];
  /** What `/openapi.json` answers. */
  readonly document: () => OpenApi;
  readonly nodes: Nodes;
  /** An order that another node sent. */
  readonly takeOrder: OrderRunner['take'];
  /** Jobs that are being run; none after the stop, unless an effect ignored its signal. */
  jobsRunning(): number;
  /** Stops everything in reverse order; `/health/ready` answers 503 from now on. Harmless when repeated. */
  stop(): Promise<void>;
}
