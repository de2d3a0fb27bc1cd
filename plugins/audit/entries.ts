import { milliseconds } from '../../core/base/config-fields.ts';
import { uuid } from '../../core/base/ids.ts';
import { regularly } from '../../core/base/timing.ts';
import type { AuditLog, AuditNote } from '../../core/http/audit.ts';
import type { Kit, Stop } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';

export type AuditKit = Kit & { readonly config: { readonly keep: string } };

export const kind = 'audit';
/** Entries of all accounts together; beyond them the oldest go before their time. */
const most = 1_000_000;
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
    async note({ account, ...note }) {
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
    work: (signal) => sweep(kit, signal),
    failed: (error) => kit.log.warn('old entries of the audit log could not be deleted', { error }),
  });
}

async function sweep({ config, clock, resources }: AuditKit, signal: AbortSignal): Promise<void> {
  const before = clock.now() - milliseconds(config.keep);
  let tooMany = (await resources.count(kind, {})) - most;
  while (!signal.aborted) {
    const oldest = await resources.list(kind, {
      order: [{ by: 'createdAt', descending: false }],
      limit: batch,
    });
    const gone = oldest.filter(({ createdAt }, index) => createdAt <= before || index < tooMany);
    if (gone.length === 0) return;
    await resources.write({ rows: gone.map(deleted), events: [] });
    tooMany -= gone.length;
  }
}

function deleted({ id, account, createdAt, name, revision }: StoredResource) {
  return { kind, id, account, createdAt, name, body: null, indexes: {}, revision };
}
