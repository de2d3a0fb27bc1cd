import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { viewerHash } from './pass.ts';

/** Stored rows: one for each id of which somebody was cut off. */
const kind = 'playback-revocation';
/** Viewers of one id that are remembered as cut off. */
export const maxViewers = 2000;
/** How long it is remembered that a viewer was cut off, ms: no pass lives longer. */
export const remembered = 30 * 24 * 3_600_000;

/** Who was cut off, and when: epoch ms by the clock of the node that did it, each later than those before. */
export interface Revocations {
  /** The newest; 0: none. */
  readonly latest: number;
  /** Everybody who was let in before then; 0: nobody. */
  readonly all: number;
  /** Viewers by `viewerHash`, in the same way. */
  readonly viewers: ReadonlyMap<string, number>;
}

export const noRevocations: Revocations = { latest: 0, all: 0, viewers: new Map() };

interface Stored {
  readonly name: string;
  readonly all: number;
  readonly viewers: readonly (readonly [hash: string, at: number])[];
}

/** Those of all ids of one thing together. */
export async function readRevocations(
  names: readonly string[],
  { resources }: Pick<Kit, 'resources'>,
): Promise<Revocations> {
  const rows = await Promise.all(names.map((name) => resources.get(kind, rowId(name))));
  let all = 0;
  const viewers = new Map<string, number>();
  for (const row of rows) {
    if (!row) continue;
    const stored = JSON.parse(row.body) as Stored;
    all = Math.max(all, stored.all);
    for (const [hash, at] of stored.viewers) viewers.set(hash, Math.max(at, viewers.get(hash) ?? 0));
  }
  return { latest: Math.max(all, ...viewers.values()), all, viewers };
}

/** Whether a viewer was cut off later than `since`. */
export function isRevoked(
  { all, viewers }: Revocations,
  { viewer, since }: { viewer: string; since: number },
): boolean {
  return all > since || (viewers.get(viewer) ?? 0) > since;
}

/**
 * Cuts off a viewer, or everybody, who was let in so far. Faults `playback.too_many_revoked` (409), and of the store.
 *
 * @param options.name id of what is watched
 */
export async function revoke(
  { name, account, viewer }: { name: string; account: string; viewer: string | undefined },
  { resources, clock }: Pick<Kit, 'resources' | 'clock'>,
): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const row = await resources.get(kind, rowId(name));
    const now = clock.now();
    const before: Stored = row ? JSON.parse(row.body) : { name, all: 0, viewers: [] };
    // Another node may have a clock that is ahead.
    const at = Math.max(now, before.all + 1, ...before.viewers.map(([, one]) => one + 1));
    const next = changed(before, { viewer, at });
    const written = await resources.write({
      rows: [
        {
          ...{ kind, id: rowId(name), account, name: '', indexes: {} },
          ...{ createdAt: row?.createdAt ?? now, revision: row?.revision ?? 0, body: JSON.stringify(next) },
        },
      ],
      events: [],
    });
    if (written === 'ok') return;
  }
  throw new Fault('server.busy', { status: 503, message: 'Others revoke at the same time.', retryAfter: 1 });
}

const attempts = 5;

function changed(before: Stored, { viewer, at }: { viewer: string | undefined; at: number }): Stored {
  if (viewer === undefined) return { ...before, all: at, viewers: [] };
  const hash = viewerHash(viewer);
  const viewers = before.viewers.filter(([one, since]) => one !== hash && since > at - remembered);
  if (viewers.length >= maxViewers) {
    const message = `${maxViewers} viewers of this video are cut off. Cut off everybody, or delete the signing key.`;
    throw new Fault('playback.too_many_revoked', { status: 409, message });
  }
  return { ...before, viewers: [...viewers, [hash, at]] };
}

function rowId(name: string): string {
  return derivedId(`revocation of ${name}`);
}
