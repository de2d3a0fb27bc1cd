import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKeyPair } from '../../plugins/protection/signing-keys.ts';
import { tokenOf } from '../plugins/protection/kit.ts';
import { broadcast, readHls } from './harness/ffmpeg.ts';
import { statusOf } from './harness/playlist.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** Somebody's own server, which keeps keys and is asked about broadcasts: real sockets, encoders and players. */
const own = await newKeyPair('ES256');
const asked: { path: string; body: Record<string, string>; headers: Record<string, unknown> }[] = [];
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (request.url === '/keys') {
    response.end(JSON.stringify({ keys: [{ ...own.jwk, kid: 'mine', use: 'sig', alg: 'ES256' }] }));
    return;
  }
  const body = JSON.parse(Buffer.concat(chunks).toString());
  asked.push({ path: request.url ?? '', body, headers: request.headers });
  response.statusCode = body.streamId === closed ? 403 : 200;
  response.end();
});
let closed = '';
let server: Server;
let address: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  server = await startServer({
    env: {
      MILLRACE_OUTBOUND__ALLOW: '["127.0.0.0/8"]',
      MILLRACE_PLUGINS__PROTECTION__PUBLISH_WEBHOOK: `${address}/publish`,
      MILLRACE_PLUGINS__PROTECTION__WEBHOOK_SECRET: 'a secret of 16 bytes',
    },
  });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await new Promise((resolve) => receiver.close(resolve));
});

const call = async (method: string, path: string, body: Record<string, unknown>) => {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${server.key}` },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
};

it('the publish hook lets one encoder in, and tells another that it is not', async () => {
  const [open, shut] = await Promise.all([
    server.api.createStream({ name: 'Open' }),
    server.api.createStream({ name: 'Shut' }),
  ]);
  closed = shut.id;
  await using encoder = broadcast(server.ingestUrl(open.streamKey));
  await using refused = broadcast(server.ingestUrl(shut.streamKey));
  await refused.ended({ within: 10_000 });
  expect(refused.log).toContain('The publish webhook of this server did not allow it.');
  await until(
    'the other to be on the air',
    async () => (await statusOf(server.playlistUrl(open.playbackId))) === 200,
    {
      within: 20_000,
    },
  );
  expect(encoder.isRunning).toBe(true);
  const about = (id: string) => asked.find(({ path, body }) => path === '/publish' && body.streamId === id);
  for (const { id } of [open, shut]) {
    expect(about(id)?.body).toMatchObject({
      ...{ kind: 'publish', ip: '127.0.0.1', app: 'live' },
      encoder: expect.stringContaining('Lavf'),
    });
    expect(about(id)?.headers).toMatchObject({ 'webhook-signature': expect.stringMatching(/^v1,/) });
  }
  expect(server.output).not.toContain(shut.streamKey);
});

it('tokens of an account’s own keys, read from its server, let players in', async () => {
  const { body: stream } = await call('POST', '/api/stream', {
    ...{ name: 'Private', playbackPolicy: { type: 'signed' } },
  });
  await using _ = broadcast(server.ingestUrl(stream.streamKey));
  const { status } = await call('POST', '/api/signing-key', { name: 'Own', jwksUrl: `${address}/keys` });
  expect(status).toBe(201);
  const claims = { sub: stream.playbackId, exp: Math.floor(Date.now() / 1000) + 60 };
  const url = server.playlistUrl(stream.playbackId);
  const token = tokenOf({ id: 'mine', privateKey: own.privateKey, algorithm: 'ES256' }, claims);
  await until('it to be on the air', async () => (await statusOf(`${url}?token=${token}`)) === 200, {
    within: 20_000,
  });
  expect(await statusOf(url)).toBe(403);
  const other = await newKeyPair('ES256');
  const wrong = tokenOf({ id: 'mine', privateKey: other.privateKey, algorithm: 'ES256' }, claims);
  expect(await statusOf(`${url}?token=${wrong}`)).toBe(403);
  // A player that follows the playlists, without headers.
  expect(await readHls(`${url}?token=${token}`, { seconds: 2 })).toMatchObject({ errors: [] });
});

it('an RSA key is made beside the requests', async () => {
  const keys = 5;
  const made = Promise.all(
    Array.from({ length: keys }, () => call('POST', '/api/signing-key', { algorithm: 'RS256' })),
  );
  let isMade = false;
  void made.finally(() => {
    isMade = true;
  });
  let answers = 0;
  while (!isMade) {
    await fetch(`${server.url}/health/live`).then((answer) => answer.arrayBuffer());
    answers += 1;
  }
  expect((await made).map(({ status }) => status)).toEqual(Array(keys).fill(201));
  // A key takes 100 ms and more: made between requests, there would be time for one or two around each.
  expect(answers).toBeGreaterThan(4 * keys);
});
