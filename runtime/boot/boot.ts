import { type AnyElysia, Elysia } from 'elysia';
import type { Cidr } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import { callers } from '../../core/http/caller.ts';
import { FaultCauses } from '../../core/http/fault-causes.ts';
import { type Holds, holds } from '../../core/http/holds.ts';
import { type HttpCore, httpCore } from '../../core/http/http.ts';
import { type Peers, peers } from '../../core/http/peers.ts';
import { RequestCounts } from '../../core/http/request-counts.ts';
import { coreFaults } from '../../core/plugin/fault-table.ts';
import { type AskNode, allRoles, type Nodes, type Role } from '../../core/plugin/nodes.ts';
import type { Deployment, Kit, Plugin, StepKit, Stop } from '../../core/plugin/plugin.ts';
import { derivationSet, fieldSet } from '../../core/plugin/resource.ts';
import { countRemoved } from '../../core/plugin/sweep-counts.ts';
import type { Collection, Token } from '../../core/plugin/token.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Converter } from '../../core/ports/converter.ts';
import type { Inspector } from '../../core/ports/inspector.ts';
import type { Intake } from '../../core/ports/intake.ts';
import type { Jobs, QueuedJobs } from '../../core/ports/jobs.ts';
import type { Media } from '../../core/ports/media.ts';
import type { Outbound } from '../../core/ports/outbound.ts';
import type { Packer } from '../../core/ports/packer.ts';
import type { Pusher } from '../../core/ports/pusher.ts';
import type { Recorder } from '../../core/ports/recorder.ts';
import type { Stills } from '../../core/ports/stills.ts';
import type { LoggedEvent, Order, RowPlace, Store } from '../../core/ports/store.ts';
import type { Transcoder } from '../../core/ports/transcoder.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { type ActorRuntime, actorRuntime } from '../actors/actor-runtime.ts';
import { ActorTypes } from '../actors/actor-types.ts';
import { EventHub } from '../actors/events.ts';
import type { HostOptions } from '../actors/host.ts';
import { JobCounts } from '../actors/jobs/job-counts.ts';
import { jobKind } from '../actors/jobs/kind.ts';
import { freeJobs } from '../actors/jobs/lost-nodes.ts';
import { measureJobs } from '../actors/jobs/measure.ts';
import { JobWorkers } from '../actors/jobs/workers.ts';
import { nameBeside } from '../actors/partition.ts';
import { ReactionWatch } from '../actors/reaction-watch.ts';
import { react } from '../actors/reactions.ts';
import { StepCounts } from '../actors/step-counts.ts';
import { sweeping } from '../actors/sweeping.ts';
import type { DiskWatch } from '../disk/disk-watch.ts';
import { healthRoutes, type Readiness } from '../http/health.ts';
import { type OpenApi, openApi } from '../http/openapi/document.ts';
import { openApiRoute } from '../http/openapi/route.ts';
import { declaredRoutes, type RouteGroup } from '../http/openapi/routes.ts';
import { nodePresence } from '../nodes/node.ts';
import { knownNodes } from '../nodes/nodes.ts';
import { type OrderRunner, orderRunner } from '../nodes/orders.ts';
import { BootTree } from './boot-tree.ts';
import { type EngineWatch, engineWatch } from './engine-watch.ts';
import { processLimits } from './limits.ts';
import { sampleLoopDelay } from './loop-delay.ts';
import { patiently } from './patience.ts';
import { type ConfiguredPlugin, planned } from './plan.ts';
import { measureProgram, metricsRoute } from './program-metrics.ts';

const phaseLimit = processLimits.phase.value;
/** ms. Jobs may take 4 s; and two parts that hang are both named within the 9 s of a whole stop. */
const partStopLimit = 4_250;

/**
 * Checks the plugins as a whole, takes over the data, and starts them in the order of their needs.
 * Throws a Fault `boot.invalid` that lists every problem. A failed start stops what had started.
 */
