import type { Kit } from '../../core/plugin/plugin.ts';
import { token } from '../../core/plugin/token.ts';
import { documentOf } from './account-document.ts';
import { type AccountFields, type Accounts, account, staleness } from './contract.ts';

/** Accounts whose fields are remembered; the one that was read first is forgotten for a further one. */
const maxKnown = 10_000;

/** For the routes of this plugin. */
export interface ChangedAccounts extends Accounts {
  /** An account was changed: it is read from the store next time. */
  forget(accountId: string): void;
}

export const changedAccounts = token<ChangedAccounts>('accounts.changed');

/** Remembers the fields of accounts: they are asked for with each request that a limit or a policy of an account holds for. */
export function rememberedAccounts(kit: Kit, { adminId }: { adminId: string }): ChangedAccounts {
  const { clock, resources, deployment } = kit;
  const known = new Map<string, { readonly fields: AccountFields; readonly at: number }>();
  /** Grows with each change: what was read before one is not remembered after it. */
  let changes = 0;
  const read = async (id: string): Promise<AccountFields> => {
    const before = changes;
    const row = await resources.get('account', id);
    const fields = row ? resources.fields(account).present(documentOf(row).fields ?? {}) : {};
    if (before !== changes) return fields;
    known.delete(id);
    known.set(id, { fields, at: clock.now() });
    if (known.size > maxKnown) known.delete(known.keys().next().value as string);
    return fields;
  };
  return {
    adminId,
    fields(id) {
      const found = known.get(id);
      const isFresh = found && (deployment.isAlone || clock.now() - found.at < staleness);
      return isFresh ? found.fields : read(id);
    },
    forget(id) {
      changes += 1;
      known.delete(id);
    },
  };
}
