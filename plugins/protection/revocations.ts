import { Fault } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { viewerHash } from './pass.ts';

/** Stored rows: one for each id of which somebody was cut off. */
const kind = 'playback-revocation';
/** Viewers of one id that are remembered as cut off. */
export const maxViewers = 2000;
/** How long it is remembered that a viewer was cut off, ms: no pass lives longer, and tokens should not. */
export const remembered = 30 * 24 * 3_600_000;

/** Who was cut off, and when. */
export interface Revocations {
  /** Everybody who was let in before then, epoch ms; 0: nobody. */
  readonly all: number;
  /** Viewers by `viewerHash`, in the same way. */
  readonly viewers: ReadonlyMap<string, number>;
}

export const noRevocations: Revocations = { all: 0, viewers: new Map() };

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
  return { all, viewers };
}

/** Whether somebody who was let in then is cut off. */
export function isRevoked(
  { all, viewers }: Revocations,
  { viewer, since }: { viewer: string; since: number },
): boolean {
  return since <= all || since <= (viewers.get(viewer) ?? 0);
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
    const next = changed(before, { viewer, now });
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

function changed(before: Stored, { viewer, now }: { viewer: string | undefined; now: number }): Stored {
  if (viewer === undefined) return { ...before, all: now, viewers: [] };
  const hash = viewerHash(viewer);
  const viewers = before.viewers.filter(([one, at]) => one !== hash && at > now - remembered);
  if (viewers.length >= maxViewers) {
    const message = `${maxViewers} viewers of this video are cut off. Cut off everybody, or delete the signing key.`;
    throw new Fault('playback.too_many_revoked', { status: 409, message });
  }
  return { ...before, viewers: [...viewers, [hash, now]] };
}

function rowId(name: string): string {
  return derivedId(`revocation of ${name}`);
}
