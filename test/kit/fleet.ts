import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { milliseconds } from '../../core/base/config-fields.ts';
import { jsonLog } from '../../core/base/log.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import type { Role } from '../../core/plugin/nodes.ts';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import type { Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { type Booted, boot } from '../../runtime/boot/boot.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { memoryVolatile } from '../../runtime/drivers/volatile/memory.ts';
import { nodeGate, nodeHeader } from '../../runtime/nodes/node-gate.ts';
import { scriptedConverter } from './scripted-converter.ts';
import { scriptedInspector, scriptedIntake } from './scripted-intake.ts';
import { type ScriptedMedia, scriptedMedia } from './scripted-media.ts';
import { scriptedOutbound } from './scripted-outbound.ts';
import { scriptedPacker } from './scripted-packer.ts';
import { type ScriptedPusher, scriptedPusher } from './scripted-pusher.ts';
import { type ScriptedRecorder, scriptedRecorder } from './scripted-recorder.ts';
import { scriptedStills } from './scripted-stills.ts';
import { scriptedTranscoder } from './scripted-transcoder.ts';
import { threadHere } from './thread-here.ts';
import { trackedStore } from './tracked-store.ts';
import { virtualClock } from './virtual-clock.ts';
import { bootstrapKey } from './world.ts';
import { worldBlobs } from './world-blobs.ts';

/**
 * Several nodes on one store in virtual time, for what plugins and nodes do with each other. The first node begun runs
 * all actors, reactions and jobs; the others reach them through it, as they would over a bus. Killing that one ends
 * the test's actors too.
 */
