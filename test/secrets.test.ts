import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root, type Server, startServer } from './e2e/harness/server.ts';
import { until } from './e2e/harness/wait.ts';
import { findFreePorts } from './kit/free-ports.ts';
import { broadcast } from './kit/publisher/broadcast.ts';
import { type Clip, readFlvFile } from './kit/publisher/flv-file.ts';
import { cert, key as tlsKey } from './rtmp/tls.ts';

/** The real server in a process of its own, logging everything, and all that it printed or answered in a run. */
describe('secrets', () => {
  let server: Server;
  let clip: Clip;
  let folder: string;
  let relay: Awaited<ReturnType<typeof startRelay>>;
  const answers: string[] = [];

  beforeAll(async () => {
    clip = await readFlvFile(`${root}/demo/clip.flv`);
    folder = await mkdtemp(join(tmpdir(), 'millrace-secrets-'));
    await writeFile(join(folder, 'cert.pem'), cert);
    await writeFile(join(folder, 'key.pem'), tlsKey);
    const [tlsPort] = await findFreePorts(1);
    server = await startServer({
      env: {
        MILLRACE_LOG__LEVEL: 'debug',
        MILLRACE_TLS__CERT: join(folder, 'cert.pem'),
        MILLRACE_TLS__KEY: join(folder, 'key.pem'),
        MILLRACE_RTMP__TLS_PORT: String(tlsPort),
      },
    });
    relay = await startRelay(Number(new URL(server.ingestUrl('x')).port), answers);
  });
  afterAll(async () => {
    relay?.close();
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Sends a request and keeps the whole answer, but for the two fields that show a secret to its owner. */
  async function ask(method: string, path: string, given: Given = {}): Promise<Answer> {
    const headers = new Headers({ authorization: `Bearer ${given.key ?? server.key}`, ...given.headers });
    if (given.key === null) headers.delete('authorization');
    const body =
      given.body === undefined || typeof given.body === 'string' ? given.body : JSON.stringify(given.body);
    const answer = await fetch(server.url + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    const shown = answer.ok
      ? text
          .replace(/"(streamKey|key)":"[^"]*"/g, '"$1":"shown"')
          .replace(/("ingestUrl":"rtmp:[^"]*\/live)\/[^"]*"/g, '$1/shown"')
      : text;
    answers.push(`${answer.status} ${JSON.stringify([...answer.headers])} ${shown}`);
    return { status: answer.status, text };
  }
  const made = async (path: string, given: Given = {}) => {
    const { status, text } = await ask('POST', path, given);
    expect([path, Math.floor(status / 100)]).toEqual([path, 2]);
    return JSON.parse(text);
  };

  it('are in nothing that a run printed or answered', { timeout: 60_000 }, async () => {
    const secrets: Record<string, string> = {
      bootstrap: server.key,
      tls: tlsKey.split('\n')[1] ?? '',
      idempotency: 'one-idempotency-key-that-nobody-should-see-8213',
      target: 'live_47110815_AbCdEfGhIjKlMnOpQrStUv',
      specTarget: 'abcd-efgh-1jkl-mnop-qrst',
      // Pushed to while it is broadcast, and nowhere to be found: not even the host, where the target has a name.
      targetHost: 'the-host-of-a-target-8821.example.invalid',
      query: 'token-in-the-query-of-a-key-9931',
    };
    const account = await made('/api/account', { body: { name: 'Theirs' } });
    secrets.apiKey = (await made('/api/api-token', { body: { name: 'One', accountId: account.id } })).key;
    const gone = await made('/api/api-token', { body: { access: { rules: [{ resources: ['stream'] }] } } });
    secrets.goneKey = gone.key;
    const once = { 'idempotency-key': secrets.idempotency as string };
    const stream = await made('/api/stream', {
      body: {
        name: 'A stream',
        record: true,
        multistream: {
          targets: [
            {
              profile: 'source',
              spec: { name: 'Mine', url: `rtmp://${secrets.targetHost}/live/${secrets.specTarget}` },
            },
          ],
        },
      },
      headers: once,
    });
    secrets.rotatedAway = stream.streamKey;
    const url = `rtmps://push.example.com/live/${secrets.target}`;
    const target = await made('/api/multistream/target', { body: { url } });
    await ask('PATCH', `/api/multistream/target/${target.id}`, { body: { url: `${url}?again=1` } });
    await ask('POST', '/api/stream', { body: { name: 'Another body' }, headers: once });
    await ask('DELETE', `/api/api-token/${gone.id}`);

    const following = new AbortController();
    const events = follow(`${server.url}/api/events`, {
      key: server.key,
      signal: following.signal,
      into: answers,
    });

    // Broadcast with the key that is given up in the middle of it, then with the new one, with things behind it.
    const first = broadcast({ url: relay.url(`live/${secrets.rotatedAway}?auth=${secrets.query}`), clip });
    await first.started;
    await until('on the air', async () => (await server.api.getStream(stream.id)).isActive, {
      within: 10_000,
      every: 50,
    });
    const rotated = await made(`/api/stream/${stream.id}/rotate-key`, { headers: once });
    await first.ended;
    secrets.streamKey = rotated.streamKey;
    const second = broadcast({ url: relay.url(`live/${secrets.streamKey}?auth=${secrets.query}`), clip });
    await second.started;
    await until('on the air', async () => (await server.api.getStream(stream.id)).isActive, {
      within: 10_000,
      every: 50,
    });
    const third = broadcast({ url: relay.url(`live/${secrets.streamKey}`), clip });
    await third.started;
    await second.ended;

    for (const secret of Object.values(secrets)) {
      await everyWrongPlace(secret, { stream: stream.id, target: target.id });
      for (const path of [
        `live/${secret}`,
        `${secret}/x`,
        `live/x?auth=${secret}`,
        `${secret}/${secret}?${secret}`,
      ]) {
        const refused = broadcast({ url: relay.url(path), clip });
        // One of them is right: it takes over.
        await refused.started.catch(() => {});
        await refused.stop({ clean: false });
      }
    }
    for (const path of ['/api/stream', '/api/session', '/api/api-token', '/api/multistream/target']) {
      await ask('GET', `${path}?limit=1&count=1`);
    }
    await third.stop({ clean: true });
    await ask('DELETE', `/api/stream/${stream.id}/terminate`);
    await ask('GET', '/metrics', { key: null });
    await ask('GET', '/health/ready', { key: null });
    const system = JSON.parse((await ask('GET', '/api/system')).text);
    expect(system.disk).toEqual({
      ...{ dataDir: server.dataDir, freeBytes: expect.any(Number), totalBytes: expect.any(Number) },
    });
    expect(system.config).toContainEqual({
      ...{ key: 'bootstrapKey', value: '••••', source: 'environment', isSecret: true },
    });
    expect(JSON.stringify(system)).not.toContain(server.key);
    await ask('GET', `/api/playback/${stream.playbackId}`, { key: null });
    following.abort();
    await events;
    await server.stop();

    const everything = { printed: server.output, answered: answers.join('\n') };
    // What is searched is what was meant: the log in full, events, refusals, figures, and what RTMP said.
    expect(everything.printed).toContain('rtmp connection ended');
    for (const part of [
      'stream.started',
      'stream.not_found',
      'events.gone',
      'millrace_',
      'Publish.Unauthorized',
    ]) {
      expect(everything.answered).toContain(part);
    }
    for (const [where, text] of Object.entries(everything)) {
      for (const [name, secret] of Object.entries(secrets)) {
        expect(secret.length).toBeGreaterThan(15);
        const at = text.indexOf(secret);
        expect(at < 0 ? 'nowhere' : text.slice(Math.max(0, at - 200), at), `${name}, ${where}`).toBe(
          'nowhere',
        );
      }
    }
  });

  /** A secret where it does not belong, in requests with and without a right key. */
  async function everyWrongPlace(secret: string, { stream, target }: { stream: string; target: string }) {
    const inUrl = encodeURIComponent(secret);
    for (const key of [server.key, null, secret]) {
      for (const path of ['stream', 'session', 'api-token', 'multistream/target', 'playback']) {
        await ask('GET', `/api/${path}/${inUrl}`, { key });
      }
      await ask('GET', `/${inUrl}`, { key });
      await ask('GET', `/hls/${inUrl}/index.m3u8?${inUrl}=${inUrl}`, { key });
      await ask('DELETE', `/api/stream/${inUrl}/${inUrl}`, { key });
    }
    for (const name of ['key', 'cursor', 'limit', 'filters', 'order', 'count', 'active', secret]) {
      await ask('GET', `/api/stream?limit=1&${encodeURIComponent(name)}=${inUrl}`);
    }
    const filter = encodeURIComponent(JSON.stringify([{ id: secret, value: secret }]));
    await ask('GET', `/api/stream?filters=${filter}`);
    await ask('GET', `/api/events?type=${inUrl}`, { headers: { 'last-event-id': secret } });
    await ask('GET', '/api/stream', { headers: { cookie: secret, 'x-api-key': secret, referer: secret } });
    await ask('GET', '/api/stream', { headers: { origin: `https://${secret}` } });
    await ask('OPTIONS', '/api/stream', { headers: { origin: secret }, key: null });
    await ask('GET', '/api/stream', { headers: { authorization: `Basic ${secret}` } });
    // What fails by itself, later than the shape of a body.
    const missing = { profile: 'source', id: secret };
    for (const targets of [[missing], [missing, missing], [{ ...missing, profile: secret }]]) {
      await ask('POST', '/api/stream', { body: { name: 'x', multistream: { targets } } });
      await ask('PATCH', `/api/stream/${stream}`, { body: { multistream: { targets } } });
    }
    await ask('POST', '/api/api-token', { body: { accountId: secret } });
    for (const body of [
      secret,
      { [secret]: secret },
      { name: 5, streamKey: secret },
      { name: 'x', userTags: { [secret]: { [secret]: secret } } },
      { name: 'x', multistream: { targets: [{ profile: secret, id: secret, [secret]: 1 }] } },
      { name: 'x', profiles: [{ name: secret }] },
      { url: `http://example.com/${secret}` },
      { url: `rtmp://[/${secret}` },
      { accountId: secret },
      { access: { rules: [{ resources: [secret, `/${secret}`], methods: [secret] }] } },
      { access: { cors: { allowedOrigins: [secret, `https://example.com/${secret}`] } } },
    ]) {
      for (const path of ['/api/account', '/api/multistream/target'])
        await ask('POST', path, { body: withBad(body) });
      await ask('POST', '/api/api-token', { body: withBad(body) });
      await ask('POST', '/api/stream', { body: withBad(body) });
      await ask('PATCH', `/api/stream/${stream}`, { body: withBad(body) });
      await ask('PATCH', `/api/multistream/target/${target}`, { body: withBad(body) });
    }
  }
});

interface Given {
  body?: unknown;
  headers?: Record<string, string>;
  /** `null`: no key. Default: the bootstrap key. */
  key?: string | null;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** With a field that makes the request fail whatever else is in it: what it names is not to be stored and shown. */
function withBad(body: unknown): unknown {
  return typeof body === 'string' ? body : { ...(body as object), bad: 1 };
}

/** Passes RTMP on, and keeps what the server says. */
async function startRelay(port: number, into: string[]) {
  const relay: TcpServer = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    upstream.on('data', (bytes) => into.push(bytes.toString('latin1')));
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const { port: own } = relay.address() as { port: number };
  return { url: (path: string) => `rtmp://127.0.0.1:${own}/${path}`, close: () => relay.close() };
}

/** Keeps an event stream as it comes, until it is called off. */
async function follow(
  url: string,
  options: { key: string; signal: AbortSignal; into: string[] },
): Promise<void> {
  const { key, signal, into } = options;
  try {
    const { body } = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal });
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>)
      into.push(new TextDecoder().decode(chunk));
  } catch {
    // It was called off.
  }
}
