import type { Usage } from '../../core/http/account-limits.ts';
import { services } from '../../core/plugin/services.ts';
import type { StreamsKit } from './config.ts';
import { stream } from './contract.ts';
import { type LiveFigures, liveKey } from './live-figures.ts';

/** Streams of one account that are on the air and are looked at, at most. */
const maxActive = 1000;
const active = { role: 'parent', active: 'true' };

export function streamUsage({ resources }: StreamsKit): Usage {
  return {
    name: 'streams',
    used: (account) => resources.count(stream.kind, { account, where: { role: 'parent' } }),
  };
}

export function broadcastUsage({ resources }: StreamsKit): Usage {
  return { name: 'broadcasts', used: (account) => resources.count(stream.kind, { account, where: active }) };
}

/** On all nodes, as each of them said a second ago. */
export function liveUsage(kit: StreamsKit): Usage {
  return {
    name: 'liveBytes',
    async used(account) {
      const rows = await kit.resources.list(stream.kind, { account, where: active, limit: maxActive });
      if (rows.length === 0) return 0;
      const found = await kit.use(services.volatile).get(rows.map(({ id }) => liveKey(id)));
      const figures = found as unknown as readonly (LiveFigures | undefined)[];
      return figures.reduce((sum, one) => sum + (one?.memory ?? 0), 0);
    },
  };
}
