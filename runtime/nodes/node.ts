import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { allRoles, type NodeInfo, type Role } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store, StoredResource } from '../../core/ports/store.ts';

/** What is stored of a node: which process has its id, and how that process does. */
export interface NodeRow {
  readonly incarnation: string;
  /** Epoch ms. Rows from before have none of the four that follow. */
  readonly aliveAt: number;
  readonly url?: string | undefined;
  readonly roles?: readonly Role[];
  readonly ingestUrl?: string | undefined;
  readonly region?: string | undefined;
  /** Last sign of life of the process before, until what that left behind has been seen to. */
  readonly former?: { readonly aliveAt: number };
  /** It was declared dead, or has stopped, at this time (epoch ms). It must write no more. */
  readonly lostAt?: number;
  /** Lost, and its broadcasts have been ended. */
  readonly isSettled?: true;
}

export const nodeKind = 'node';

export function nodeRowOf(stored: StoredResource): NodeRow {
  return JSON.parse(stored.body) as NodeRow;
}

export function infoOf(id: string, row: NodeRow): NodeInfo {
  const { incarnation, url, roles = allRoles, ingestUrl, region, aliveAt } = row;
  return { id, incarnation, url, roles, ingestUrl, region, aliveAt };
}

/** Writes a node's row; null removes it. False: it has changed since that revision. */
export async function writeNode(
  id: string,
  { row, createdAt, revision }: { row: NodeRow | null; createdAt: number; revision: number },
  { store, clock }: { store: Store; clock: Clock },
): Promise<boolean> {
  const body = row && JSON.stringify(row);
  const own = { kind: nodeKind, id, account: '', createdAt, name: id, body, indexes: {}, revision };
  return (await store.write({ at: clock.now(), rows: [own], events: [] })).outcome === 'ok';
}

/** Attempts to take a node id while another process writes the same row. */
const takeAttempts = 5;

/**
 * This process under a node id. One row per id says which process has it and when that was last alive. The process that
 * comes last has the id: a process that finds another's name in the row, or that it was declared dead, must end.
 */
export class NodePresence {
  /** When processes that had the id before were last known alive, epoch ms: the last one, and those before it. */
  former: { readonly incarnation: string; readonly last: number; readonly before: number } | undefined;
  readonly #options: PresenceOptions;
  readonly #incarnation = uuid();
  readonly #createdAt: number;
  #revision = 0;
  #isSettled = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#createdAt = options.clock.now();
  }

  get info(): NodeInfo {
    return infoOf(this.#options.id, this.#row());
  }

  /** Takes the id. Fault `node.taken` when others take it again and again meanwhile. */
  async take(): Promise<void> {
    const { id } = this.#options;
    for (let attempt = 0; attempt < takeAttempts; attempt += 1) {
      const stored = await this.#stored();
      this.#revision = stored?.revision ?? 0;
      if (stored) {
        // A process that died before it had seen to those before it hands on their last sign of life: windows count from that.
        const { incarnation, aliveAt, former } = nodeRowOf(stored);
        this.former = { incarnation, last: aliveAt, before: former?.aliveAt ?? aliveAt };
      }
      if (await this.#write(this.#row())) return;
    }
    const message = `Another process runs as node "${id}" on this data. Give each node an id of its own (node.id).`;
    throw new Fault('node.taken', { status: 503, message });
  }

  /** One sign of life. Resolves with the reason when this process must end: the row is not its own any more. */
  async beat(): Promise<string | undefined> {
    const { id } = this.#options;
    if (await this.#write(this.#row())) return undefined;
    const stored = await this.#stored();
    const found = stored && nodeRowOf(stored);
    if (found && found.incarnation !== this.#incarnation) {
      return `another process has started as node "${id}" on this data; each node needs an id of its own (node.id)`;
    }
    if (found && found.lostAt === undefined) {
      // A write may have happened of which no answer came.
      this.#revision = stored.revision;
      if (await this.#write(this.#row())) return undefined;
    }
    return `the others have declared this node "${id}" dead: it was not heard of for longer than node.timeout`;
  }

  /** What the processes before left behind has been seen to: the next beat says so. */
  settled(): void {
    this.#isSettled = true;
  }

  /** It ends now: others need not wait until it is silent. */
  async leave(): Promise<void> {
    await this.#write({ ...this.#row(), lostAt: this.#options.clock.now() });
  }

  #row(): NodeRow {
    const { url, roles, ingestUrl, region, clock } = this.#options;
    const { former } = this;
    return {
      ...{ incarnation: this.#incarnation, aliveAt: clock.now(), roles, url, ingestUrl, region },
      ...(!this.#isSettled && former && { former: { aliveAt: former.before } }),
    };
  }

  #stored(): Promise<StoredResource | undefined> | StoredResource | undefined {
    return this.#options.store.resources.get(nodeKind, this.#options.id);
  }

  async #write(row: NodeRow): Promise<boolean> {
    const place = { row, createdAt: this.#createdAt, revision: this.#revision };
    const isWritten = await writeNode(this.#options.id, place, this.#options);
    if (isWritten) this.#revision += 1;
    return isWritten;
  }
}

interface PresenceOptions {
  readonly id: string;
  readonly url: string | undefined;
  readonly roles: readonly Role[];
  readonly ingestUrl?: string | undefined;
  readonly region?: string | undefined;
  readonly store: Store;
  readonly clock: Clock;
}
