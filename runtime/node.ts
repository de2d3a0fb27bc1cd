import { Fault } from '../core/fault.ts';
import { uuid } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import type { NodeIdentity } from '../core/plugin.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Store } from '../core/ports/store.ts';

/**
 * Who this process is. One row per node id says which process has it and when it was last alive; the row is
 * written at the start and every third of `timeout`. Until `settled`, the row also keeps the last sign of life of
 * the process before: whoever follows one that died while it started must count from that.
 */
export async function nodePresence(options: {
  id: string;
  /** A node whose row is older than this many ms is dead. */
  timeout: number;
  store: Store;
  clock: Clock;
  log: Log;
}): Promise<NodePresence> {
  const { id, store, clock } = options;
  const incarnation = uuid();
  const stored = await store.resources.get('node', id);
  const before = stored && (JSON.parse(stored.body) as NodeRow);
  const former = before && (before.former ?? { aliveAt: before.aliveAt });
  let revision = stored?.revision ?? 0;
  let isSettled = false;

  const write = async () => {
    const at = clock.now();
    const state: NodeRow = { incarnation, aliveAt: at, ...(!isSettled && former && { former }) };
    const body = JSON.stringify(state);
    const row = { kind: 'node', id, account: '', createdAt: at, name: id, body, indexes: {}, revision };
    const { outcome } = await store.write({ at, rows: [row], events: [] });
    if (outcome !== 'ok') {
      throw new Fault('node.taken', {
        status: 503,
        message: `Another process runs as node "${id}" on this data.`,
      });
    }
    revision += 1;
  };
  // One at a time: each names the revision that the one before it made.
  let last = Promise.resolve();
  const beat = () => {
    last = last.then(write, write);
    return last;
  };
  await beat();

  let cancel: (() => void) | undefined;
  let isStopped = false;
  const schedule = () => {
    cancel = clock.at(clock.now() + Math.floor(options.timeout / 3), () => {
      beat()
        .catch((error: unknown) => options.log.error('the heartbeat could not be written', { error }))
        .finally(() => !isStopped && schedule());
    });
  };
  schedule();
  const stop = () => {
    isStopped = true;
    cancel?.();
  };
  const settled = async () => {
    isSettled = true;
    await beat();
  };
  return { identity: { id, incarnation, former }, settled, stop };
}

export interface NodePresence {
  readonly identity: NodeIdentity;
  /** What the process before left behind has been seen to. */
  settled(): Promise<void>;
  stop(): void;
}

interface NodeRow {
  readonly incarnation: string;
  readonly aliveAt: number;
  readonly former?: { readonly aliveAt: number };
}
