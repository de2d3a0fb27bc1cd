import mux from '../../../plugins/mux-compat/index.ts';
import type { Plugin } from '../../../sdk/plugin.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { ask, basic } from '../../kit/dialect.ts';
import { type World, world } from '../../kit/world.ts';

export const plugins = [...(await allPlugins()), mux as unknown as Plugin];

export interface Client {
  readonly header: string;
  (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{
    status: number;
    headers: Headers;
    // biome-ignore lint/suspicious/noExplicitAny: whatever the route answers
    body: any;
  }>;
}

export const muxWorld = (more: Partial<Parameters<typeof world>[0]> = {}) => world({ plugins, ...more });

/** A client of Mux with an API key of its own. */
export async function clientOf(w: World, key: Record<string, unknown> = {}): Promise<Client> {
  const { header } = await basic(w, key);
  const call = (method: string, path: string, body?: unknown) =>
    ask(w, `/mux${path}`, {
      method,
      headers: { authorization: header },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return Object.assign(call, { header });
}

/** What `/mux/{path}` answers a viewer. */
export const watch = (w: World, path: string) => ask(w, `/mux/${path}`);
