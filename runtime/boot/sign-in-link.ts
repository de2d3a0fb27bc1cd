import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { Booted } from './boot.ts';

/** HTTP hosts at which this machine reaches the server by 127.0.0.1. */
const ipv4Loopback = new Set(['0.0.0.0', '::', '127.0.0.1', 'localhost']);

/**
 * A link that opens the dashboard and signs in once, as the bootstrap key, from this machine. Undefined where there is none: no
 * dashboard, no API, no loopback address, or the bootstrap key is in the data folder of another node. The code is that of
 * `POST /api/sign-in-code`.
 */
export async function signInLink(
  { app, plugins }: Pick<Booted, 'app'> & { readonly plugins: readonly Pick<Plugin, 'id'>[] },
  config: LinkConfig,
): Promise<string | undefined> {
  const { host, port } = config.http;
  const address = host === '::1' ? '[::1]' : ipv4Loopback.has(host) && '127.0.0.1';
  if (!(address && config.roles.includes('api') && plugins.some(({ id }) => id === 'dashboard')))
    return undefined;
  const key = config.bootstrapKey ?? (await bootstrapKeyOf(config.dataDir));
  if (key === undefined) return undefined;
  const origin = `http://${address}:${port}`;
  const headers = { authorization: `Bearer ${key}` };
  const answer = await app.handle(new Request(`${origin}/api/sign-in-code`, { method: 'POST', headers }));
  if (answer.status !== 201) return undefined;
  const { code } = (await answer.json()) as { code: string };
  return `${origin}/#sign-in=${code}`;
}

interface LinkConfig {
  readonly dataDir: string;
  readonly bootstrapKey?: string;
  readonly roles: readonly string[];
  readonly http: { readonly host: string; readonly port: number };
}

/** What was made at the first start; undefined where there is none. */
export async function bootstrapKeyOf(dataDir: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, 'bootstrap-key'), 'utf8').catch(() => '');
  return text.trim() || undefined;
}