export async function fleet(options: FleetOptions): Promise<Fleet> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-fleet-'));
  const { store, idle } = trackedStore(sqliteStore({ file: ':memory:', thread: threadHere }));
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1), idle });
  const volatile = { ...memoryVolatile({ clock }) };
  const blobs = worldBlobs();
  const lines: string[] = [];
  const nodes = new Map<string, FleetNode>();
  const begun: FleetNode[] = [];
  let actors: Actors | undefined;
  let isBegun = false;
  const state = { isStoreDown: false, areActorsDown: false };
  const down = () => new Error('the store does not answer');
  const refusing = refusingWhile(store, () => state.isStoreDown, down);

  const start: Fleet['start'] = async (id, more = {}): Promise<FleetNode> => {
    const isFirst = !isBegun;
    isBegun = true;
    let isCut = false;
    let ended: string | undefined;
    const own = refusingWhile(refusing, () => isCut, down);
    const pusher = scriptedPusher(clock);
    const media = scriptedMedia(clock, pusher.follows);
    const recorder = scriptedRecorder();
    const unlessCut = <T>(call: () => Promise<T>) => (isCut ? Promise.reject(down()) : call());
    const ownVolatile: Volatile = {
      set: (...args) => unlessCut(() => volatile.set(...args)),
      get: (...args) => unlessCut(() => volatile.get(...args)),
      announce: (...args) => unlessCut(() => volatile.announce(...args)),
      listen: (topic, hear) => volatile.listen(topic, (message) => isCut || hear(message)),
      close: async () => {},
    };
    const reach: Actors = {
      spawn: (...args) => reached().spawn(...args),
      ask: (...args) => reached().ask(...args),
      read: (...args) => reached().read(...args),
    };
    const reached = () => {
      if (!actors || state.areActorsDown || isCut) throw new Error('the actors do not answer');
      return actors;
    };
    const plugins = options.plugins.map((plugin) => reaching(plugin, { actors: reach, isFirst }));
    const catcher: Plugin = {
      id: 'catcher',
      summary: 'tells the test of the actors',
      start(kit) {
        if (isFirst) actors = kit.actors;
        return undefined;
      },
    };
    const booted = await boot({
      plugins: [catcher, ...plugins].map((plugin) => ({ plugin, config: options.config?.[plugin.id] })),
      drivers: {
        store: isFirst ? own : onlooking(own),
        jobs: isFirst
          ? store.jobs
          : ({ ...store.jobs, claim: async () => [], next: async () => undefined } as never),
        ...{ clock, blobs, volatile: ownVolatile, outbound: scriptedOutbound() },
      },
      services: {
        converter: scriptedConverter,
        inspector: () => scriptedInspector(),
        intake: () => scriptedIntake(join(dataDir, id, 'uploads')),
        media: () => media,
        packer: () => scriptedPacker(blobs),
        pusher: () => pusher,
        recorder: () => recorder,
        stills: () => scriptedStills(() => clock.now()),
        transcoder: scriptedTranscoder,
      },
      deployment: {
        ...{ publicUrl: 'http://localhost:8080', dataDir: join(dataDir, id), rtmpPort: 1935 },
        bootstrapKey: more.bootstrapKey ?? (options.bootstrapKey === null ? undefined : bootstrapKey),
      },
      secretsKey: 'secrets-key-of-this-fleet',
      ...{ nodeId: id, nodeUrl: `http://${id}`, nodeTimeout: 10_000, isAlone: false },
      roles: more.roles ?? ['api', 'media', 'actors', 'worker'],
      ...(more.region !== undefined && { region: more.region }),
      ...(more.ingestUrl !== undefined && { ingestUrl: more.ingestUrl }),
      ...{ partitions: 16, hotActors: 1000 },
      log: jsonLog({ level: 'debug', now: () => clock.now(), write: (line) => lines.push(`${id} ${line}`) }),
      onFatal: (reason) => {
        ended ??= reason;
      },
      async askNode(url, path, { signal, headers, body, method = 'GET' }) {
        const other = nodes.get(url.slice('http://'.length));
        if (isCut || !other || other.isCut) throw new Error(`${url} does not answer`);
        const gone = new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
        const gate = nodeGate({ app: other.booted.internal, secret });
        const asked = new Request(`${url}${path}`, {
          method,
          headers: {
            ...headers,
            [nodeHeader]: secret,
            ...(body && { 'content-length': String(body.length) }),
          },
          signal,
          ...(body && { body: streamOf(body.chunks()), duplex: 'half' }),
        } as RequestInit);
        const answer = await Promise.race([gone, gate(asked)]);
        if (!answer) throw new Error(`${path} is no path between nodes`);
        return answer;
      },
      async sendOrder(order, { node }) {
        const other = nodes.get(node);
        if (!other || other.isCut) throw new Error(`${node} does not listen`);
        other.booted.takeOrder(order);
      },
    });
    const node: FleetNode = {
      ...{ id, booted, media, recorder, pusher, dataDir: join(dataDir, id) },
      get ended() {
        return ended;
      },
      get isCut() {
        return isCut;
      },
      cut: () => {
        isCut = true;
      },
      mend: () => {
        isCut = false;
      },
      async request(method, path, given = {}) {
        const headers = { authorization: `Bearer ${given.key ?? bootstrapKey}`, ...given.headers };
        const body = given.body === undefined ? {} : { body: JSON.stringify(given.body) };
        const answer = await booted.app.handle(
          new Request(`http://localhost:8080${path}`, { method, headers, ...body }),
        );
        const text = await answer.text();
        await clock.advance(0);
        return {
          status: answer.status,
          headers: answer.headers,
          body: text === '' ? undefined : JSON.parse(text),
        };
      },
    };
    nodes.set(id, node);
    begun.push(node);
    return node;
  };

  return {
    ...{ store, clock, volatile, lines, start, state },
    settle: () => clock.advance(0),
    advance: (duration) => clock.advance(milliseconds(duration)),
    async events() {
      const events = await store.events.after(0, { limit: 1000 });
      return events.filter(({ account }) => account !== '').map((event) => JSON.parse(event.body));
    },
    async [Symbol.asyncDispose]() {
      state.isStoreDown = false;
      state.areActorsDown = false;
      // The first one last: it has the actors.
      for (const node of begun.reverse()) {
        const stopped = node.booted.stop();
        await clock.advance(0);
        await clock.advance(10_000);
        await stopped;
      }
      await rm(dataDir, { recursive: true, force: true });
      const left = clock.pending();
      await store.close();
      if (left > 0) throw new Error(`${left} timers were left behind`);
    },
  };
}

