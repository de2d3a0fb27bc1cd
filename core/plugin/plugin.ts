import type { Static, TObject } from '@sinclair/typebox';
import type { AnyElysia } from 'elysia';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Caller } from '../http/caller.ts';
import type { ErrorFormat } from '../http/error-format.ts';
import type { OwnRequest } from '../http/own-request.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { LoggedEvent, ResourceCommit, ResourceReader } from '../ports/store.ts';
import type { Actors, ActorType } from './actor.ts';
import type { Decide, Deciders } from './decide.ts';
import type { PortDrivers } from './driver.ts';
import type { Effect } from './effect.ts';
import type { EventDeclaration, Events } from './events.ts';
import type { MediaSubscriber, PublishedBroadcast } from './media.ts';
import type { LostNode, Nodes } from './nodes.ts';
import type { Derivation, DerivationSet, Field, FieldSet, ResourceKind } from './resource.ts';
import type { Collection, Offer, Token } from './token.ts';

/**
 * Version of what a plugin declares and is given. Grows with each change that a plugin written before would not
 * survive; the start refuses a plugin of another version.
 */
export const contractVersion = 3;

/**
 * A feature, as data: importing and defining it does no I/O. Boot reads the declarations of all enabled
 * plugins, reports every problem at once, and starts them in the order of their `needs`.
 */
