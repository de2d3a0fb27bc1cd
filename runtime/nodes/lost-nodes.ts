import type { Log } from '../../core/base/log.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';
import { type NodePresence, type NodeRow, nodeKind, nodeRowOf, writeNode } from './node.ts';

/** How long a node that died is remembered, ms. */
const lostKept = 24 * 3_600_000;

/** Declares nodes dead, has `tell` end what they had, and removes their rows a day later. */
export class LostNodes {
  readonly #options: LostNodesOptions;
  /** Node ids whose loss is being announced, and incarnations that this process declared dead. */
  readonly #telling = new Set<string>();
  readonly #declared = new Set<string>();
  #hasToldFormer = false;

  constructor(options: LostNodesOptions) {
    this.#options = options;
  }

  /** Announces the former processes of this node. */
  async tellFormer(): Promise<void> {
    const { presence } = this.#options;
    const { id } = presence.info;
    if (this.#hasToldFormer || this.#telling.has(id)) return;
    this.#telling.add(id);
    try {
      if (presence.former) await this.#options.tell(this.#lostNode(id, presence.former));
    } finally {
      this.#telling.delete(id);
    }
    this.#hasToldFormer = true;
    presence.settled();
  }

  /** `isSilent`: not heard of for `timeout` while the store could be read; `isLong`: whether it could or not. */
  async see(
    id: string,
    one: Heard,
    { isSilent, isLong }: { isSilent: boolean; isLong: boolean },
  ): Promise<void> {
    const { clock, log } = this.#options;
    const { lostAt, isSettled, incarnation, aliveAt } = one.row;
    if (lostAt === undefined) {
      if (!isSilent) return;
      if (!(await this.#change(id, one, { ...one.row, lostAt: clock.now() }))) return;
      log.warn('a node is dead; its broadcasts continue on other nodes', { node: id, incarnation, aliveAt });
      this.#declared.add(incarnation);
      await this.#settle(id);
    } else if (!isSettled) {
      // The node that declared it dead settles it, unless that one has died too; one that left by itself any node settles.
      if (this.#declared.has(incarnation) || isLong) await this.#settle(id);
    } else if (clock.now() - lostAt > lostKept) await this.#change(id, one, null);
  }

  async #settle(id: string): Promise<void> {
    if (this.#telling.has(id)) return;
    this.#telling.add(id);
    try {
      await this.#options.tell(this.#lostNode(id));
      const now = await this.#options.read(id);
      if (now?.row.lostAt === undefined) return;
      if (await this.#change(id, now, { ...now.row, isSettled: true }))
        this.#declared.delete(now.row.incarnation);
    } finally {
      this.#telling.delete(id);
    }
  }

  #change(id: string, { createdAt, revision }: Heard, row: NodeRow | null): Promise<boolean> {
    return writeNode(id, { row, createdAt, revision }, this.#options);
  }

  #lostNode(id: string, before?: NodePresence['former']): LostNode {
    const { store, presence } = this.#options;
    return {
      id,
      async lastSigns() {
        const now = await store.resources.get(nodeKind, id);
        const row = now && nodeRowOf(now);
        return (incarnation) => {
          if (incarnation === presence.info.incarnation) return undefined;
          // Another process may have taken this node's own id since.
          if (row?.incarnation === incarnation) return row.lostAt === undefined ? undefined : row.aliveAt;
          if (before) return incarnation === before.incarnation ? before.last : before.before;
          // Former processes of this id are gone.
          return row?.former?.aliveAt ?? 0;
        };
      },
    };
  }
}

interface LostNodesOptions {
  readonly presence: NodePresence;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  tell(lost: LostNode): Promise<void>;
  /** The row of a node as it is now. */
  read(id: string): Promise<Heard | undefined>;
}

/** The row of a node, and when it changed last. */
export interface Heard {
  readonly row: NodeRow;
  readonly revision: number;
  readonly createdAt: number;
  /** When this process saw the row change, by its own clock. */
  readonly at: number;
}
