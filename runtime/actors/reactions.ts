import type { Log } from '../../core/base/log.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { type ReactionOrder, reactionOrders } from '../../core/plugin/parked-reaction.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { EventHub } from './events.ts';
import { Alarm } from './jobs/alarm.ts';
import { noteAfter, type ParkedReactions, parkAfter, parkAfterParked } from './parked-reactions.ts';
import type { ReactionWatch } from './reaction-watch.ts';

/** Events that a plugin reacts to before its place in the log is stored: a crash repeats at most so many. */
const batch = 100;
/** Streams of one plugin that wait for another try; at so many it reacts to no other event either. */
const mostHeld = 1000;
/** Wait before the log is read again after a failure, ms. */
const retryDelay = 1000;
/** A place in the log before its first event. */
const beforeAll = -1;

/**
 * Runs one plugin's reactions over the event log, each at least once: the plugin's place in the log is stored after a
 * batch of them, so a crash repeats the last ones. Events of one stream go in order, those of different streams side by
 * side, so that their commits share a sync. A reaction that fails holds up its stream alone, and is tried again until it
 * succeeds, or is parked after a day; the stored place stays before it. Returns the stop.
 */
export async function react(options: ReactOptions): Promise<() => Promise<void>> {
  const { store, plugin, parked } = options;
  const stored = await takePlace(options);
  // An engine that lost its last writes may have kept a place beyond the log's end, where other events come now.
  const position = Math.min(stored, (await store.events.last()) || beforeAll);
  const failing = await parked.load();
  const reader = new ReactionReader(options, { position, stored });
  for (const { event, failedAt: since, tries } of failing) {
    const isLogged = (await store.events.position(event.id)) !== undefined;
    reader.remember({ event, since, tries }, { isLogged });
  }
  options.watch.failing(plugin, { held: 0, parked: parked.count });
  const unsubscribe = options.hub.subscribe(() => reader.wake());
  reader.wake();
  return () => {
    unsubscribe();
    return reader.stop();
  };
}

/**
 * The place of a plugin in the event log. One that is new, or was switched on, gets its place here: it reacts to what happens from
 * now on. So this is called before a node is ready: the reactions may begin seconds later, on another node.
 */
export async function takePlace({ store, plugin }: Pick<ReactOptions, 'store' | 'plugin'>): Promise<number> {
  const consumer = `reactions/${plugin}`;
  const place = await store.events.cursor(consumer);
  if (place !== 0) return place;
  // Never stored as 0: the next start would take the plugin for new, and skip what came since.
  const first = (await store.events.last()) || beforeAll;
  await store.events.advance(consumer, first);
  return first;
}

class ReactionReader {
  readonly #options: ReactOptions;
  /** Of the last event that was read. */
  #position: number;
  /** The place as it is in the store. */
  #stored: number;
  /** By stream. */
  readonly #held = new Map<string, Held>();
  /** Streams of which a reaction was parked, and none has succeeded since. */
  readonly #hopeless = new Set<string>();
  /** Reactions that failed in a former process and were not tried by this one, by event. */
  readonly #former = new Map<string, Failing>();
  #isStopped = false;
  #running: Promise<void> | undefined;
  #isWanted = true;
  /** The log could not be read or the place not be stored: nothing is done before the next try. */
  #isBlocked = false;
  #isRetryDue = false;
  readonly #retries: Alarm;
  /** It is set for the streams that are held. */
  #isArmed = false;

  constructor(options: ReactOptions, { position, stored }: { position: number; stored: number }) {
    this.#options = options;
    this.#position = position;
    this.#stored = stored;
    this.#retries = new Alarm(options.clock, () => this.#retry());
  }

  /** A reaction that failed in a former process. `isLogged`: its event will be read from the log again. */
  remember(failing: Failing, { isLogged }: { isLogged: boolean }): void {
    const { event } = failing;
    if (isLogged) {
      this.#former.set(event.id, failing);
      return;
    }
    const { account, position } = event;
    this.#held.set(streamOf(event), { account, position, failing, dueAt: this.#options.clock.now() });
    this.#isRetryDue = true;
  }

