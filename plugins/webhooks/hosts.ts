import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './config.ts';

const minute = 60_000;
/** Within this after a minute has begun, those that waited for it begin again, ms: not all at once. */
const spread = 10_000;

/**
 * Bounds the attempts at one host in each minute, so that nobody makes this server flood another. It is memory of this process: each
 * worker counts for itself. The admin account has no bound.
 */
export interface HostRates {
  /** Undefined: an attempt may be made, and is counted. Otherwise when to try again, epoch ms. */
  take(webhook: { readonly account: string; readonly url: string }): Promise<number | undefined>;
}

export const hostRates = token<HostRates>('webhooks.host-rates');

/** What attempts are counted by: all ports and paths of a host are one. */
export function hostOf({ url }: { readonly url: string }): string {
  // With the dot of the root it is the same host.
  return new URL(url).hostname.replace(/\.$/, '');
}

export function countHosts(kit: Pick<WebhooksKit, 'clock' | 'config' | 'resources'>): HostRates {
  const { clock, config, resources } = kit;
  let began = 0;
  let counts = new Map<string, number>();
  let admin: string | undefined;
  const isAdmin = async (account: string) => {
    admin ??= (await resources.find('account', 'role', 'admin'))?.id;
    return account === admin;
  };
  return {
    async take(webhook) {
      const { account } = webhook;
      if (await isAdmin(account)) return undefined;
      const now = clock.now();
      if (now - began >= minute) {
        began = now - (now % minute);
        counts = new Map();
      }
      const host = hostOf(webhook);
      const own = `${account} ${host}`;
      const [ofAccount, ofAll] = [counts.get(own) ?? 0, counts.get(host) ?? 0];
      if (ofAccount >= config.attemptsPerHost || ofAll >= config.attemptsPerHostInAll)
        return began + minute + Math.round(Math.random() * spread);
      counts.set(own, ofAccount + 1).set(host, ofAll + 1);
      return undefined;
    },
  };
}
