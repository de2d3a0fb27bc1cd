import { Fault } from '../../../core/base/fault.ts';

/** Bounds how many uploads this node takes at one time, in all and of one account. */
export function uploadPlaces({ uploads, uploadsPerAccount }: Bounds) {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    /** Takes a place; the answer gives it back. Faults `server.busy` (503), `upload.too_many` (429). */
    take(account: string): () => void {
      const own = counts.get(account) ?? 0;
      if (total >= uploads) throw nodeIsFull(uploads);
      if (own >= uploadsPerAccount) throw accountIsFull(uploadsPerAccount);
      total += 1;
      counts.set(account, own + 1);
      return () => {
        total -= 1;
        const left = (counts.get(account) ?? 1) - 1;
        if (left > 0) counts.set(account, left);
        else counts.delete(account);
      };
    },
  };
}

interface Bounds {
  readonly uploads: number;
  readonly uploadsPerAccount: number;
}

function nodeIsFull(most: number): Fault {
  const message = `This node takes ${most} uploads at a time (plugins.assets.uploads).`;
  return new Fault('server.busy', { status: 503, message, retryAfter: 10 });
}

function accountIsFull(most: number): Fault {
  const message = `${most} uploads of this account run on this node (plugins.assets.uploadsPerAccount).`;
  return new Fault('upload.too_many', { status: 429, message, retryAfter: 10 });
}
