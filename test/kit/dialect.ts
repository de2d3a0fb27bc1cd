import type { Plugin } from '../../sdk/plugin.ts';
import { allPlugins } from './all-plugins.ts';
import dialect from './dialect-plugin.ts';
import { type World, world } from './world.ts';

/** The plugin in test/kit/dialect-plugin.ts, in a world. */
export const tiny = dialect as unknown as Plugin;
export const plugins = [...(await allPlugins()), tiny];
export const hosts = { 'api.example.com': '/tiny', 'stream.example.com': '/tiny/stream' };
export const secret = 'a secret of some length';
export const url = 'https://tiny.example.com/in';

export const tinyWorld = (more: Partial<Parameters<typeof world>[0]> = {}) =>
  world({ plugins, config: { tiny: { hosts } }, ...more });

/** A request as it comes over the network: with a Host, and whatever else is given. */
export async function ask(
  w: World,
  path: string,
  given: { method?: string; headers?: Record<string, string>; body?: string; peer?: string } = {},
) {
  const { method = 'GET', headers = {}, body, peer = '127.0.0.1' } = given;
  const at = headers.host ?? 'localhost:8080';
  const request = new Request(`http://${at}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  const answer = await w.app.handle(Object.assign(request, { peer }));
  const text = await answer.text();
  await w.settle();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}

/** An API key as a client of the dialect has it. */
export async function basic(
  w: World,
  body: Record<string, unknown> = {},
): Promise<{ id: string; header: string }> {
  const { id, key } = (await w.request('POST', '/api/api-token', { body })).body;
  return { id, header: `Basic ${Buffer.from(`${id}:${key}`).toString('base64')}` };
}
