import { Fault } from '../../../core/fault.ts';

/** Bounds how many uploads this node takes at one time, in all and of one account. */
export function uploadPlaces({ uploads, uploadsPerAccount }: Bounds) {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    /** Takes a place; the answer gives it back. Fault `upload.too_many`. */
    take(account: string): () => void {
      const own = counts.get(account) ?? 0;
      if (total >= uploads)
        throw tooMany({
          status: 503,
          message: `This node takes ${uploads} uploads (plugins.assets.uploads).`,
        });
      if (own >= uploadsPerAccount) {
        const message = `${uploadsPerAccount} uploads of this account run (plugins.assets.uploadsPerAccount).`;
        throw tooMany({ status: 429, message });
      }
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

function tooMany(options: { status: number; message: string }): Fault {
  return new Fault('upload.too_many', { ...options, retryAfter: 10 });
}
