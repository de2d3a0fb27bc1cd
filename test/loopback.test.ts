import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startServer } from './e2e/harness/server.ts';

it('calls loopback for the admin account, and for no other account', async () => {
  const received: (string | undefined)[] = [];
  const http = createServer((request, response) => {
    received.push(request.url);
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  await using server = await startServer();
  const ask = async (
    method: string,
    path: string,
    { body, key = server.key }: { body?: object; key?: string },
  ) => {
    const answer = await fetch(server.url + path, {
      ...{ method, headers: { authorization: `Bearer ${key}` } },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  };
  const account = (await ask('POST', '/api/account', { body: { name: 'Second' } })).body.id;
  const { key } = (await ask('POST', '/api/api-token', { body: { name: 'Theirs', accountId: account } }))
    .body;
  const hook = (name: string) => ({
    name,
    url: `http://127.0.0.1:${port}/${name}`,
    events: ['stream.started'],
  });
  try {
    const own = await ask('POST', '/api/webhook', { body: hook('own') });
    expect(own.status).toBe(201);
    const tried = await ask('POST', `/api/webhook/${own.body.id}/test`, {
      body: { event: 'stream.started' },
    });
    expect(tried.body.success).toBe(true);
    for (const [path, body] of [
      ['/api/webhook', hook('theirs')],
      ['/api/webhook', { ...hook('theirs'), url: `http://localhost:${port}/theirs` }],
      ['/api/asset/import', { url: `http://127.0.0.1:${port}/theirs.mp4` }],
    ] as const) {
      const refused = await ask('POST', path, { body, key });
      expect([path, refused.status, refused.body.errors.join()]).toEqual([
        ...[path, 422, expect.stringContaining('loopback')],
      ]);
    }
    // The server itself is nobody's destination.
    const self = await ask('POST', '/api/webhook', { body: { ...hook('self'), url: server.url } });
    expect([self.status, self.body.errors.join()]).toEqual([422, expect.stringContaining('own')]);
    expect(received).toEqual(['/own']);
    expect(server.output).toContain('Outbound  this machine for the admin account');
  } finally {
    http.closeAllConnections();
    http.close();
  }
});
