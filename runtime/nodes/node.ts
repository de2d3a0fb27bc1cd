import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import type { NodeInfo, Role } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';
import { infoOf, type NodeRow, nodeKind, nodeRowOf, nodeWrite } from './node-row.ts';

/** Attempts to take a node id while another process writes the same row. */
const takeAttempts = 5;

/**
 * Takes a node id for this process. One row per id says which process has it and when that was last alive. The process that
 * comes last has the id: a process that finds another's name in the row, or that it was declared dead, must end. Fault
 * `node.taken` when others take the id again and again while this one tries.
 */
export async function nodePresence(options: PresenceOptions): Promise<NodePresence> {
  const { id, url, roles, ingestUrl, region, store, clock } = options;
  const incarnation = uuid();
  let isSettled = false;
  let former: NodePresence['former'];
  const createdAt = clock.now();
  let revision = 0;

  const row = (at: number): NodeRow => ({
    ...{ incarnation, aliveAt: at, roles },
    ...(url !== undefined && { url }),
    ...(ingestUrl !== undefined && { ingestUrl }),
    ...(region !== undefined && { region }),
    ...(!isSettled && former && { former: { aliveAt: former.before } }),
  });
  const write = async (next: NodeRow): Promise<boolean> => {
    const rows = [nodeWrite(id, { row: next, createdAt, revision })];
    const { outcome } = await store.write({ at: clock.now(), rows, events: [] });
    if (outcome === 'ok') revision += 1;
    return outcome === 'ok';
  };
  /** Whether the row is still this process's: a write may have happened of which no answer came. */
  const isOwn = async (): Promise<boolean> => {
    const stored = await store.resources.get(nodeKind, id);
    const found = stored && nodeRowOf(stored);
    if (!found || found.incarnation !== incarnation || found.lostAt !== undefined) return false;
    revision = stored.revision;
    return true;
  };
  const take = async (): Promise<boolean> => {
    const stored = await store.resources.get(nodeKind, id);
    const found = stored && nodeRowOf(stored);
    revision = stored?.revision ?? 0;
    former = found && formerOf(found);
    return write(row(clock.now()));
  };

  for (let attempt = 1; !(await take()); attempt += 1) {
    if (attempt < takeAttempts) continue;
    const message = `Another process runs as node "${id}" on this data. Give each node an id of its own (node.id).`;
    throw new Fault('node.taken', { status: 503, message });
  }
  const lost = async (): Promise<string> => {
    const stored = await store.resources.get(nodeKind, id);
    if (stored && nodeRowOf(stored).incarnation !== incarnation) {
      return `another process has started as node "${id}" on this data; each node needs an id of its own (node.id)`;
    }
    return `the others have declared this node "${id}" dead: it was not heard of for longer than node.timeout`;
  };

  return {
    get info() {
      return infoOf(id, row(clock.now()));
    },
    former,
    async beat() {
      if (await write(row(clock.now()))) return undefined;
      if ((await isOwn()) && (await write(row(clock.now())))) return undefined;
      return lost();
    },
    settled() {
      isSettled = true;
    },
    async leave() {
      await write({ ...row(clock.now()), lostAt: clock.now() });
    },
  };
}

export interface PresenceOptions {
  readonly id: string;
  readonly url: string | undefined;
  readonly roles: readonly Role[];
  readonly ingestUrl?: string | undefined;
  readonly region?: string | undefined;
  readonly store: Store;
  readonly clock: Clock;
}

export interface NodePresence {
  readonly info: NodeInfo;
  /** When processes that had the id before were last known alive, epoch ms: the last one, and those before it. */
  readonly former:
    | { readonly incarnation: string; readonly last: number; readonly before: number }
    | undefined;
  /** One sign of life. Resolves with the reason when this process must end: the row is not its own any more. */
  beat(): Promise<string | undefined>;
  /** What the processes before left behind has been seen to: the next beat says so. */
  settled(): void;
  /** It ends now: others need not wait until it is silent. */
  leave(): Promise<void>;
}

/** A process that died before it had seen to those before it hands on their last sign of life: windows count from that. */
function formerOf({ incarnation, aliveAt, former }: NodeRow): NonNullable<NodePresence['former']> {
  return { incarnation, last: aliveAt, before: former?.aliveAt ?? aliveAt };
}