export interface Plugin<C extends TObject = TObject> {
  /** Kebab-case; the key of its slice of config. */
  readonly id: string;
  /** One sentence, shown in the boot tree. */
  readonly summary: string;
  /** The `contractVersion` it was written for. Plugins that do not ship with the program must say it. */
  readonly contract?: number;
  /**
   * The program does not start without it. Otherwise a plugin that cannot be started is off, and the rest goes on: name it
   * where that would be worse, as with one that keeps strangers out.
   */
  readonly isEssential?: true;
  /** Schema of its slice of config. `{}` must be valid: every key has a default. */
  readonly config?: C;
  /** What a schema cannot say of its config: problems of keys that do not go together, each beginning with the key. */
  readonly contradictions?: (config: Static<C>) => readonly string[];
  /** Tokens of other plugins that it uses. */
  readonly needs?: readonly Token<unknown>[];
  /** Tokens that its `start` provides. */
  readonly provides?: readonly Token<unknown>[];
  /** Resources of its own that others may extend. */
  readonly resources?: readonly ResourceKind[];
  /** Fields that it adds to resources of other plugins. */
  readonly extends?: readonly Field<unknown, Kit<C>>[];
  /** Fields that it tells of resources of other plugins when they are shown. */
  readonly derives?: readonly Derivation<Kit<C>>[];
  /** What it offers to other plugins' collections, whether anybody asks or not. */
  readonly offers?: readonly Offer<Kit<C>>[];
  // biome-ignore lint/suspicious/noExplicitAny: the machines of one plugin have different types
  readonly actors?: readonly ActorType<any, StepKit<C>>[];
  /**
   * Events that it emits, with one sentence each, or more. Names of a plugin that does not ship with the program begin with
   * its id: `acme-views.milestone`.
   */
  readonly emits?: Readonly<Record<string, EventDeclaration>>;
  /**
   * Orders that its machines emit (`order.*`), and how a node carries them out. Must be harmless twice. One that names a
   * `node` and its `incarnation` is for that process alone, and is dropped when it has ended; others are carried out
   * by whoever runs the step.
   */
  readonly orders?: Readonly<Record<string, (body: never, kit: Kit<C>) => void>>;
  /** Work outside its machines, by the name that they invoke it by; done by jobs, at least once. */
  // biome-ignore lint/suspicious/noExplicitAny: the effects of one plugin have different types
  readonly effects?: Readonly<Record<string, Effect<any, any, C, Kit<C>>>>;
  /** Fault codes that its routes answer with: code → status and meaning. */
  readonly faults?: FaultTable;
  /**
   * What it does when an event has happened, `*` for every event without a reaction of its own; at least once, after the
   * commit. Events of one stream come in order, those of different streams side by side. One that fails is tried again each
   * second, and the events of its stream wait for it.
   */
  readonly reactions?: Readonly<Record<string, (event: LoggedEvent, kit: Kit<C>) => Promise<void>>>;
  /** What it is asked before it happens: broadcasts, playback, uploads, exports, webhook deliveries. It may refuse. */
  readonly decides?: Deciders<Kit<C>>;
  /**
   * What it does when processes of a node are gone, its own former ones among them: tells whoever they fed. Repeated until
   * it succeeds, so it must be harmless twice. May be called before `start`.
   */
  readonly lostNode?: (lost: LostNode, kit: Kit<C>) => Promise<void>;
  /**
   * What one node with the role `actors` does at a time, by name; another begins it when that node is gone. For a moment two
   * may have it, so that must do no harm. Each returns its stop.
   */
  readonly duties?: Readonly<Record<string, (kit: Kit<C>) => Stop>>;
  /**
   * Asked on the node that receives a publish, when it begins: what the plugin wants of it. Returns at once
   * (`core/plugin/media.ts`). Undefined: nothing, and then it may add nothing later. May be called before `start`: encoders come back as soon as the node takes them.
   */
  readonly media?: (broadcast: PublishedBroadcast, kit: Kit<C>) => MediaSubscriber | undefined;
  /** Drivers that it brings, for the config to choose. */
  readonly drivers?: PortDrivers<C>;
  readonly routes?: (kit: Kit<C>) => AnyElysia;
  /** How errors of its routes are written, for a plugin that speaks another API. Default: as everywhere. */
  readonly errors?: ErrorFormat<Static<C>>;
  /**
   * Host names and the paths that they stand for: with `{ 'stream.example.com': '/mux/stream' }` a request for `/x` at that host is
   * answered as one for `/mux/stream/x`. `caller.baseUrl` is `publicUrl` there.
   */
  readonly hosts?: (config: Static<C>) => Readonly<Record<string, string>>;
  /** RTMP applications that encoders may name beside `live`: `app` stands for `rtmp://<host>/app/<streamKey>`. */
  readonly rtmpApps?: (config: Static<C>) => readonly string[];
  /** Routes below `/internal/`, for other nodes alone: what `kit.nodes.request` asks. Nobody else gets there. */
  readonly nodeRoutes?: (kit: Kit<C>) => AnyElysia;
  /** Starts it; returns its stop. What it provides is provided before this resolves. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a start that has nothing to stop needs no `return`
  readonly start?: (kit: Kit<C>) => Promise<Stop | undefined | void> | Stop | undefined | void;
}

/** A plugin with a config of its own, whatever that is. */
// biome-ignore lint/suspicious/noExplicitAny: its functions take that config, so no common type of it exists
export type AnyPlugin = Plugin<any>;

export type Stop = () => Promise<void> | void;
export type FaultTable = Readonly<Record<string, { readonly status: number; readonly meaning: string }>>;

/** All that a plugin is given. Nothing is global. */
export interface Kit<C extends TObject = TObject> {
  readonly config: Static<C>;
  readonly log: Log;
  readonly clock: Clock;
  readonly actors: Actors;
  readonly resources: Resources;
  /** Events of all plugins, and the way to write one of its own without an actor. */
  readonly events: Events;
  /** How errors of its routes are written, if the plugin declares a form of its own. */
  readonly errors?: Pick<ErrorFormat, 'answer'>;
  readonly blobs: Blobs;
  /** The only way to call an address that a user chose. */
  readonly outbound: Outbound;
  /** Counts what is of use to an operator; no label may hold an id. */
  readonly metrics: Metrics;
  /** Aborted when the program begins to stop. */
  readonly signal: AbortSignal;
  readonly deployment: Deployment;
  /** Asks the deciders of all plugins, for a plugin that serves or takes something itself: `await kit.decide.play?.({ … })`. */
  readonly decide: Decide;
  /** The client of a request: its address, and what the URLs in its answer begin with. */
  caller(request: Request): Caller;
  /**
   * Asks a route of this program, for the client of a request that is being answered: `kit.fetch('/api/stream', { from: request })`.
   * The route checks, counts and limits the client's key as always. What answers such a request makes no further ones.
   */
  fetch(path: string, options: OwnRequest): Promise<Response>;
  /** What a token stands for: a service of the runtime, or what another plugin provides. Throws unless it is in the plugin's `needs`. */
  use<T>(token: Token<T>): T;
  /** Gives what one of the plugin's `provides` stands for. */
  provide<T>(token: Token<T>, value: T): void;
  /** What the enabled plugins offer to a collection, in the order in which they start. */
  offered<T>(to: Collection<T>): readonly T[];
  /** Whether a plugin that would offer to a collection failed at the start: what is missing there may come with the next one. */
  lacks(to: Collection<unknown>): boolean;
}

/** The JSON documents of the platform. */
export interface Resources extends ResourceReader {
  /** Writes rows that no actor owns. `conflict`: one of them was changed since it was read. */
  write(commit: Omit<ResourceCommit, 'at'>): Promise<'ok' | 'conflict'>;
  /** The fields that enabled plugins add to a resource. */
  fields(kind: ResourceKind): FieldSet;
  /** The derived fields that enabled plugins show with a resource. */
  derived(kind: ResourceKind): DerivationSet;
}

/**
 * What a step may know beside its state and its event: what is the same on every node and in every repeat. It has no clock, no
 * memory and no stored values, so that a step that is repeated elsewhere decides the same.
 */
export interface StepKit<C extends TObject = TObject> extends Pick<Deployment, 'publicUrl'> {
  readonly config: Static<C>;
  fields(kind: ResourceKind): FieldSet;
}

/** What is the same for all plugins of a running program. */
export interface Deployment {
  /**
   * What URLs begin with where there is no request: in events, webhooks and tasks. Without a trailing slash. Answers take
   * `kit.caller(request).baseUrl`.
   */
  readonly publicUrl: string;
  readonly dataDir: string;
  /** Given in config, or undefined: then the accounts plugin makes one at the first start. */
  readonly bootstrapKey: string | undefined;
  readonly rtmpPort: number;
  readonly node: NodeIdentity;
  /** All nodes, this one among them. */
  readonly nodes: Nodes;
  /**
   * This process is the only one that ever writes to the data. Otherwise other nodes change rows without its knowledge:
   * what it remembers of them may be wrong.
   */
  readonly isAlone: boolean;
}

export interface NodeIdentity {
  readonly id: string;
  /** New with each process. */
  readonly incarnation: string;
}

/** Declares an effect: `effects: { 'webhook.attempt': effect<Input, Output, typeof config>({ … }) }`. */
export function effect<Input, Output, C extends TObject = TObject>(
  declared: Effect<Input, Output, C, Kit<C>>,
): Effect<Input, Output, C, Kit<C>> {
  return declared;
}

/** What a plugin says of one effect, whatever its input. */
export type AnyEffect = NonNullable<Plugin['effects']>[string];

export function definePlugin<C extends TObject>(plugin: Plugin<C>): Plugin<C> {
  return plugin;
}
