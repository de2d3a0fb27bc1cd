import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { AskNode, KnownNode, LostNode, NodeRequest, Nodes } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store, StoredResource } from '../../core/ports/store.ts';
import type { NodePresence } from './node.ts';
import { infoOf, type NodeRow, nodeKind, nodeRowOf, nodeWrite } from './node-row.ts';

/** Nodes that are watched, with those that died within the last day. */
const maxNodes = 1000;
/** How long a node that died is remembered, ms. */
const lostKept = 24 * 3_600_000;
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
export function knownNodes(options: KnownNodesOptions): RunningNodes {
  const { presence, store, clock, log, timeout, isAlone } = options;
  const { id: ownId, incarnation: own } = presence.info;
  const looksPerBeat = isAlone ? 1 : 2;
  const interval = Math.floor(timeout / 3 / looksPerBeat);
  let rounds = 0;
  const heard = new Map<string, Heard>();
  /** Since when this process has seen without a gap, and when it saw last. */
  let seesSince = clock.now();
  let sawAt = clock.now();
  let hasFailed = false;
  let isTold = false;
  let watches = false;
  /** Node ids whose loss is being announced, and incarnations that this process declared dead. */
  const telling = new Set<string>();
  const declared = new Set<string>();
  let cancel = () => {};
  let isStopped = false;

  const note = (stored: StoredResource): Heard => {
    const before = heard.get(stored.id);
    const isNews = before?.revision !== stored.revision;
    const { revision, createdAt } = stored;
    const now = { row: nodeRowOf(stored), revision, createdAt, at: isNews ? clock.now() : before.at };
    heard.set(stored.id, now);
    return now;
  };
  /** As of the last look: while the store cannot be read no node counts as silent. */
  const isSilent = ({ at }: Heard) => sawAt - Math.max(at, seesSince) > timeout;
  const known = (id: string, one: Heard): KnownNode => ({
    ...infoOf(id, one.row),
    isAlive: id === ownId ? one.row.incarnation === own : one.row.lostAt === undefined && !isSilent(one),
    heardAt: one.at,
  });
  const ownNode = (): KnownNode => ({ ...presence.info, isAlive: true, heardAt: clock.now() });
  const rows = () => store.resources.list(nodeKind, { limit: maxNodes });
  const read = async (id: string): Promise<Heard | undefined> => {
    const stored = await store.resources.get(nodeKind, id);
    return stored && note(stored);
  };

  const lostOf = (id: string, before?: NodePresence['former']): LostNode => ({
    id,
    async lastSigns() {
      const now = await store.resources.get(nodeKind, id);
      const row = now && nodeRowOf(now);
      return (incarnation) => {
        if (incarnation === own) return undefined;
        // Another process may have taken this node's own id since.
        if (row?.incarnation === incarnation) return row.lostAt === undefined ? undefined : row.aliveAt;
        if (before) return incarnation === before.incarnation ? before.last : before.before;
        // Former processes of this id are gone.
        return row?.former?.aliveAt ?? 0;
      };
    },
  });
  const tellFormer = async () => {
    if (isTold || telling.has(ownId)) return;
    telling.add(ownId);
    try {
      if (presence.former) await options.tell(lostOf(ownId, presence.former));
    } finally {
      telling.delete(ownId);
    }
    isTold = true;
    presence.settled();
  };
  /** False: the row is another by now. */
  const change = async (id: string, one: Heard, row: NodeRow | null): Promise<boolean> => {
    const { createdAt, revision } = one;
    const write = { at: clock.now(), rows: [nodeWrite(id, { row, createdAt, revision })], events: [] };
    return (await store.write(write)).outcome === 'ok';
  };
  const settle = async (id: string) => {
    if (telling.has(id)) return;
    telling.add(id);
    try {
      await options.tell(lostOf(id));
      const now = await read(id);
      if (now?.row.lostAt === undefined) return;
      if (await change(id, now, { ...now.row, isSettled: true })) declared.delete(now.row.incarnation);
    } finally {
      telling.delete(id);
    }
  };
  const see = async (id: string, one: Heard) => {
    const { lostAt, isSettled, incarnation, aliveAt } = one.row;
    if (lostAt === undefined) {
      if (!isSilent(one)) return;
      if (!(await change(id, one, { ...one.row, lostAt: clock.now() }))) return;
      log.warn('a node is dead; its broadcasts continue on other nodes', { node: id, incarnation, aliveAt });
      declared.add(incarnation);
      await settle(id);
    } else if (!isSettled) {
      // The node that declared it dead settles it, unless that one has died too; one that left by itself any node settles.
      if (declared.has(incarnation) || sawAt - one.at > timeout) await settle(id);
    } else if (clock.now() - lostAt > lostKept) await change(id, one, null);
  };

  const look = async () => {
    const found = await rows();
    for (const one of found) note(one);
    const there = new Set(found.map(({ id }) => id));
    for (const id of heard.keys()) if (!there.has(id)) heard.delete(id);
  };
  /** Seeing to one node must not keep this one from beating: it may take as long as the actors do not answer. */
  const watch = () => {
    const work: Promise<void>[] = [tellFormer()];
    if (options.declares) {
      for (const [id, one] of heard) if (id !== ownId) work.push(see(id, one));
    }
    for (const one of work) {
      one.catch((error: unknown) => log.warn('a lost node could not be settled; trying again', { error }));
    }
  };
  const round = async () => {
    rounds += 1;
    if (hasFailed || rounds % looksPerBeat === 0) {
      const end = await presence.beat();
      if (end !== undefined) {
        isStopped = true;
        return options.onEnd(end);
      }
    }
    if (isAlone) {
      hasFailed = false;
      return;
    }
    await look();
    // What it did not see for as long as two beats it does not hold against others.
    if (hasFailed || clock.now() - sawAt > (2 * timeout) / 3) seesSince = clock.now();
    hasFailed = false;
    sawAt = clock.now();
    if (watches) watch();
  };
  const schedule = () => {
    cancel = clock.at(clock.now() + interval, () => {
      round()
        .catch((error: unknown) => {
          // Once for each outage.
          if (!hasFailed)
            log.error('the heartbeat could not be written, or those of the other nodes not be read', {
              error,
            });
          hasFailed = true;
        })
        .finally(() => !isStopped && schedule());
    });
  };
  schedule();

  return {
    get own() {
      return presence.info;
    },
    async find(id) {
      if (id === ownId) return ownNode();
      if (isAlone) return undefined;
      const one = heard.get(id) ?? (await read(id));
      return one && known(id, one);
    },
    async list() {
      if (isAlone) return [ownNode()];
      if (heard.size === 0) await look();
      const all = [...heard].map(([id, one]) => known(id, one));
      return all.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    async request(id, path, given) {
      const node = await this.find(id);
      if (!node?.isAlive || node.url === undefined || !options.ask) throw unreachable(id);
      return inTime(options.ask, { node, path, given, clock });
    },
    async isGone({ node, incarnation }) {
      if (node === ownId) return incarnation !== own;
      const now = isAlone ? undefined : await read(node);
      return now?.row.incarnation !== incarnation || now.row.lostAt !== undefined;
    },
    tellFormer,
    watch() {
      watches = !isAlone;
      if (watches) watch();
    },
    async stop() {
      isStopped = true;
      cancel();
      if (isAlone) return;
      await presence
        .leave()
        .catch((error: unknown) => log.warn('the other nodes were not informed of the stop', { error }));
    },
  };
}

export interface RunningNodes extends Nodes {
  /** Whether a process has ended, or must. Faults `store.*`. */
  isGone(process: { node: string; incarnation: string }): Promise<boolean>;
  /** Tells those whom former processes of this node fed. */
  tellFormer(): Promise<void>;
  /** From now on the lost are seen to: by this node's own id on every node, all others by those that declare. */
  watch(): void;
  stop(): Promise<void>;
}

export interface KnownNodesOptions {
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

interface Heard {
  readonly row: NodeRow;
  readonly revision: number;
  readonly createdAt: number;
  /** When this process saw the row change, by its own clock. */
  readonly at: number;
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
