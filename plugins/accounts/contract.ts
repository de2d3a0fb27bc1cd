import { resource } from '../../core/plugin/resource.ts';
import { token } from '../../core/plugin/token.ts';

/**
 * What accounts are extended with: settings that the admin account makes for one account. A field that was not set, or was set to
 * null, is absent: its `initial` value is `undefined` then, and the deployment's default holds.
 */
export const account = resource('account', { ownFields: ['id', 'name', 'createdAt'] });

/** What other plugins know of accounts. */
export interface Accounts {
  /**
   * The fields that plugins add to one account, by name; empty for an unknown account. A change is seen at once where one node is
   * alone, and within `staleness` ms on a fleet. No promise while it is remembered.
   */
  fields(accountId: string): AccountFields | Promise<AccountFields>;
  /** The account of the operator. */
  readonly adminId: string;
}

export type AccountFields = Readonly<Record<string, unknown>>;

/** How long a node of a fleet may not know of a change, ms. */
export const staleness = 2000;

export const accounts = token<Accounts>('accounts');