  wake(): void {
    this.#isWanted = true;
    if (this.#running || this.#isBlocked || this.#isStopped) return;
    const { log, plugin } = this.#options;
    this.#running = this.#drain()
      .catch((error: unknown) => {
        if (this.#isStopped) return;
        this.#isBlocked = true;
        log.error('the event log could not be read; trying again', { plugin, error });
      })
      .then(() => {
        this.#running = undefined;
        if (this.#isStopped) return;
        if (this.#isBlocked || this.#held.size > 0) this.#retryLater();
        // An event may have come after the last look at the log.
        if (this.#isWanted) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retries.clear();
    await this.#running;
    this.#retries.clear();
    // Another node goes on with them.
    this.#options.watch.failing(this.#options.plugin, { held: 0, parked: 0 });
  }

  async #drain(): Promise<void> {
    const { events: log } = this.#options.store;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      if (this.#isRetryDue) {
        this.#isRetryDue = false;
        const now = this.#options.clock.now();
        const due = [...this.#held].filter(([, { dueAt }]) => dueAt <= now);
        // All of them, so that none is still under way when it is tried again.
        await sideBySide(due, ([stream, one]) => this.#resume(stream, one));
        if (this.#isStopped) return;
        await this.#storePlace();
      }
      while (this.#held.size < mostHeld && !this.#isRetryDue) {
        const events = await log.after(this.#position, { limit: batch });
        if (events.length === 0 || this.#isStopped) break;
        const free = [...byStream(events)].filter(([stream]) => !this.#held.has(stream));
        await Promise.all(free.map(([stream, own]) => this.#reactInOrder(stream, own)));
        if (this.#isStopped) return;
        this.#position = events[events.length - 1].position;
        await this.#storePlace();
      }
    }
  }

  /** Events of one stream. At one that fails the stream is held. */
  async #reactInOrder(stream: string, events: readonly LoggedEvent[]): Promise<void> {
    const { reactions, parked } = this.#options;
    for (const event of events) {
      if (this.#isStopped) return;
      const { [event.type]: own = reactions['*'] } = reactions;
      const order = isOrder(event) ? this.#carriedOut(event) : undefined;
      if ((!own && !order) || parked.isParked(event)) continue;
      try {
        await order;
        if (own) await this.#run(own, event);
        await parked.passed(event);
      } catch (error) {
        if (await this.#isParkedNow(stream, { event, error })) continue;
        return;
      }
      this.#hopeless.delete(stream);
    }
    this.#held.delete(stream);
  }

  async #run(reaction: Reaction, event: LoggedEvent): Promise<void> {
    const { plugin, watch } = this.#options;
    const ended = watch.began(plugin, event);
    try {
      await reaction(event);
    } finally {
      ended();
    }
  }

  /** Holds the stream of a reaction that failed, or parks that when it has failed for too long. */
  async #isParkedNow(
    stream: string,
    { event, error }: { event: LoggedEvent; error: unknown },
  ): Promise<boolean> {
    const { log, plugin, watch, parked, clock } = this.#options;
    const { id, account, position } = event;
    const now = clock.now();
    const last = this.#held.get(stream)?.failing;
    const before = last?.event.id === id ? last : this.#former.get(id);
    this.#former.delete(id);
    const since = before?.since ?? now;
    const tries = (before?.tries ?? 0) + 1;
    const dueAt = now + retryWait(now - since);
    this.#retries.setFor(dueAt);
    this.#held.set(stream, { account, position, failing: { event, since, tries }, dueAt });
    watch.failed(plugin);
    if (this.#isStopped) return false;
    // The first time and then ever more rarely: it may fail for a day.
    if ((tries & (tries - 1)) === 0)
      log.error('a reaction failed; trying again', { plugin, event: id, tries, error });
    const limit = this.#hopeless.has(stream) ? parkAfterParked : parkAfter;
    const failure = { event, since, tries, error };
    try {
      if (now - since >= limit && (await parked.park(failure))) {
        log.error('a reaction is parked: it failed for too long', { plugin, event: id, tries, error });
        this.#hopeless.add(stream);
        this.#held.set(stream, { account, position: position + 1, dueAt: now });
        return true;
      }
      if (now - since >= noteAfter) await parked.note(failure);
    } catch (reason) {
      log.warn('a reaction that fails could not be noted', { plugin, event: id, error: reason });
    }
    return false;
  }

  /** An operator decided what becomes of a parked reaction of this plugin. Throws when the store does not answer. */
  async #carriedOut(event: LoggedEvent): Promise<void> {
    const { plugin, parked, reactions, log } = this.#options;
    const order = JSON.parse(event.body) as ReactionOrder;
    if (order.plugin !== plugin) return;
    const reaction = event.type === reactionOrders.resume ? await parked.find(order.reaction) : undefined;
    if (!reaction) return parked.forget(order.reaction);
    const { [reaction.event.type]: own = reactions['*'] } = reactions;
    try {
      if (own) await this.#run(own, reaction.event);
    } catch (error) {
      log.error('a parked reaction failed again', { plugin, event: reaction.event.id, error });
      return parked.failedAgain(reaction, error);
    }
    log.info('a parked reaction has succeeded', { plugin, event: reaction.event.id });
    return parked.forget(reaction.id);
  }

  /** Goes on with a stream that is held, up to where the others are. */
  async #resume(stream: string, { account, position: from, failing }: Held): Promise<void> {
    let last = from - 1;
    if (failing) {
      // From memory: it may have failed for longer than the log keeps it.
      await this.#reactInOrder(stream, [failing.event]);
      if (this.#isStopped || this.#held.get(stream)?.failing) return;
      last = from;
      this.#held.set(stream, { account, position: last + 1, dueAt: this.#options.clock.now() });
    }
    while (last < this.#position) {
      const page = await this.#options.store.events.after(last, { account, limit: batch });
      const own = page.filter((event) => streamOf(event) === stream && event.position <= this.#position);
      await this.#reactInOrder(stream, own);
      if (this.#isStopped || this.#held.get(stream)?.failing) return;
      if (page.length < batch) break;
      last = page[page.length - 1].position;
      // Until it has caught up.
      this.#held.set(stream, { account, position: last + 1, dueAt: this.#options.clock.now() });
    }
    this.#held.delete(stream);
    this.#hopeless.delete(stream);
  }

  async #storePlace(): Promise<void> {
    const { store, plugin, watch, parked } = this.#options;
    watch.failing(plugin, { held: this.#held.size, parked: parked.count });
    const first = Math.min(this.#position + 1, ...[...this.#held.values()].map((one) => one.position));
    const place = first - 1 || beforeAll;
    if (place === this.#stored) return;
    await store.events.advance(`reactions/${plugin}`, place);
    this.#stored = place;
  }

  #retry(): void {
    this.#isArmed = false;
    this.#isBlocked = false;
    this.#isRetryDue = true;
    this.wake();
  }

  #retryLater(): void {
    if (this.#isBlocked) this.#retries.setFor(this.#options.clock.now() + retryDelay);
    // Those that fail anew have set it already.
    if (this.#isArmed) return;
    this.#isArmed = true;
    for (const { dueAt } of this.#held.values()) this.#retries.setFor(dueAt);
  }
}

/** A stream that waits. */
interface Held {
  readonly account: string;
  /** Of the first event that is not done. */
  readonly position: number;
  /** Undefined while the stream catches up with the others. */
  readonly failing?: Failing;
  /** When it is tried again, epoch ms. */
  readonly dueAt: number;
}

interface Failing {
  readonly event: LoggedEvent;
  /** When it failed first, epoch ms. */
  readonly since: number;
  readonly tries: number;
}

type Reaction = (event: LoggedEvent) => Promise<void>;

/** Wait before a reaction is tried again that has failed for `ms`: one that fails for hours need not be tried each second. */
function retryWait(ms: number): number {
  if (ms < 300_000) return 1000;
  return ms < 3_600_000 ? 10_000 : 60_000;
}

function isOrder({ type, account }: LoggedEvent): boolean {
  return account === '' && (type === reactionOrders.resume || type === reactionOrders.forget);
}

/** Events of one account and stream belong together, in their order. */
function byStream(events: readonly LoggedEvent[]): Map<string, LoggedEvent[]> {
  const streams = new Map<string, LoggedEvent[]>();
  for (const event of events) {
    const stream = streamOf(event);
    const before = streams.get(stream);
    if (before) before.push(event);
    else streams.set(stream, [event]);
  }
  return streams;
}

function streamOf({ account, stream }: LoggedEvent): string {
  return `${account} ${stream}`;
}

interface ReactOptions {
  readonly plugin: string;
  readonly reactions: Readonly<Record<string, Reaction>>;
  readonly store: Store;
  readonly hub: Pick<EventHub, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly watch: ReactionWatch;
  readonly parked: ParkedReactions;
}
