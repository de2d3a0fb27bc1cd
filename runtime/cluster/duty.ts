import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';
import type { NodeAddress } from './command.ts';

/** How often the node that has a singleton task says so, and the others look, ms. */
const dutyBeat = 2000;
/** How long the node that has it may be silent, ms; then another one takes it. */
const dutyLease = 6000;

const kind = 'duty';

/**
 * Does something on one node at a time: `begin` is called when this node gets the duty, and what it returns when it
 * loses it. Nodes agree by a row that the one who has it keeps writing; the others count its silence by their own clocks,
 * so clocks need not agree. For a moment two may have it: what is done must stand that. Resolves when it is known who has it,
 * with the stop, which lets it go for the next one.
 */
export async function duty(name: string, options: DutyOptions): Promise<() => Promise<void>> {
  const { store, clock, log, self, begin } = options;
  const createdAt = clock.now();
  /** Revision of the row as this node wrote it last; undefined while another has the duty. */
  let own: number | undefined;
  let ownUntil = 0;
  let seen: { readonly revision: number; readonly since: number } | undefined;
  let end: (() => Promise<void> | void) | undefined;
  let isStopped = false;
  /** The store may have lost what it acknowledged: what was begun goes on from what it has. */
  let isInDoubt = false;
  let cancel = () => {};
  let looking = Promise.resolve();

  const write = async (revision: number, holder: NodeAddress | null): Promise<boolean> => {
    const at = clock.now();
    const row = {
      ...{ kind, id: name, account: '', createdAt, name, indexes: {}, revision },
      body: JSON.stringify({ holder }),
    };
    const { outcome } = await store.write({ at, rows: [row], events: [] });
    if (outcome !== 'ok') return false;
    if (holder) {
      own = revision + 1;
      ownUntil = at + dutyLease;
    }
    return true;
  };
  const lose = async () => {
    own = undefined;
    const ending = end;
    end = undefined;
    await ending?.();
  };
  const take = async (revision: number) => {
    if (!(await write(revision, self))) await lose();
    else if (!end && !isStopped) {
      end = await begin();
      log.info('this node has a duty now', { duty: name });
    }
  };
  const look = async () => {
    if (isInDoubt) {
      isInDoubt = false;
      await lose();
    }
    if (own !== undefined) return take(own);
    const row = await store.resources.get(kind, name);
    if (!row) return take(0);
    const { holder } = JSON.parse(row.body) as { holder: NodeAddress | null };
    const now = clock.now();
    if (seen?.revision !== row.revision) seen = { revision: row.revision, since: now };
    // Also when it is this process's own: it has let it go since.
    const isFormer = holder?.node === self.node;
    const isSilent = now - seen.since >= dutyLease;
    if (!holder || isFormer || isSilent) await take(row.revision);
  };
  const beat = () => {
    looking = look()
      .catch(async (error: unknown) => {
        log.warn('it could not be agreed who has a duty; it is tried again', { duty: name, error });
        // Another node may have it by now.
        if (own !== undefined && clock.now() >= ownUntil) await lose();
      })
      .catch((error: unknown) => log.error('a duty did not end cleanly', { duty: name, error }))
      .finally(() => {
        if (!isStopped) cancel = clock.at(clock.now() + dutyBeat, beat);
      });
  };
  const unlisten = store.onRestart?.(() => {
    isInDoubt = true;
  });
  beat();
  await looking;

  return async () => {
    isStopped = true;
    unlisten?.();
    cancel();
    await looking;
    const revision = own;
    await lose();
    if (revision !== undefined) {
      await write(revision, null).catch((error: unknown) =>
        log.debug('a duty could not be let go; it is taken when its time is over', { duty: name, error }),
      );
    }
  };
}

interface DutyOptions {
  readonly store: Pick<Store, 'resources' | 'write' | 'onRestart'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: NodeAddress;
  begin(): Promise<() => Promise<void> | void>;
}
