import { token } from '../../core/plugin/token.ts';

/**
 * The places in which this process works at tasks. A quarter of them is for accounts that have none: so no account holds all of them
 * with tasks that never end, whatever their types.
 */
export interface Places {
  /** The function gives the place back. Undefined: those that are free are not for this account now. */
  take(account: string): (() => void) | undefined;
}

export const places = token<Places>('tasks.places');

export function countPlaces({ running: most }: { readonly running: number }): Places {
  const kept = Math.floor(most / 4);
  const taken = new Map<string, number>();
  let inAll = 0;
  return {
    take(account) {
      const own = taken.get(account) ?? 0;
      if (inAll >= (own === 0 ? most : most - kept)) return undefined;
      inAll += 1;
      taken.set(account, own + 1);
      return () => {
        inAll -= 1;
        const left = (taken.get(account) ?? 1) - 1;
        if (left > 0) taken.set(account, left);
        else taken.delete(account);
      };
    },
  };
}
