import { loadConfig } from '../../config/load.ts';
import { enabledPlugins } from '../../config/plugins.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { World } from './world.ts';

/** Every plugin that ships. */
export async function allPlugins(): Promise<Plugin[]> {
  return (await enabledPlugins(await loadConfig({}))).map(({ plugin }) => plugin);
}

/** What a test asks of a second account. */
export interface OtherAccount {
  readonly id: string;
  /** Secret of a key that may do everything in it. */
  readonly key: string;
}

export async function anotherAccount(w: World): Promise<OtherAccount> {
  const { id } = (await w.request('POST', '/api/account', { body: { name: 'Another' } })).body;
  const answer = await w.request('POST', '/api/api-token', { body: { name: 'theirs', accountId: id } });
  return { id, key: answer.body.key };
}
