import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { AskNode, KnownNode, LostNode, NodeInfo, NodeRequest, Nodes } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store, StoredResource } from '../../core/ports/store.ts';
import { type Heard, LostNodes } from './lost-nodes.ts';
import { infoOf, type NodePresence, nodeKind, nodeRowOf } from './node.ts';

/** Nodes that are watched, with those that died within the last day. */
const maxNodes = 1000;
/** How long another node may take to answer, where nothing else is said, ms. */
const answerTimeout = 5000;

/**
 * The nodes of a deployment, as this process hears of them: it beats every third of `timeout` and looks at the rows of the
 * others twice as often. A row that does not change for longer is that of a dead node, counted by this process's own clock, and
 * only while its own beats and looks succeeded in time: after an outage of the store, or a standstill of this process,
 * every node has the whole `timeout` again.
 *
 * A node that watches declares the dead by a compare-and-set of their row, which they lose at their next beat, and has
 * `tell` tell everybody whom they fed, again and again until that succeeded.
 */
export class KnownNodes implements Nodes {
  readonly #options: KnownNodesOptions;
  readonly #ownId: string;
  readonly #incarnation: string;
  readonly #heard = new Map<string, Heard>();
  readonly #lost: LostNodes;
  #rounds = 0;
  /** Since when this process has seen without a gap, and when it saw last. */
  #seesSince: number;
  #sawAt: number;
  #hasFailed = false;
  #watches = false;
  #isStopped = false;
  #cancel = () => {};

