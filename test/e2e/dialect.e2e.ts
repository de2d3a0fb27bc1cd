import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { broadcast } from './harness/ffmpeg.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A plugin that speaks another API (test/kit/dialect-plugin.ts), in the real server, over real sockets. */
const plugin = join(root, 'test/kit/dialect-plugin.ts');
const secret = 'a secret of some length';
let server: Server;

beforeAll(async () => {
  const hosts = { 'api.example.com': '/tiny', 'stream.example.com': '/tiny/stream' };
  server = await startServer({ env: { MILLRACE_PLUGINS: JSON.stringify({ [plugin]: { hosts } }) } });
});
afterAll(() => server?.[Symbol.asyncDispose]());

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request whose Host is not the address it goes to, as behind DNS of the operator. */
function ask(
  path: string,
  { host, method = 'GET', body, authorization }: Record<string, string | undefined> & { host: string },
): Promise<Answered> {
  const { port } = new URL(server.url);
  const headers = { host, ...(authorization && { authorization }) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a dialect', () => {
  it('takes a broadcast at its own application and plays it under its own host and name', async () => {
    const received: { headers: IncomingHttpHeaders; body: string }[] = [];
    const receiver = createServer((incoming, answer) => {
      let body = '';
      incoming.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      incoming.on('end', () => {
        received.push({ headers: incoming.headers, body });
        answer.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`;
    try {
      const made = await server.api.request('POST', '/api/api-token', { name: 'dialect' });
      const { id, key } = (await made.json()) as { id: string; key: string };
      const authorization = `Basic ${Buffer.from(`${id}:${key}`).toString('base64')}`;
      const host = 'api.example.com';
      const post = (path: string, body: unknown) =>
        ask(path, { host, authorization, method: 'POST', body: JSON.stringify(body) });
      const stream = await server.api.createStream({ name: 'S' });
      expect((await post('/hooks', { url: hook, secret })).status).toBe(201);
      expect((await post('/aliases', { alias: 'My-Show', id: stream.playbackId })).status).toBe(204);
      expect((await ask('/hooks', { host, authorization: `${authorization}x` })).status).toBe(401);

      await using _ = broadcast(`rtmp://127.0.0.1:${server.rtmpPort}/app/${stream.streamKey}`);
      const watch = await ask('/My-Show.m3u8', { host: 'stream.example.com' });
      const { location } = watch.headers;
      expect([watch.status, location]).toEqual([302, `${server.url}/hls/My-Show/index.m3u8`]);
      const playlist = async () => {
        const answer = await fetch(location as string);
        return answer.ok ? answer.text() : undefined;
      };
      const index = await until('the playlist', playlist, { within: 30_000 });
      expect(index).toContain('#EXTM3U');
      // The rest is found by the same name: its URLs are relative.
      const [media = ''] = index.split('\n').filter((line) => line.endsWith('.m3u8'));
      const segments = await (await fetch(new URL(media, location))).text();
      const [, init] = /#EXT-X-MAP:URI="([^"]+)"/.exec(segments) ?? [];
      const bytes = await fetch(new URL(init ?? '', new URL(media, location)));
      expect([bytes.status, bytes.headers.get('content-type')]).toEqual([200, 'video/mp4']);

      await until('the webhook', () => received.length > 0, { within: 15_000 });
      const [{ headers, body } = { headers: {}, body: '' }] = received;
      expect(JSON.parse(body)).toMatchObject({ type: 'live.active', data: { stream_id: stream.id } });
      const [, seconds, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['tiny-signature'])) ?? [];
      expect(createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')).toBe(v1);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  it('passes a body on to its routes, however it comes, and refuses other applications', async () => {
    const body = 'x'.repeat(200_000);
    const echoed = await ask('/echo', { host: 'api.example.com', method: 'POST', body });
    expect([echoed.status, echoed.body]).toEqual([200, body]);
    const unknown = await ask('/nothing', { host: 'api.example.com' });
    expect([unknown.status, JSON.parse(unknown.body).error.type]).toEqual([404, 'route.not_found']);
    const other = await ask('/nothing', { host: 'other.example.com' });
    expect(JSON.parse(other.body).code).toBe('route.not_found');
    const stream = await server.api.createStream({ name: 'S' });
    await using refused = broadcast(`rtmp://127.0.0.1:${server.rtmpPort}/other/${stream.streamKey}`);
    await refused.ended({ within: 20_000 });
    expect(server.output).toContain('does not name the app');
  });

  it('with a host name that is taken keeps the server from starting: exit 78, with the reason', async () => {
    const hosts = { '127.0.0.1.example.com.': '/x', 'a b': '/y' };
    const starting = startServer({ env: { MILLRACE_PLUGINS: JSON.stringify({ [plugin]: { hosts } }) } });
    const message = await starting.then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).toContain('the server ended with 78');
    expect(message).toContain('a b is no host name');
  });
});
