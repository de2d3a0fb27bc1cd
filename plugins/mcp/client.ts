import { type Client, millrace } from '../../sdk/client/index.ts';
import type { InnerCall } from '../../sdk/plugin.ts';
import type { Asker } from './call.ts';

/** A client with the key of the asker, for tools of plugins: its calls do not leave the program. */
export function clientFor({ kit, request: from }: Asker): Client {
  return millrace({
    baseUrl: 'http://server.invalid',
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      return kit.ask(from, {
        path: `${pathname}${search}`,
        method: request.method as InnerCall['method'],
        ...{ headers: Object.fromEntries(request.headers) },
        ...(text !== '' && { body: JSON.parse(text) }),
      });
    },
  });
}