  constructor(options: KnownNodesOptions) {
    this.#options = options;
    ({ id: this.#ownId, incarnation: this.#incarnation } = options.presence.info);
    this.#seesSince = this.#sawAt = options.clock.now();
    this.#lost = new LostNodes({ ...options, read: (id) => this.#read(id) });
    this.#schedule();
  }

  get own(): NodeInfo {
    return this.#options.presence.info;
  }

  async find(id: string): Promise<KnownNode | undefined> {
    if (id === this.#ownId) return this.#ownNode();
    if (this.#options.isAlone) return undefined;
    const one = this.#heard.get(id) ?? (await this.#read(id));
    return one && this.#known(id, one);
  }

  async list(): Promise<readonly KnownNode[]> {
    if (this.#options.isAlone) return [this.#ownNode()];
    if (this.#heard.size === 0) await this.#look();
    const all = [...this.#heard].map(([id, one]) => this.#known(id, one));
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async request(id: string, path: string, given: NodeRequest): Promise<Response> {
    const { ask, clock } = this.#options;
    const node = await this.find(id);
    if (!node?.isAlive || node.url === undefined || !ask) throw unreachable(id);
    return inTime(ask, { node, path, given, clock });
  }

  /** Whether a process has ended, or must. Faults `store.*`. */
  async isGone({ node, incarnation }: { node: string; incarnation: string }): Promise<boolean> {
    if (node === this.#ownId) return incarnation !== this.#incarnation;
    const now = this.#options.isAlone ? undefined : await this.#read(node);
    return now?.row.incarnation !== incarnation || now.row.lostAt !== undefined;
  }

  /** Tells those whom former processes of this node fed. */
  tellFormer(): Promise<void> {
    return this.#lost.tellFormer();
  }

  /** From now on the lost are seen to: by this node's own id on every node, all others by those that declare. */
  watch(): void {
    this.#watches = !this.#options.isAlone;
    if (this.#watches) this.#watch();
  }

  async stop(): Promise<void> {
    const { presence, isAlone, log } = this.#options;
    this.#isStopped = true;
    this.#cancel();
    if (isAlone) return;
    await presence
      .leave()
      .catch((error: unknown) => log.warn('the other nodes were not informed of the stop', { error }));
  }

  #schedule(): void {
    const { clock, log, timeout, isAlone } = this.#options;
    const interval = Math.floor(timeout / 3 / looksPerBeat(isAlone));
    this.#cancel = clock.at(clock.now() + interval, () => {
      this.#round()
        .catch((error: unknown) => {
          // Once for each outage.
          if (!this.#hasFailed)
            log.error('the heartbeat could not be written, or those of the other nodes not be read', {
              error,
            });
          this.#hasFailed = true;
        })
        .finally(() => !this.#isStopped && this.#schedule());
    });
  }

  async #round(): Promise<void> {
    const { presence, clock, timeout, isAlone, onEnd } = this.#options;
    this.#rounds += 1;
    if (this.#hasFailed || this.#rounds % looksPerBeat(isAlone) === 0) {
      const end = await presence.beat();
      if (end !== undefined) {
        this.#isStopped = true;
        return onEnd(end);
      }
    }
    if (isAlone) {
      this.#hasFailed = false;
      return;
    }
    await this.#look();
    // What it did not see for as long as two beats it does not hold against others.
    if (this.#hasFailed || clock.now() - this.#sawAt > (2 * timeout) / 3) this.#seesSince = clock.now();
    this.#hasFailed = false;
    this.#sawAt = clock.now();
    if (this.#watches) this.#watch();
  }

  async #look(): Promise<void> {
    const found = await this.#options.store.resources.list(nodeKind, { limit: maxNodes });
    for (const one of found) this.#note(one);
    const there = new Set(found.map(({ id }) => id));
    for (const id of this.#heard.keys()) if (!there.has(id)) this.#heard.delete(id);
  }

  /** Settling one node must not keep this one from beating: it may take as long as the actors do not answer. */
  #watch(): void {
    const { declares, log } = this.#options;
    const work: Promise<void>[] = [this.tellFormer()];
    if (declares) {
      for (const [id, one] of this.#heard) {
        if (id === this.#ownId) continue;
        const silence = {
          isSilent: this.#isSilent(one),
          isLong: this.#sawAt - one.at > this.#options.timeout,
        };
        work.push(this.#lost.see(id, one, silence));
      }
    }
    for (const one of work) {
      one.catch((error: unknown) => log.warn('a lost node could not be settled; trying again', { error }));
    }
  }

  async #read(id: string): Promise<Heard | undefined> {
    const stored = await this.#options.store.resources.get(nodeKind, id);
    return stored && this.#note(stored);
  }

  #note(stored: StoredResource): Heard {
    const before = this.#heard.get(stored.id);
    const { revision, createdAt } = stored;
    const at = before?.revision === revision ? before.at : this.#options.clock.now();
    const now = { row: nodeRowOf(stored), revision, createdAt, at };
    this.#heard.set(stored.id, now);
    return now;
  }

  /** As of the last look: while the store cannot be read no node counts as silent. */
  #isSilent({ at }: Heard): boolean {
    return this.#sawAt - Math.max(at, this.#seesSince) > this.#options.timeout;
  }

  #known(id: string, one: Heard): KnownNode {
    const { incarnation, lostAt } = one.row;
    const isAlive =
      id === this.#ownId ? incarnation === this.#incarnation : lostAt === undefined && !this.#isSilent(one);
    return { ...infoOf(id, one.row), isAlive, heardAt: one.at };
  }

  #ownNode(): KnownNode {
    const { presence, clock } = this.#options;
    return { ...presence.info, isAlive: true, heardAt: clock.now() };
  }
}

/** Others are looked at twice as often as this node beats. */
function looksPerBeat(isAlone: boolean): number {
  return isAlone ? 1 : 2;
}

interface KnownNodesOptions {
  readonly presence: NodePresence;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** ms */
  readonly timeout: number;
  readonly isAlone: boolean;
  /** Finds out who is dead, and says so. */
  readonly declares: boolean;
  readonly ask?: AskNode;
  tell(lost: LostNode): Promise<void>;
  /** This process must end. */
  onEnd(reason: string): void;
}

function unreachable(id: string, cause?: unknown): Fault {
  const message = `The node "${id}", which has the answer, cannot be reached. Try again.`;
  return new Fault('node.unreachable', { status: 503, message, retryAfter: 1, cause });
}

/** The head of the answer must come in time; its body goes on for as long as the caller wants it. */
async function inTime(
  ask: AskNode,
  options: { node: KnownNode; path: string; given: NodeRequest; clock: Clock },
): Promise<Response> {
  const { node, path, given, clock } = options;
  const { signal, headers, body, method = 'GET', timeout = answerTimeout } = given;
  const late = new AbortController();
  const cancel = timeout === 0 ? () => {} : clock.at(clock.now() + timeout, () => late.abort());
  try {
    const both = AbortSignal.any([signal, late.signal]);
    const more = { ...(headers && { headers }), ...(body && { body }) };
    return await ask(node.url ?? '', path, { signal: both, method, ...more });
  } catch (error) {
    throw unreachable(node.id, error);
  } finally {
    cancel();
  }
}
