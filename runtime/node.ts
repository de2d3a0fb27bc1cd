import { Fault } from '../core/fault.ts';
import { uuid } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import type { NodeIdentity } from '../core/plugin.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Store } from '../core/ports/store.ts';

/**
 * Who this process is. One row per node id says which process has it and when it was last alive; the row is
 * written at the start and every third of `timeout`. Returns the identity and the stop.
 */
export async function nodePresence(options: {
  id: string;
  /** A node whose row is older than this many ms is dead. */
  timeout: number;
  store: Store;
  clock: Clock;
  log: Log;
}): Promise<{ identity: NodeIdentity; stop: () => void }> {
  const { id, store, clock } = options;
  const incarnation = uuid();
  const stored = await store.resources.get('node', id);
  const former = stored && (JSON.parse(stored.body) as { incarnation: string; aliveAt: number });
  let revision = stored?.revision ?? 0;

  const beat = async () => {
    const at = clock.now();
    const body = JSON.stringify({ incarnation, aliveAt: at });
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
  await beat();

  let cancel: (() => void) | undefined;
  let isStopped = false;
  const schedule = () => {
    cancel = clock.at(clock.now() + options.timeout / 3, () => {
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
  return { identity: { id, incarnation, former }, stop };
}
