import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from './e2e/harness/server.ts';
import { findFreePorts } from './kit/free-ports.ts';

const secrets = {
  first: 'the-first-secret-of-a-webhook-1',
  second: 'the-second-secret-of-a-webhook-2',
  target: 'rtmp://203.0.113.7/live/key-of-a-target-3',
  changed: 'rtmp://203.0.113.7/live/key-of-a-target-4',
  spec: 'rtmp://203.0.113.7/live/key-of-a-target-5',
  user: 'user-of-an-import-6',
  password: 'password-of-an-import-7',
  signature: 'signature-of-an-import-8',
};

it('stores secrets of webhooks, URLs of targets and secrets of tasks in no readable form', async () => {
  await using server = await startServer();
  const made = async (method: string, path: string, body: unknown) => {
    const answer = await server.api.request(method, path, body);
    const text = await answer.text();
    expect([path, answer.ok, answer.ok || text]).toEqual([path, true, true]);
    return text === '' ? {} : JSON.parse(text);
  };
  const webhook = { name: 'readable', url: 'https://example.com/in', events: ['stream.started'] };
  const { id } = await made('POST', '/api/webhook', { ...webhook, sharedSecret: secrets.first });
  await made('PUT', `/api/webhook/${id}`, { ...webhook, sharedSecret: secrets.second });
  const target = await made('POST', '/api/multistream/target', { url: secrets.target });
  await made('PATCH', `/api/multistream/target/${target.id}`, { url: secrets.changed });
  const targets = [{ profile: 'source', spec: { url: secrets.spec } }];
  await made('POST', '/api/stream', { name: 'x', multistream: { targets } });
  const { user, password, signature } = secrets;
  const [closed] = await findFreePorts(1);
  const film = `http://${user}:${password}@127.0.0.1:${closed}/film.mp4?X-Signature=${signature}`;
  await made('POST', '/api/asset/import', { url: film });
  await made('POST', '/api/asset/request-upload', { name: 'film.mp4' });
  await server.stop();

  const names = (await readdir(server.dataDir)).filter((name) => name.startsWith('millrace.db'));
  const files = await Promise.all(names.map((name) => readFile(join(server.dataDir, name), 'latin1')));
  const stored = files.join('');
  // What is searched is what was meant.
  expect(stored).toContain('"name":"readable"');
  expect(stored).toContain('millrace:sealed:1:');
  for (const secret of Object.values(secrets))
    expect([secret, stored.includes(secret)]).toEqual([secret, false]);
});
