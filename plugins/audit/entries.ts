import { milliseconds } from '../../core/base/config-fields.ts';
import { uuid } from '../../core/base/ids.ts';
import { regularly } from '../../core/base/timing.ts';
import type { AuditLog, AuditNote } from '../../core/http/audit.ts';
import { deletedRow } from '../../core/plugin/deleted-row.ts';
import type { Kit, Stop } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { StoredResource } from '../../core/ports/store.ts';

export type AuditKit = Kit & { readonly config: { readonly keep: string } };

export const kind = 'audit';
/** Entries of all accounts together; beyond them the oldest of the account that has the most go before their time. */
const maxEntries = 1_000_000;
/** Account of the entries of nobody: strangers cannot push out those of the admin account. */
const nobody = '';
/** Time between two sweeps, ms, and rows deleted at a time. */
const interval = 600_000;
const batch = 200;

/** What is stored of an entry, beside its place in the row. */
interface Entry extends Omit<AuditNote, 'account'> {
  readonly id: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Writes notes as rows. */
export function keepingOf({ resources, clock, log }: AuditKit): AuditLog {
  return {
    async note({ account = nobody, ...note }) {
      const [id, createdAt] = [uuid(), clock.now()];
      const entry: Entry = { id, createdAt, ...note };
      const row = { kind, id, account, createdAt, name: '', indexes: {}, revision: 0 };
      try {
        await resources.write({ rows: [{ ...row, body: JSON.stringify(entry) }], events: [] });
      } catch (error) {
        log.error('an entry of the audit log could not be stored', { error, account, ...entry });
      }
    },
  };
}

/** The object that the API shows. */
export function shownOf({ body }: StoredResource): Record<string, unknown> {
  const {
    id,
    createdAt: at,
    keyId,
    actor: accountId,
    address: ip,
    action,
    target,
    detail,
  } = JSON.parse(body) as Entry;
  // What is undefined is left out of JSON.
  return { id, at, actor: { keyId, accountId, ip }, action, target, detail: detail ?? {} };
}

/** Deletes entries that are too old or too many. Runs on one node at a time. */
export function sweeping(kit: AuditKit): Stop {
  return regularly(interval, {
    clock: kit.clock,
    work: (signal) => sweep(kit, { signal, most: maxEntries }),
    failed: (error) => kit.log.warn('old entries of the audit log could not be deleted', { error }),
  });
}

/** One sweep, until no more than `most` are left. */
export async function sweep(
  { config, clock, resources }: Pick<AuditKit, 'config' | 'clock' | 'resources'>,
  { signal, most }: { signal: AbortSignal; most: number },
): Promise<void> {
  const oldest = (scope: { account?: string }) =>
    resources.list(kind, { ...scope, order: [{ by: 'createdAt', descending: false }], limit: batch });
  const erase = (rows: readonly StoredResource[]) =>
    resources.write({ rows: rows.map((row) => deletedRow(kind, row)), events: [] });
  const before = clock.now() - milliseconds(config.keep);
  while (!signal.aborted) {
    const old = (await oldest({})).filter(({ createdAt }) => createdAt <= before);
    if (old.length === 0) break;
    await erase(old);
  }
  let tooMany = (await resources.count(kind, {})) - most;
  if (tooMany <= 0) return;
  const shares = await sharesOf(resources);
  while (tooMany > 0 && !signal.aborted) {
    const [account, share] = [...shares].reduce((a, b) => (b[1] > a[1] ? b : a));
    const gone = (await oldest({ account })).slice(0, tooMany);
    if (gone.length === 0) return;
    await erase(gone);
    tooMany -= gone.length;
    shares.set(account, share - gone.length);
  }
}

/** How many entries each account has. */
async function sharesOf(resources: AuditKit['resources']): Promise<Map<string, number>> {
  const shares = new Map([[nobody, await resources.count(kind, { account: nobody })]]);
  for await (const page of rowPages('account', { page: batch, resources }))
    for (const { id } of page) shares.set(id, await resources.count(kind, { account: id }));
  return shares;
}