export async function boot(options: BootOptions): Promise<Booted> {
  const { store, bus, jobs, clock, media, recorder, blobs, outbound, volatile } = options.drivers;
  const { intake, inspector, converter, packer, pusher, transcoder, stills, disks } = options.drivers;
  const tree = new BootTree(clock);
  const stops: { name: string; stop: Stop }[] = [];
  const known = peers({ trusted: options.trustedProxies ?? [] });
  const { publicUrl } = options.deployment;
  const caller = callers({ peers: known, publicUrl, isFixed: options.isPublicUrlSet ?? false });
  const held = holds();
  const reactions = new ReactionWatch({ clock, log: options.log });
  let isReady = false;
  let watch: EngineWatch | undefined;
  const readiness = (): Readiness => {
    if (!isReady) return { status: 'stopping' };
    const engines = watch?.silent() ?? [];
    if (engines.length > 0) return { status: 'waiting', engines };
    const issues = [...(disks?.issues ?? []), ...reactions.issues];
    return { status: 'ready', ...(issues.length > 0 && { issues }) };
  };

  let stopped: Promise<void> | undefined;
  const stopAll = async () => {
    isReady = false;
    stopping.abort();
    for (let last = stops.pop(); last; last = stops.pop()) {
      const { name } = last;
      await within(partStopLimit, { clock, what: `stopping ${name}`, work: async () => last?.stop() }).catch(
        (error: unknown) => options.log.error('a part did not stop cleanly', { part: name, error }),
      );
    }
  };
  const stop = () => {
    stopped ??= stopAll();
    return stopped;
  };
  const stopping = new AbortController();

  try {
    const plan = planned(options.plugins);
    stops.push({ name: 'store', stop: () => store.close() });
    // One that is an engine of its own; the store's own ends with that.
    if ('close' in jobs) stops.push({ name: 'queue', stop: () => (jobs as QueuedJobs).close() });
    stops.push({ name: 'volatile', stop: () => volatile.close() });
    stops.push({ name: 'outbound', stop: () => outbound.close() });
    if (bus) stops.push({ name: 'bus', stop: () => bus.close() });
    const runtimeWith = await tree.timed('store', () =>
      actorRuntime({
        ...{ store, clock, log: options.log, partitions: options.partitions, ...(bus && { bus }) },
        signal: options.signal ?? stopping.signal,
      }),
    );
    stops.push({ name: 'blobs', stop: () => blobs.close() });
    await tree.timed('blobs', () =>
      patiently('blobs', {
        ...{ clock, log: options.log, signal: options.signal ?? stopping.signal },
        attempt: () => blobs.open(),
      }),
    );
    stops.push({ name: 'recorder', stop: () => recorder.close() });
    await tree.timed('recorder', () => recorder.open());
    stops.push({ name: 'pusher', stop: () => pusher.close() });
    stops.push({ name: 'inspector', stop: () => inspector.close() });
    stops.push({ name: 'converter', stop: () => converter.close() });
    stops.push({ name: 'intake', stop: () => intake.close() });
    const spools = await tree.timed('intake', () => intake.open());
    if (disks) {
      stops.push({ name: 'disks', stop: () => disks.stop() });
      await tree.timed('disks', () => disks.start());
    }
    stops.push({ name: 'stills', stop: () => stills.close() });
    stops.push({ name: 'packer', stop: () => packer.close() });
    await tree.timed('packer', () => packer.open());
    const { roles = allRoles, isAlone = bus === undefined, nodeUrl: url } = options;
    const presence = await tree.timed('node', () =>
      nodePresence({
        ...{ id: options.nodeId, url, roles, store, clock },
        ...announced(options, { isAlone, roles }),
      }),
    );
    const { id, incarnation } = presence.info;
    const deployment: Deployment = { ...options.deployment, node: { id, incarnation }, isAlone };
    const metrics = new Metrics();
    disks?.measure(metrics);
    reactions.measure(metrics);
    countRemoved(metrics, 'spools')(spools);
    if (spools.count > 0)
      options.log.info('files that were never taken to their end were removed', { spools });
    const hub = new EventHub(store, { log: options.log });
    const kits = new Map<string, Kit>();
    const stepKits = new Map<string, StepKit>();
    const provided = new Map<string, unknown>();
    const nodes = knownNodes({
      ...{ presence, store, clock, isAlone, timeout: options.nodeTimeout, log: options.log },
      declares: roles.includes('actors'),
      ...(options.askNode && { ask: options.askNode }),
      async tell(lost) {
        const freed = await freeJobs(lost, { jobs, clock, log: options.log });
        if (freed > 0) workers.wake();
        for (const { plugin, culprit } of plan) {
          const hear = async () => plugin.lostNode?.(lost, kits.get(plugin.id) as Kit);
          await blamed(`plugin ${culprit} could not see to a lost node`, hear);
        }
      },
      onEnd: (reason) => options.onFatal(reason),
    });
    stops.push({ name: 'node', stop: nodes.stop });
    const orders = orderRunner({
      ...{ plan, kits, store, clock, own: { id, incarnation }, isGone: nodes.isGone, log: options.log },
      send: options.sendOrder ?? ((order, to) => runtime.sendOrder(order, to)),
    });
    stops.push({ name: 'orders', stop: orders.stop });
    const kinds = plan.flatMap(({ plugin, config }) =>
      Object.entries(plugin.effects ?? {}).map(
        ([kind, effect]) => jobKind(kind, { effect, config, kit: () => kits.get(plugin.id) as Kit }).kind,
      ),
    );
    const workers = new JobWorkers({
      jobs,
      clock,
      log: options.log,
      kinds,
      owner: `${id}/${incarnation}`,
      knows: (actor) => types.knows(actor),
      conclude: (job, result) => runtime.conclude(job, result),
      isShared: bus !== undefined,
      counts: new JobCounts(metrics, { kinds: kinds.map(({ kind }) => kind) }),
    });
    measureJobs(metrics, { clock, jobs, workers, kinds });
    const types: ActorTypes = new ActorTypes(
      plan.flatMap(({ plugin }) =>
        (plugin.actors ?? []).map((type) => ({
          type,
          get tools() {
            return stepKits.get(plugin.id);
          },
        })),
      ),
    );
    const runtime = runtimeWith({
      ...{ self: { node: id, incarnation }, roles, jobs, volatile, metrics, hub, types },
      hotActors: options.hotActors,
      counts: new StepCounts(metrics, { types: types.names }),
      // Without the role they claim nothing: what steps here ask for is done by others.
      work: workers,
      ...(options.probe && { probe: options.probe }),
      runOrders: orders.run,
      takeOrder: orders.take,
      onFatal: options.onFatal,
    });
    stops.push({ name: 'actors', stop: () => runtime.stop() });
    const eventTypes = plan.flatMap(({ plugin }) => Object.keys(plugin.emits ?? {}));
    measureProgram(metrics, { clock, runtime, media, recorder, converter, eventTypes });

    for (const { plugin, config } of plan) {
      const fields: Kit['fields'] = (kind) =>
        fieldSet(
          plan.flatMap((other) =>
            (other.plugin.extends ?? [])
              .filter((field) => field.resource.kind === kind.kind)
              .map((field) => ({ plugin: other.plugin.id, field, kit: kits.get(other.plugin.id) })),
          ),
        );
      stepKits.set(plugin.id, { config, fields, publicUrl: deployment.publicUrl });
      kits.set(plugin.id, {
        config,
        log: options.log.with({ plugin: plugin.id }),
        clock,
        actors: runtime.actors,
        resources: resourcesOf({ store, clock, runtime, partitions: options.partitions }),
        events: hub,
        media,
        recorder,
        pusher,
        transcoder,
        blobs,
        volatile,
        metrics,
        outbound,
        intake,
        inspector,
        converter,
        packer,
        stills,
        peer: known.of,
        caller,
        hold: held.hold,
        signal: stopping.signal,
        deployment,
        nodes,
        use<T>(token: Token<T>): T {
          if (!plugin.needs?.some((need) => need.id === token.id)) {
            throw new Error(`plugin ${plugin.id} uses ${token.id} without naming it in its needs`);
          }
          return provided.get(token.id) as T;
        },
        provide: (token, value) => void provided.set(token.id, value),
        offered: <T>(to: Collection<T>) =>
          plan.flatMap((other) =>
            (other.plugin.offers ?? [])
              .filter((offer) => offer.to.id === to.id)
              .map((offer) => offer.make(kits.get(other.plugin.id) as Kit) as T),
          ),
        fields,
        derived: (kind) =>
          derivationSet(
            plan.flatMap((other) =>
              (other.plugin.derives ?? [])
                .filter(({ resource }) => resource.kind === kind.kind)
                .map((derivation) => ({ derivation, kit: kits.get(other.plugin.id) })),
            ),
          ),
      } satisfies Kit);
    }

    await tree.timed('actors', () => runtime.start());
    // Alone nobody else can answer, and nothing else happens before it is done.
    if (isAlone) await tree.timed('former', () => nodes.tellFormer());
    for (const { plugin, culprit } of plan) {
      const kit = kits.get(plugin.id) as Kit;
      const started = await tree.timed(plugin.id, () =>
        within(phaseLimit, {
          clock,
          what: `starting plugin ${culprit}`,
          work: () => blamed(`plugin ${culprit} could not be started`, async () => plugin.start?.(kit)),
        }),
      );
      if (started) stops.push({ name: `plugin ${culprit}`, stop: started });
      for (const token of plugin.provides ?? []) {
        if (!provided.has(token.id)) throw new Error(`plugin ${culprit} did not provide ${token.id}`);
      }
    }
    for (const { plugin, culprit } of plan) {
      if (!plugin.reactions || !roles.includes('actors')) continue;
      const kit = kits.get(plugin.id) as Kit;
      const own = Object.fromEntries(
        Object.entries(plugin.reactions).map(([event, run]) => [event, (e: LoggedEvent) => run(e, kit)]),
      );
      const { log } = kit;
      const begin = () =>
        react({ plugin: plugin.id, reactions: own, store, hub, clock, log, watch: reactions });
      stops.push({
        name: `reactions of plugin ${culprit}`,
        stop: await runtime.onDuty(`reactions/${plugin.id}`, begin),
      });
    }
    for (const { plugin, culprit } of plan) {
      if (!roles.includes('actors')) break;
      const kit = kits.get(plugin.id) as Kit;
      for (const [name, begin] of Object.entries(plugin.duties ?? {})) {
        const stop = await runtime.onDuty(`${plugin.id}/${name}`, async () => begin(kit));
        stops.push({ name: `${name} of plugin ${culprit}`, stop });
      }
    }
    if (roles.includes('worker')) {
      stops.push({ name: 'jobs', stop: () => workers.stop() });
      await tree.timed('jobs', () => workers.start());
    }
    nodes.watch();
    const sweep = async () => sweeping({ store, clock, log: options.log });
    stops.push({ name: 'sweep', stop: await runtime.onDuty('sweep', sweep) });
    if (options.engines) {
      watch = engineWatch({ engines: options.engines, clock, log: options.log });
      stops.push({ name: 'engines', stop: watch.stop });
    }
    stops.push({ name: 'loop delay', stop: sampleLoopDelay(metrics, { clock }) });

    let documentText = '';
    const groups = [
      {
        id: 'core',
        summary: 'the program itself',
        app: new Elysia()
          .use(healthRoutes(readiness))
          .use(metricsRoute(metrics))
          .use(openApiRoute({ text: () => documentText, caller })),
      },
      ...plan.map(({ plugin, culprit }) => ({
        id: plugin.id,
        culprit,
        summary: plugin.summary,
        app: routesOf(plugin, { culprit, kit: kits.get(plugin.id) as Kit }),
      })),
    ];
    const faults = Object.assign({}, coreFaults, ...plan.map(({ plugin }) => plugin.faults ?? {}));
    const document = openApi({ groups, faults, publicUrl });
    documentText = JSON.stringify({ ...document, servers: undefined });

    const causes = new FaultCauses({ clock, log: options.log });
    const app = httpCore({
      ...{ log: options.log, causes },
      counts: new RequestCounts({ metrics, clock }),
      routes: groups.map((group) => group.app),
      ...(!roles.includes('api') && { answers: onEveryNode(groups) }),
    });
    const internal = httpCore({
      ...{ log: options.log, causes },
      routes: plan.flatMap(({ plugin }) => plugin.nodeRoutes?.(kits.get(plugin.id) as Kit) ?? []),
    });
    isReady = true;
    return {
      app,
      internal,
      tree,
      plugins: plan.map(({ plugin }) => plugin),
      document,
      deployment,
      nodes,
      takeOrder: orders.take,
      jobsRunning: () => workers.allRunning,
      peers: known,
      holds: held,
      setUnready: () => {
        isReady = false;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface BootOptions {
  readonly plugins: readonly ConfiguredPlugin[];
  readonly drivers: {
    readonly store: Store;
    /** How nodes speak to each other; absent where this process is the only one. */
    readonly bus?: Bus;
    readonly jobs: Jobs;
    readonly clock: Clock;
    readonly media: Media;
    readonly volatile: Volatile;
    readonly outbound: Outbound;
    readonly blobs: Blobs;
    readonly recorder: Recorder;
    readonly pusher: Pusher;
    readonly transcoder: Transcoder;
    readonly intake: Intake;
    /** Where this node has any. */
    readonly disks?: DiskWatch;
    readonly inspector: Inspector;
    readonly converter: Converter;
    readonly packer: Packer;
    readonly stills: Stills;
  };
  readonly deployment: Omit<Deployment, 'node' | 'isAlone'>;
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
  /** Engines beside the program that this node needs: name → a question that each answers when it can. */
  readonly engines?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Aborted when the program is to end while it starts. */
  readonly signal?: AbortSignal;
  readonly log: Log;
  /** Something happened after which the process must end. */
  onFatal(reason: string): void;
  /** For crash tests. */
  readonly probe?: HostOptions['probe'];
}

export interface Booted {
  readonly app: HttpCore;
  /** What other nodes alone are answered. */
  readonly internal: HttpCore;
  readonly tree: BootTree;
  /** In the order in which they were started. */
  readonly plugins: readonly Plugin[];
  /** What `/openapi.json` answers. */
  readonly document: OpenApi;
  readonly deployment: Deployment;
  readonly nodes: Nodes;
  /** An order that another node sent. */
  readonly takeOrder: OrderRunner['take'];
  /** Jobs that are being run; none after the stop, unless an effect ignored its signal. */
  jobsRunning(): number;
  /** The server that serves `app` tells it whose requests they are. */
  readonly peers: Peers;
  /** It also tells how the connection of a request is held. */
  readonly holds: Holds;
  /** `/health/ready` answers 503 from now on; everything else goes on. */
  setUnready(): void;
  /** Stops everything in reverse order. Harmless when repeated. */
  stop(): Promise<void>;
}

/** Whether a route is answered by nodes of every role. */
function onEveryNode(groups: readonly RouteGroup[]): (route: string) => boolean {
  const everywhere = declaredRoutes(groups).filter(({ operation }) => operation?.isOnEveryNode);
  const patterns = new Set(everywhere.map(({ pattern }) => pattern));
  return (route) => patterns.has(route);
}

function routesOf(plugin: Plugin, { culprit, kit }: { culprit: string; kit: Kit }): AnyElysia {
  try {
    return plugin.routes?.(kit) ?? new Elysia();
  } catch (error) {
    throw blame(`plugin ${culprit} could not declare its routes`, error);
  }
}

async function blamed<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw blame(what, error);
  }
}

/** The error with what could not be done before it. A Fault says itself what is wrong and what to do. */
function blame(what: string, error: unknown): unknown {
  if (error instanceof Fault) return error;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const blaming = new Error(`${what}: ${message}`, { cause: error });
  blaming.stack = `${blaming.message}\n${stack}`;
  return blaming;
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

function resourcesOf(options: {
  store: Store;
  clock: Clock;
  runtime: Pick<ActorRuntime, 'wrote' | 'certain'>;
  partitions: number;
}): Kit['resources'] {
  const { store, clock, runtime, partitions } = options;
  const { list, count } = store.resources;
  const get = store.resources.get.bind(store.resources);
  const find = store.resources.find.bind(store.resources);
  const looked = <T>(look: () => Promise<T | undefined>, at: { place?: RowPlace; name: string }) => {
    const { place = {}, name } = at;
    // Plain rows come from no log: those that were lost do not come again.
    return place.isPlain ? look() : runtime.certain(look, place.isBeside ? name : undefined);
  };
  return {
    get: async (kind, id, place) => looked(() => get(kind, id, place), { place, name: id }),
    find: async (kind, index, value, place) =>
      looked(() => find(kind, index, value, place), { place, name: value }),
    list: list.bind(store.resources),
    count: count.bind(store.resources),
    nameBeside: (id, draw) => nameBeside(id, { draw, partitions }),
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

async function within<T>(
  limit: number,
  options: { clock: Clock; what: string; work: () => Promise<T> },
): Promise<T> {
  const { clock, what } = options;
  let cancel: Stop = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.at(clock.now() + limit, () => {
      reject(new Fault('boot.slow', { status: 503, message: `${what} took longer than ${limit / 1000} s` }));
    });
  });
  try {
    return await Promise.race([options.work(), late]);
  } finally {
    cancel();
  }
}
