import { createServer } from 'node:net';
import { describe, expect, it, test } from 'vitest';
import { client, receiver, said } from './kit.ts';

/** What a receiver does wrong, and what the caller is told. */
const wrong: [what: string, bytes: string, reason: string, message: RegExp][] = [
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'protocol', /not an HTTP/],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n', 'protocol', /not an HTTP/],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'protocol', /not an HTTP/],
  ['lines without CR', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', 'protocol', /not an HTTP/],
  ['a header line without CR', 'HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n', 'protocol', /malformed/],
  ['a folded header line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n', 'protocol', /malformed/],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n', 'protocol', /malformed/],
  ['a NUL in a header', 'HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n', 'protocol', /malformed/],
  ['a bare CR in a header', 'HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n', 'protocol', /malformed/],
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'protocol',
    /two different/,
  ],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', 'protocol', /not a number/],
  ['a length in hex', 'HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\na', 'protocol', /not a number/],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na', 'protocol', /not a number/],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'protocol',
    /ambiguous/,
  ],
  [
    'another encoding',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
    'protocol',
    /ambiguous/,
  ],
  [
    'chunks in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'protocol',
    /ambiguous/,
  ],
  ['a bad chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n', 'protocol', /chunk/],
  [
    'a huge chunk size',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
    'protocol',
    /chunk/,
  ],
  [
    'a chunk too long',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n',
    'protocol',
    /longer than/,
  ],
  ['another protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: a\r\n\r\n', 'protocol', /switch/],
  ['interim answers for ever', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9), 'protocol', /without end/],
  ['a header without end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(40_000)}`, 'protocol', /larger than 32768/],
  ['a status line without end', `HTTP/1.1 200 ${'a'.repeat(40_000)}`, 'protocol', /larger than 32768/],
  ['too many header lines', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(200)}\r\n`, 'protocol', /more than 128/],
  [
    'trailers without end',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'A: b\r\n'.repeat(2000)}`,
    'protocol',
    /chunks/,
  ],
  [
    'a chunk extension without end',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(5000)}`,
    'protocol',
    /chunks/,
  ],
  [
    'chunk extensions that add up',
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`1;${'a'.repeat(1000)}\r\nb\r\n`.repeat(5)}0\r\n\r\n`,
    'protocol',
    /chunks/,
  ],
];

/** What is fine although it looks odd. */
const fine: [what: string, bytes: string, body: string][] = [
  [
    'chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n',
    'abcde',
  ],
  ['a status without a reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab', 'ab'],
  ['the same length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab', 'ab'],
  [
    'interim answers',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab',
    'ab',
  ],
  ['no body with 204', 'HTTP/1.1 204 None\r\n\r\n', ''],
  [
    'compressed bytes, as they are',
    'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08',
    '\x1f\x8b\x08',
  ],
];

