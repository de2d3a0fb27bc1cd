import type { Store } from '../../../../core/ports/store.ts';
import type { Engine } from './engine.ts';
import type { Keys, Shard } from './keys.ts';
import { redisLimits } from './limits.ts';

const most = redisLimits.swept;

/** Forgets what is old, one small script after another, so that steps go in between. */
export function sweeper(options: {
  engine: Engine;
  keys: Keys;
  shards(): Promise<readonly Shard[]>;
}): Store['sweep'] {
  const { engine, keys, shards } = options;
  return async (before) => {
    const sweep = async (name: 'sweep' | 'sweep-log', key: string) => {
      let forgotten: number;
      do {
        forgotten = Number(await engine.change(name, key, [String(before), String(most)]));
      } while (forgotten === most);
    };
    await sweep('sweep-log', keys.log('head'));
    for (const shard of await shards()) if (shard !== 'plain') await sweep('sweep', keys.of(shard, 'head'));
  };
}
