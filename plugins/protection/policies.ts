import type { Kit } from '../../core/plugin/plugin.ts';
import { accounts } from '../accounts/contract.ts';
import { deploymentPolicy, type Policy } from './contract.ts';

/** The policy of what has none of its own. */
export interface Policies {
  /** That of the account, else of the deployment. Undefined: everybody may watch. */
  of(account: string): Promise<Policy | undefined>;
}

export function policiesOf({ use, offered }: Pick<Kit, 'use' | 'offered'>): Policies {
  const [common] = offered(deploymentPolicy);
  return {
    async of(account) {
      const { playbackPolicy } = await use(accounts).fields(account);
      return (playbackPolicy as Policy | null | undefined) ?? common;
    },
  };
}