describe('answers', () => {
  it('may end with trailers, of which the last of a name counts', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n';
    const answers = [
      `${head}X-Error: no\r\nX-Error: disk full\r\nno trailer\r\n__proto__: x\r\n\r\n`,
      `${head}\r\n`,
    ];
    await using to = await receiver(() => answers.shift());
    using outbound = client();
    const first = await outbound.request(to.url);
    expect(first.ok && Object.entries(first.trailers)).toEqual([
      ['x-error', 'disk full'],
      ['__proto__', 'x'],
    ]);
    expect(await outbound.request(to.url)).toMatchObject({ ok: true, trailers: {} });
    // Both by one connection: trailers are a part of the answer.
    expect(to.connections).toBe(1);
  });

  test.each(wrong)('%s', async (_, bytes, reason, message) => {
    await using server = await receiver(() => Buffer.from(bytes, 'latin1'));
    using outbound = client();
    const outcome = await outbound.request(server.url);
    expect(outcome).toMatchObject({ ok: false, reason, message: expect.stringMatching(message) });
  });

  test.each(fine)('%s', async (_, bytes, body) => {
    await using server = await receiver(() => Buffer.from(bytes, 'latin1'));
    using outbound = client();
    const outcome = await outbound.request(server.url);
    expect(outcome).toMatchObject({ ok: true, isCut: false });
    expect(outcome.ok && Buffer.from(outcome.body).toString('latin1')).toBe(body);
  });

  it('read the same however their bytes are cut', async () => {
    for (const [what, bytes, body] of fine) {
      await using server = await receiver(({ socket }) => {
        void (async () => {
          for (const byte of Buffer.from(bytes, 'latin1')) {
            socket.write(Buffer.of(byte));
            await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        return undefined;
      });
      using outbound = client();
      const outcome = await outbound.request(server.url);
      expect(outcome.ok && Buffer.from(outcome.body).toString('latin1'), what).toBe(body);
    }
  });

  it.each([
    ['before the answer', '', undefined],
    ['in the header', 'HTTP/1.1 200 OK\r\nA:', undefined],
    ['before the length it promised', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', 200],
    ['between chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n', 200],
  ])('closed %s', async (_, bytes, status) => {
    await using server = await receiver(({ socket }) => {
      socket.end(bytes);
      return undefined;
    });
    using outbound = client();
    const outcome = await outbound.request(server.url);
    expect(outcome).toMatchObject({ ok: false, reason: 'closed' });
    expect(!outcome.ok && outcome.status).toBe(status);
  });

  it('without a length it ends with the connection', async () => {
    await using server = await receiver(({ socket }) => {
      socket.end('HTTP/1.1 200 OK\r\n\r\nabc');
      return undefined;
    });
    using outbound = client();
    const outcome = await outbound.request(server.url);
    expect(outcome.ok && Buffer.from(outcome.body).toString()).toBe('abc');
  });

  it('never given, or given a byte now and then, end in time', async () => {
    await using silent = await receiver(() => undefined);
    await using body = await receiver(() => 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\na');
    await using slow = await receiver(({ socket }) => {
      const drip = () => socket.writable && socket.write('a', () => setImmediate(drip));
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n', drip);
      return undefined;
    });
    using outbound = client();
    const outcomes = await Promise.all([
      outbound.request(silent.url, { idleTimeout: 50 }),
      outbound.request(silent.url, { timeout: 50 }),
      outbound.request(body.url, { idleTimeout: 50 }),
      outbound.request(slow.url, { timeout: 200, maxBytes: 1e9 }),
    ]);
    expect(outcomes.map((one) => !one.ok && [one.reason, one.status])).toEqual([
      ['timeout', undefined],
      ['timeout', undefined],
      ['timeout', 200],
      ['timeout', 200],
    ]);
  });

  it('without end are cut, and their connection is closed', async () => {
    let written = 0;
    await using server = await receiver(({ socket }) => {
      const chunk = Buffer.alloc(16 * 1024, 'a');
      const more = () => {
        written += chunk.length;
        if (socket.writable) socket.write(chunk, () => setImmediate(more));
      };
      socket.write('HTTP/1.1 200 OK\r\n\r\n', more);
      return undefined;
    });
    using outbound = client();
    const outcome = await outbound.request(server.url, { maxBytes: 1024 });
    expect(outcome).toMatchObject({ ok: true, status: 200, isCut: true });
    expect(outcome.ok && outcome.body.length).toBe(1024);
    while (server.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('that are long on the wire and not in their bodies are not read to their ends either', async () => {
    // More than one read of a socket brings on a busy machine: whole, the connection would rightly be kept.
    const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(1_000_000)}0\r\n\r\n`;
    await using server = await receiver(() => bytes);
    using outbound = client({ limits: { idleLife: 3_600_000 } });
    expect(await outbound.request(server.url, { maxBytes: 10 })).toMatchObject({ ok: true, isCut: true });
    while (server.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('peers', () => {
  it('that refuse the connection', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    using outbound = client();
    expect(await outbound.request(`http://127.0.0.1:${port}/`)).toMatchObject({
      reason: 'connect',
      message: expect.stringContaining('refused the connection'),
    });
  });

  it('of several addresses: the first that can be reached', async () => {
    await using server = await receiver(() => said(200));
    using outbound = client({
      allow: ['127.0.0.0/8'],
      lookup: async () => ['127.0.0.3', '127.0.0.4', '127.0.0.1'],
    });
    expect(await outbound.request(`http://receiver.example:${server.port}/`)).toMatchObject({ ok: true });
  });

  it('that are not waited for any more: aborted, by the caller or by the end of the program', async () => {
    await using server = await receiver(() => undefined);
    using outbound = client();
    const caller = new AbortController();
    const first = outbound.request(server.url, { signal: caller.signal });
    const second = outbound.request(server.url);
    while (server.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    caller.abort();
    expect(await first).toMatchObject({ reason: 'aborted' });
    outbound.close();
    expect(await second).toMatchObject({ reason: 'aborted' });
    expect(await outbound.request(server.url)).toMatchObject({ reason: 'aborted' });
    while (server.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    const late = client();
    expect(await late.request(server.url, { signal: AbortSignal.abort() })).toMatchObject({
      reason: 'aborted',
    });
  });

  it('more requests than allowed are busy', async () => {
    await using server = await receiver(() => undefined);
    using outbound = client({ limits: { requests: 1 } });
    const first = outbound.request(server.url);
    expect(await outbound.request(server.url)).toMatchObject({ reason: 'busy' });
    outbound.close();
    await first;
  });
});
