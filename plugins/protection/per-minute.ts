import { networkOf } from '../../core/base/network.ts';

/** Questions a minute to one host of one account, and of one address for all it watches of that account. */
export const mostOfHost = 6000;
export const mostOfAddress = 600;
/** Addresses that are counted; of more, counting begins anew. */
const maxAddresses = 50_000;
const minute = 60_000;

/** Keeps an account from flooding another site with questions, and a stranger from making it do that. */
export class PerMinute {
  #began = 0;
  #hosts = new Map<string, number>();
  #addresses = new Map<string, number>();

  /** False: it was asked too often in this minute. */
  take(
    { host, account, address }: { host: string; account: string; address: string | undefined },
    now: number,
  ): boolean {
    if (now - this.#began >= minute) {
      this.#began = now;
      this.#hosts = new Map();
      this.#addresses = new Map();
    }
    const from = address === undefined ? undefined : `${account} ${networkOf(address)}`;
    const ofHost = this.#hosts.get(host) ?? 0;
    const ofAddress = from === undefined ? 0 : (this.#addresses.get(from) ?? 0);
    if (ofHost >= mostOfHost || ofAddress >= mostOfAddress) return false;
    this.#hosts.set(host, ofHost + 1);
    if (from !== undefined) {
      if (this.#addresses.size >= maxAddresses) this.#addresses.clear();
      this.#addresses.set(from, ofAddress + 1);
    }
    return true;
  }
}
