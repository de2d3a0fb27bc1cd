import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cidr } from '../../core/base/cidr.ts';
import { milliseconds } from '../../core/base/config-fields.ts';
import { jsonLog } from '../../core/base/log.ts';
import type { HttpCore } from '../../core/http/http.ts';
import type { DecisionSettings } from '../../core/plugin/decide.ts';
import type { Role } from '../../core/plugin/nodes.ts';
import type { AnyEffect, AnyPlugin, Plugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import type { Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { type Booted, boot } from '../../runtime/boot/boot.ts';
import { planned } from '../../runtime/boot/plan.ts';
import { blobsOfPlugin } from '../../runtime/boot/plugin-drivers.ts';
import type { AboutProgram } from '../../runtime/boot/program-facts.ts';
import { type SqliteStore, sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { memoryVolatile } from '../../runtime/drivers/volatile/memory.ts';
import type { OpenApi } from '../../runtime/http/openapi/document.ts';
import { memoryBroker } from './bus/broker.ts';
import { memoryBus } from './bus/memory-bus.ts';
import { documentedBy } from './documented.ts';
import { type ScriptedConverter, scriptedConverter } from './scripted-converter.ts';
import { type Films, type ScriptedIntake, scriptedInspector, scriptedIntake } from './scripted-intake.ts';
import { type ScriptedMedia, type ScriptedPublish, scriptedMedia } from './scripted-media.ts';
import { type ScriptedOutbound, scriptedOutbound } from './scripted-outbound.ts';
import { scriptedPacker } from './scripted-packer.ts';
import { type ScriptedPusher, scriptedPusher } from './scripted-pusher.ts';
import { type ScriptedRecorder, scriptedRecorder } from './scripted-recorder.ts';
import { type ScriptedStills, scriptedStills } from './scripted-stills.ts';
import { type ScriptedTranscoder, scriptedTranscoder } from './scripted-transcoder.ts';
import { threadHere } from './thread-here.ts';
import { trackedStore } from './tracked-store.ts';
import { virtualClock } from './virtual-clock.ts';
import { worldBlobs } from './world-blobs.ts';

/** `MILLRACE_WORLD=cluster`: the same tests on the runtime of several nodes, as one of them. */
const isClustered = process.env.MILLRACE_WORLD === 'cluster';
const partitions = 16;
export const bootstrapKey = 'test-bootstrap-key';
export const secretsKey = 'test-secrets-key-of-this-world';

/**
 * The whole program with virtual time, a real store and no sockets.
 * `await using w = await world({ plugins })`; disposing stops it and fails on what was left behind. Every answer is
 * checked against the program's own `/openapi.json`: a request with one that is not documented fails.
 */
export async function world(options: WorldOptions): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-world-'));
  const lines: string[] = [];
  let current: Running;
  // Outlives a crash, as an engine of its own.
  const broker = isClustered
    ? memoryBroker({ clock: { now: () => time.now(), at: (due, action) => time.at(due, action) } })
    : undefined;
  const kept = worldBlobs(() => time.now());
  const recorder = scriptedRecorder();
  const intake = scriptedIntake(join(dataDir, 'uploads'));
  let time: Clock;
  let running = options.plugins;

  const startOne = async (now: number): Promise<Running> => {
    const file = options.durable ? join(dataDir, 'world.db') : ':memory:';
    const inner = sqliteStore({ file, thread: threadHere });
    const { store, idle } = trackedStore(inner);
    const clock = virtualClock({ start: now, idle });
    time = clock;
    const pusher = scriptedPusher(clock);
    const transcoder = scriptedTranscoder();
    let rtmpApps: readonly string[] = [];
    const media = scriptedMedia(clock, pusher.follows, () => rtmpApps);
    const stills = scriptedStills(() => clock.now());
    const volatile = { ...memoryVolatile({ clock }) };
    const outbound = scriptedOutbound();
    const converter = scriptedConverter();
    const log = jsonLog({ level: 'debug', now: () => clock.now(), write: (line) => lines.push(line) });
    const bus = broker && memoryBus({ broker, node: 'local', partitions, clock, log });
    const plugins = running.map((plugin) => ({
      plugin: scripted(plugin, options.effects ?? {}),
      config: options.config?.[plugin.id],
    }));
    const { blobs: name } = options.drivers ?? {};
    const context = { clock, log, dataDir };
    const blobs = name === undefined ? kept : await blobsOfPlugin(name, { plan: planned(plugins), context });
    const booting = boot({
      plugins,
      drivers: {
        ...{
          store,
          jobs: options.jobs?.(store.jobs) ?? store.jobs,
          ...{ clock, blobs, outbound, volatile },
        },
        ...(bus && { bus }),
      },
      services: {
        converter: () => converter,
        inspector: () => scriptedInspector(options.films),
        intake: () => intake,
        media(declared) {
          ({ rtmpApps } = declared);
          return media;
        },
        packer: () => scriptedPacker(blobs),
        pusher: () => pusher,
        recorder: () => recorder,
        stills: () => stills,
        transcoder: () => transcoder,
      },
      deployment: { publicUrl: 'http://localhost:8080', dataDir, bootstrapKey, rtmpPort: 1935 },
      ...{ nodeId: 'local', secretsKey },
      ...(options.roles && { roles: options.roles }),
      ...(options.engines && { engines: options.engines }),
      ...(options.about && { about: options.about }),
      ...(options.decisions && { decisions: options.decisions }),
      // Nobody else is there to see it: a shorter one would be a thousand heartbeats an hour in every test.
      nodeTimeout: 600_000,
      partitions,
      hotActors: 1000,
      trustedProxies: (options.trustedProxies ?? []).flatMap((text) => cidr(text) ?? []),
      log,
      onFatal: (reason) => lines.push(`fatal: ${reason}`),
      ...(options.probe && { probe: options.probe }),
    });
    if (options.startTakes) await passTime(booting, { clock, duration: options.startTakes });
    const booted = await booting;
    // Documented is what nodes with the role `api` answer.
    if (options.roles?.includes('api') !== false) checkAnswers(booted, { ...options, plugins: running });
    const drivers = { blobs, media, pusher, transcoder, stills, converter, outbound, volatile };
    return { booted, clock, store, inner, ...drivers, idle };
  };
  current = await startOne(options.start ?? Date.UTC(2026, 0, 1));

  const settle = () => current.clock.advance(0);
  const request: World['request'] = async (method, path, given = {}) => {
    const headers = new Headers(given.headers);
    if (given.key !== null) headers.set('authorization', `Bearer ${given.key ?? bootstrapKey}`);
    const body = given.body === undefined ? {} : { body: JSON.stringify(given.body) };
    const asked = Object.assign(new Request(`http://localhost:8080${path}`, { method, headers, ...body }), {
      peer: given.peer ?? '127.0.0.1',
    });
    const answer = await current.booted.app.handle(asked);
    const text = await answer.text();
    await settle();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
  const stop = async () => {
    let isStopped = false;
    const stopped = current.booted.stop().finally(() => {
      isStopped = true;
    });
    await current.clock.advance(0);
    // What has a bounded time to end gets it: an effect that ignores its signal.
    if (!isStopped) await current.clock.advance(10_000);
    await stopped;
  };

  return {
    request,
    lines,
    get app() {
      return current.booted.app;
    },
    get document() {
      return current.booted.document();
    },
    get bootLines() {
      return current.booted.lines({});
    },
    get media() {
      return current.media;
    },
    get pusher() {
      return current.pusher;
    },
    get transcoder() {
      return current.transcoder;
    },
    get volatile() {
      return current.volatile;
    },
    get stills() {
      return current.stills;
    },
    recorder,
    intake,
    get blobs() {
      return current.blobs;
    },
    get converter() {
      return current.converter;
    },
    get outbound() {
      return current.outbound;
    },
    get store() {
      return current.store;
    },
    now: () => current.clock.now(),
    settle,
    advance: (duration) => current.clock.advance(milliseconds(duration)),
    async events() {
      const events = await current.store.events.after(0, { limit: 1000 });
      return events.filter(({ account }) => account !== '').map((event) => JSON.parse(event.body));
    },
    given: {
      async stream(body = {}) {
        const answer = await request('POST', '/api/stream', { body: { name: 'A stream', ...body } });
        if (answer.status !== 201) throw new Error(`no stream: ${JSON.stringify(answer.body)}`);
        return answer.body;
      },
      async broadcast(stream) {
        const publish = await current.media.publish(stream.streamKey);
        publish.playable();
        await settle();
        return publish;
      },
    },
    stop,
    async crash({ downFor, plugins = options.plugins }) {
      running = plugins;
      const at = current.clock.now() + milliseconds(downFor);
      // The process is gone: nothing of it is told to stop, nothing it had in memory is written.
      await current.inner.close();
      current = await startOne(at);
      await settle();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      const left = current.clock.pending();
      await rm(dataDir, { recursive: true, force: true });
      const running = current.booted.jobsRunning();
      if (running > 0) throw new Error(`${running} jobs were left running`);
      if (left > 0) throw new Error(`${left} timers were left behind`);
      if (current.media.isOpen) throw new Error('the media was left open');
      const isPushing = options.plugins.some(({ needs }) => needs?.includes(services.pusher));
      if (isPushing && !current.pusher.isClosed) throw new Error('the pusher was left open');
    },
  };
}

/** The check of the last world, for the next one with the same plugins and config: their document is the same. */
let last: { plugins: readonly Plugin[]; config: string; check: ReturnType<typeof documentedBy> } | undefined;

function checkOf({ document }: Booted, options: WorldOptions): ReturnType<typeof documentedBy> {
  const { plugins } = options;
  const config = JSON.stringify(options.config ?? {});
  const isSame =
    last?.config === config &&
    last.plugins.length === plugins.length &&
    last.plugins.every((plugin, index) => plugin === plugins[index]);
  if (!last || !isSame) last = { plugins, config, check: documentedBy(document()) };
  return last.check;
}

/** From now on a request fails when its answer is not as documented. */
function checkAnswers(booted: Booted, options: WorldOptions): void {
  const { app } = booted;
  const { fetch } = app;
  Object.defineProperty(app, 'fetch', {
    async value(request: Request) {
      const answer: Response = await fetch(request);
      const isJson = answer.headers.get('content-type')?.startsWith('application/json');
      const problems = await checkOf(booted, options)(
        { method: request.method, url: app.urlOf(request) },
        isJson ? answer.clone() : answer,
      );
      if (problems.length > 0) throw new Error(`not as in /openapi.json: ${problems.join('; ')}`);
      return answer;
    },
  });
}

export interface World {
  request(
    method: string,
    path: string,
    options?: { body?: unknown; key?: string | null; headers?: Record<string, string>; peer?: string },
    // biome-ignore lint/suspicious/noExplicitAny: answers of all routes
  ): Promise<{ status: number; headers: Headers; body: any }>;
  readonly app: HttpCore;
  /** What `/openapi.json` answers. */
  readonly document: OpenApi;
  /** The boot tree, a line per part. */
  readonly bootLines: readonly string[];
  /** For tests with sockets; `request` takes a `peer`. */
  readonly media: ScriptedMedia;
  readonly pusher: ScriptedPusher;
  readonly stills: ScriptedStills;
  readonly transcoder: ScriptedTranscoder;
  readonly recorder: ScriptedRecorder;
  readonly intake: ScriptedIntake;
  readonly blobs: Blobs;
  readonly converter: ScriptedConverter;
  /** Receivers of what the program sends out. */
  readonly outbound: ScriptedOutbound;
  readonly store: Store & { readonly jobs: Jobs; idle(): Promise<void> };
  /** A test may put its own functions in place of these. */
  readonly volatile: { -readonly [K in keyof Volatile]: Volatile[K] };
  /** Everything that was logged. */
  readonly lines: readonly string[];
  now(): number;
  /** Until nothing is left to do at this moment. */
  settle(): Promise<void>;
  advance(duration: string): Promise<void>;
  /** Bodies of all events so far that a client can hear of, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of all events
  events(): Promise<any[]>;
  readonly given: {
    // biome-ignore lint/suspicious/noExplicitAny: the stream object
    stream(body?: Record<string, unknown>): Promise<any>;
    /** On the air: published, and its playlist works. */
    broadcast(stream: { streamKey: string }): Promise<ScriptedPublish>;
  };
  /** Ends the process as SIGTERM does. Disposing does it too. */
  stop(): Promise<void>;
  /**
   * Ends the process without a word and starts another on the same data, `downFor` later, with other plugins where they are
   * given. Needs `durable`.
   */
  crash(options: { downFor: string; plugins?: readonly AnyPlugin[] }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface WorldOptions {
  readonly plugins: readonly AnyPlugin[];
  /** Plugin id → its config. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly start?: number;
  /** Time that passes while it starts, at most: for what hangs then. Default: none. */
  readonly startTakes?: string;
  /** Default: all. */
  readonly roles?: readonly Role[];
  readonly engines?: Readonly<Record<string, () => Promise<unknown>>>;
  /** What `/api/system` shows of the config. Default: nothing. */
  readonly about?: AboutProgram;
  /** As `decisions` in the config, with its `timeout` in ms. */
  readonly decisions?: DecisionSettings;
  /** Id of the plugin that brings the driver for blobs. Default: blobs in memory, which outlive a crash. */
  readonly drivers?: { readonly blobs?: string };
  /** In place of the store's own. */
  readonly jobs?: (own: Jobs) => Jobs;
  /** Address blocks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
  /** Data in a file, so that `crash` finds it again. */
  readonly durable?: boolean;
  readonly probe?: (point: 'before commit' | 'after commit' | 'before effects', actor: string) => void;
  /** What is in an uploaded film, by the text that was sent. Default, for each field: a film of 640x360 and 8 s with sound. */
  readonly films?: Films;
  /** Kind of job → what is done instead of what its plugin declares; see `scriptedEffect`. */
  readonly effects?: Readonly<Record<string, AnyEffect['run']>>;
}

/** Lets time pass until something is done. */
async function passTime(
  work: Promise<unknown>,
  { clock, duration }: { clock: ReturnType<typeof virtualClock>; duration: string },
): Promise<void> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  const until = clock.now() + milliseconds(duration);
  while (!isDone && clock.now() < until) await clock.advance(1000);
}

function scripted(plugin: Plugin, runs: Readonly<Record<string, AnyEffect['run']>>): Plugin {
  if (!plugin.effects) return plugin;
  const effects = Object.entries(plugin.effects).map(([kind, effect]) => [
    kind,
    Object.hasOwn(runs, kind) ? { ...effect, run: runs[kind] } : effect,
  ]);
  return { ...plugin, effects: Object.fromEntries(effects) as Plugin['effects'] };
}

interface Running {
  readonly booted: Booted;
  readonly blobs: Blobs;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly store: SqliteStore;
  readonly inner: SqliteStore;
  readonly media: ScriptedMedia;
  readonly pusher: ScriptedPusher;
  readonly stills: ScriptedStills;
  readonly transcoder: ScriptedTranscoder;
  readonly volatile: World['volatile'];
  readonly converter: ScriptedConverter;
  readonly outbound: ScriptedOutbound;
  readonly idle: () => Promise<void>;
}