const secret = 'secret-of-the-fleet';

export interface Fleet {
  readonly store: ReturnType<typeof sqliteStore>;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly volatile: { -readonly [K in keyof Volatile]: Volatile[K] };
  readonly lines: readonly string[];
  /** What does not answer, to whichever node. */
  readonly state: { isStoreDown: boolean; areActorsDown: boolean };
  start(id: string, options?: NodeOptions): Promise<FleetNode>;
  settle(): Promise<void>;
  advance(duration: string): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of all events
  events(): Promise<any[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface NodeOptions {
  readonly roles?: readonly Role[];
  readonly bootstrapKey?: string;
  readonly region?: string;
  readonly ingestUrl?: string;
}

export interface FleetNode {
  readonly id: string;
  readonly booted: Booted;
  readonly media: ScriptedMedia;
  readonly pusher: ScriptedPusher;
  readonly recorder: ScriptedRecorder;
  readonly dataDir: string;
  /** Why it had to end, if it had to. */
  readonly ended: string | undefined;
  readonly isCut: boolean;
  /** It reaches nothing and nobody reaches it. */
  cut(): void;
  mend(): void;
  request(
    method: string,
    path: string,
    options?: { body?: unknown; key?: string; headers?: Record<string, string> },
    // biome-ignore lint/suspicious/noExplicitAny: answers of all routes
  ): Promise<{ status: number; headers: Headers; body: any }>;
}

interface FleetOptions {
  readonly plugins: readonly Plugin[];
  readonly config?: Readonly<Record<string, unknown>>;
  /** Null: each is given none. */
  readonly bootstrapKey?: null;
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void iterator.return?.(),
    },
    { highWaterMark: 0 },
  );
}

/** Every call rejects for as long as it is so; closing works. */
function refusingWhile<S extends Store>(store: S, isSo: () => boolean, error: () => Error): S {
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object) as unknown;
        if (name === 'resources' || name === 'events') return wrap(value as object);
        if (typeof value !== 'function' || name === 'close') return value;
        return (...args: unknown[]) => (isSo() ? Promise.reject(error()) : value.apply(object, args));
      },
    });
  return wrap(store);
}

/** The store for a node that runs no actors: it owns no partition, and ends nothing when it closes. */
function onlooking(store: Store): Store {
  return new Proxy(store, {
    get(object, name) {
      if (name === 'acquire') return async () => [];
      if (name === 'timers' || name === 'orders') return async () => [];
      if (name === 'close') return async () => {};
      return Reflect.get(object, name, object);
    },
  });
}

/** The same plugin, with other actors in its kit; reactions are the first node's alone. */
function reaching(plugin: Plugin, { actors, isFirst }: { actors: Actors; isFirst: boolean }): Plugin {
  const kits = new WeakMap<Kit, Kit>();
  const of = (kit: Kit): Kit => {
    const own = kits.get(kit) ?? Object.create(kit, { actors: { value: actors } });
    kits.set(kit, own);
    return own;
  };
  const { start, routes, nodeRoutes, lostNode, orders, offers, reactions, ...rest } = plugin;
  const each = <T>(given: Readonly<Record<string, T>> | undefined, change: (one: T) => T) =>
    given && Object.fromEntries(Object.entries(given).map(([name, one]) => [name, change(one)]));
  return {
    ...rest,
    ...(start && { start: (kit: Kit) => start(of(kit)) }),
    ...(routes && { routes: (kit: Kit) => routes(of(kit)) }),
    ...(nodeRoutes && { nodeRoutes: (kit: Kit) => nodeRoutes(of(kit)) }),
    ...(lostNode && { lostNode: (lost, kit: Kit) => lostNode(lost, of(kit)) }),
    ...(offers && { offers: offers.map((one) => ({ ...one, make: (kit: Kit) => one.make(of(kit)) })) }),
    ...(orders && { orders: each(orders, (run) => (body, kit) => run(body, of(kit))) }),
    ...(reactions && isFirst && { reactions: each(reactions, (run) => (event, kit) => run(event, of(kit))) }),
  } as Plugin;
}
