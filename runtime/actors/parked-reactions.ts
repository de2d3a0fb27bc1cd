import { derivedId } from '../../core/base/ids.ts';
import { withoutSecrets } from '../../core/base/secrets.ts';
import { deletedRow } from '../../core/plugin/deleted-row.ts';
import {
  parkedReactionKind as kind,
  type ParkedReaction,
  reactionParked,
} from '../../core/plugin/parked-reaction.ts';
import type { Resources } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { EventWrite, LoggedEvent, ResourceReader } from '../../core/ports/store.ts';

/** How long a reaction fails before it is parked, ms. */
export const parkAfter = 24 * 3_600_000;
/**
 * The same where one of its stream was parked and none has succeeded since: what waited behind that is about to be forgotten
 * by the log.
 */
export const parkAfterParked = 60_000;
/** How long a reaction fails before it is noted in the store, ms: an outage that is over soon is not worth a write. */
export const noteAfter = 60_000;
/** Parked reactions of one plugin. Further ones are tried for as long as the log has their events. */
const mostParked = 10_000;
/** Characters of an error that are kept. */
const maxError = 1000;
const page = 500;

/** The reactions of one plugin that fail for long: as rows, so that the next process knows them. */
export class ParkedReactions {
  readonly #options: ParkedReactionsOptions;
  /** Id of the row → id of the event, of those that are parked. */
  readonly #parked = new Map<string, string>();
  readonly #parkedEvents = new Set<string>();
  /** Event id → revision of its row, of those that are tried again. */
  readonly #noted = new Map<string, number>();

  constructor(options: ParkedReactionsOptions) {
    this.#options = options;
  }

  /** Reads what is stored. Returns the reactions that are to be tried again. */
  async load(): Promise<ParkedReaction[]> {
    const { resources, plugin } = this.#options;
    const failing: ParkedReaction[] = [];
    for await (const rows of rowPages(kind, { resources, page, where: { plugin } })) {
      for (const { body, revision } of rows) {
        const reaction = JSON.parse(body) as ParkedReaction;
        if (reaction.status === 'parked') this.#note(reaction);
        else {
          this.#noted.set(reaction.event.id, revision);
          failing.push(reaction);
        }
      }
    }
    return failing;
  }

  get count(): number {
    return this.#parked.size;
  }

  isParked(event: LoggedEvent): boolean {
    return this.#parkedEvents.has(event.id);
  }

  isNoted(event: LoggedEvent): boolean {
    return this.#noted.has(event.id);
  }

  /** Stores that it fails, so that the time counts on in the next process. */
  async note(failure: ReactionFailure): Promise<void> {
    const { id } = failure.event;
    if (this.#noted.has(id)) return;
    await this.#write({ ...this.#reaction(failure), status: 'failing' }, { revision: 0 });
    this.#noted.set(id, 1);
  }

  /** Parks it: from now on the events of its stream go on without it. False: too many are parked. */
  async park(failure: ReactionFailure): Promise<boolean> {
    if (this.#parked.size >= mostParked) return false;
    const { clock } = this.#options;
    const revision = this.#noted.get(failure.event.id) ?? 0;
    const parkedAt = clock.now();
    const reaction = { ...this.#reaction(failure), status: 'parked' as const, parkedAt };
    await this.#write(reaction, { revision, event: await this.#event(reaction) });
    this.#noted.delete(failure.event.id);
    this.#note(reaction);
    return true;
  }

  /** It has succeeded after all. */
  async passed(event: LoggedEvent): Promise<void> {
    if (!this.#noted.has(event.id)) return;
    await this.#remove(this.#id(event));
    this.#noted.delete(event.id);
  }

  /** A parked one, to be tried again. Undefined: it is not parked any more. */
  async find(id: string): Promise<ParkedReaction | undefined> {
    const row = await this.#options.resources.get(kind, id);
    const reaction = row && (JSON.parse(row.body) as ParkedReaction);
    return reaction?.status === 'parked' && reaction.plugin === this.#options.plugin ? reaction : undefined;
  }

  /** It was tried again, and failed. */
  async failedAgain(reaction: ParkedReaction, error: unknown): Promise<void> {
    const row = await this.#options.resources.get(kind, reaction.id);
    if (!row) return;
    const tries = reaction.tries + 1;
    await this.#write({ ...reaction, tries, error: textOf(error) }, { revision: row.revision });
  }

  /** It is not parked any more: it succeeded, or somebody gave it up. */
  async forget(id: string): Promise<void> {
    await this.#remove(id);
    const event = this.#parked.get(id);
    this.#parked.delete(id);
    if (event !== undefined) this.#parkedEvents.delete(event);
  }

  #id(event: LoggedEvent): string {
    return derivedId(`reaction ${this.#options.plugin} ${event.id}`);
  }

  #note({ id, event }: ParkedReaction): void {
    this.#parked.set(id, event.id);
    this.#parkedEvents.add(event.id);
  }

  #reaction({ event, since, tries, error }: ReactionFailure): Omit<ParkedReaction, 'status'> {
    const { plugin } = this.#options;
    return { id: this.#id(event), plugin, event, failedAt: since, tries, error: textOf(error) };
  }

  async #event({ id, plugin, event, tries, failedAt, error }: ParkedReaction): Promise<EventWrite> {
    const { clock, operator } = this.#options;
    const at = clock.now();
    const eventId = `${id}/${reactionParked}`;
    const of = { id: event.id, type: event.type };
    const payload = { reaction: { id, plugin, event: of, failedAt, tries, error } };
    const body = { id: eventId, createdAt: at, timestamp: at, event: reactionParked, payload };
    const account = await operator();
    return { id: eventId, type: reactionParked, account, stream: '', body: JSON.stringify(body) };
  }

  /** Another node may have had the reactions of this plugin for a moment: what it wrote is read and written over. */
  async #write(
    reaction: ParkedReaction,
    { revision, event }: { revision: number; event?: EventWrite },
  ): Promise<void> {
    const { resources, write } = this.#options;
    const { id, plugin, status, failedAt } = reaction;
    const row = {
      ...{ kind, id, account: '', createdAt: failedAt, name: plugin, indexes: { plugin, status } },
      body: JSON.stringify(reaction),
    };
    const events = event ? [event] : [];
    if ((await write({ rows: [{ ...row, revision }], events })) === 'ok') return;
    const stored = await resources.get(kind, id);
    // An earlier write, of which nobody knew whether it was done.
    if (stored && (JSON.parse(stored.body) as ParkedReaction).status === 'parked' && event) return;
    const again = { ...row, revision: stored?.revision ?? 0 };
    if ((await write({ rows: [again], events })) !== 'ok')
      throw new Error(`reaction ${id} was changed meanwhile`);
  }

  async #remove(id: string): Promise<void> {
    const { resources, write } = this.#options;
    const row = await resources.get(kind, id);
    if (!row) return;
    await write({ rows: [deletedRow(kind, row)], events: [] });
  }
}

/** A reaction that failed. */
export interface ReactionFailure {
  readonly event: LoggedEvent;
  /** When it failed first, epoch ms. */
  readonly since: number;
  readonly tries: number;
  readonly error: unknown;
}

interface ParkedReactionsOptions {
  readonly plugin: string;
  readonly resources: ResourceReader;
  readonly write: Resources['write'];
  readonly clock: Clock;
  /** Account that is told when one is parked. */
  operator(): Promise<string>;
}

/** Never throws. */
function textOf(error: unknown): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    // Cut last: half of a secret is not recognised.
    return withoutSecrets(text).slice(0, maxError);
  } catch {
    return 'the thrown value has no text';
  }
}
