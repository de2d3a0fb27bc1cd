import { describe, expect, it } from 'vitest';
import { client, receiver, said } from './kit.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const mebibyte = 1024 * 1024;

describe('a body that is received', () => {
  it('arrives whole, and is counted', async () => {
    const bytes = Buffer.alloc(3 * mebibyte, 'abc');
    await using server = await receiver(() =>
      Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`), bytes]),
    );
    using outbound = client();
    const answer = await outbound.open(server.url, { maxBytes: bytes.length });
    if (!answer.ok) throw new Error(answer.message);
    expect(answer.length).toBe(bytes.length);
    const got: Uint8Array[] = [];
    for (let next = await answer.body.read(); next !== undefined; next = await answer.body.read()) {
      if ('ok' in next) throw new Error(next.message);
      got.push(next);
    }
    expect(Buffer.concat(got).equals(bytes)).toBe(true);
    expect(answer.body.received).toBe(bytes.length);
    expect(await answer.body.read()).toBeUndefined();
  });

  it('makes the peer wait for a reader that is slower', async () => {
    let written = 0;
    await using server = await receiver(({ socket }) => {
      const chunk = Buffer.alloc(64 * 1024);
      const more = (): void => {
        if (!socket.writable || written >= 256 * mebibyte) return;
        written += chunk.length;
        socket.write(chunk, more);
      };
      socket.write('HTTP/1.1 200 OK\r\n\r\n', more);
      return undefined;
    });
    using outbound = client();
    const answer = await outbound.open(server.url, { maxBytes: 1024 * mebibyte });
    if (!answer.ok) throw new Error(answer.message);
    let before = -1;
    for (let same = 0; same < 200; same = written === before ? same + 1 : 0) {
      before = written;
      await turn();
    }
    expect(written).toBeLessThan(32 * mebibyte);
    await answer.body.read();
    answer.body.cancel();
    expect(await answer.body.read()).toMatchObject({ reason: 'aborted' });
    while (server.sockets.size > 0) await turn();
  });

  it('that is too large is told at once when it says so, and otherwise when it is', async () => {
    await using honest = await receiver(() => 'HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n');
    await using silent = await receiver(() => `HTTP/1.1 200 OK\r\n\r\n${'a'.repeat(1001)}`);
    using outbound = client();
    expect(await outbound.open(honest.url, { maxBytes: 1000 })).toMatchObject({
      reason: 'too-large',
      status: 200,
    });
    const answer = await outbound.open(silent.url, { maxBytes: 1000 });
    let last: unknown;
    do last = answer.ok && (await answer.body.read());
    while (last instanceof Uint8Array);
    expect(last).toMatchObject({ reason: 'too-large' });
  });

  it('that breaks off says so', async () => {
    await using server = await receiver(
      ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc'),
    );
    using outbound = client();
    const answer = await outbound.open(server.url);
    if (!answer.ok) return expect(answer).toMatchObject({ reason: 'closed' });
    let last: unknown;
    do last = await answer.body.read();
    while (last instanceof Uint8Array);
    expect(last).toMatchObject({ ok: false, reason: 'closed', status: 200 });
  });
});

describe('a body that is sent', () => {
  const source = (length: number, chunks: () => AsyncIterable<Uint8Array>) => ({ length, chunks });
  async function* pieces(count: number, size: number) {
    for (let n = 0; n < count; n++) yield Buffer.alloc(size, 'a');
  }

  it('goes piece by piece with its length, and is counted', async () => {
    await using server = await receiver(() => said(201));
    using outbound = client();
    const sent: number[] = [];
    const body = source(300, () => pieces(3, 100));
    const outcome = await outbound.request(server.url, { method: 'PUT', body, onSent: (n) => sent.push(n) });
    expect(outcome).toMatchObject({ ok: true, status: 201 });
    expect(server.requests[0].body).toBe('a'.repeat(300));
    expect(sent).toEqual([100, 200, 300]);
  });

  it('is read no faster than the peer reads', async () => {
    let taken = 0;
    let isStopped = false;
    async function* endless() {
      try {
        for (;;) {
          taken += 64 * 1024;
          yield Buffer.alloc(64 * 1024);
        }
      } finally {
        isStopped = true;
      }
    }
    await using server = await receiver(() => undefined);
    using outbound = client();
    const caller = new AbortController();
    const body = source(1024 * mebibyte, endless);
    const asked = outbound.request(server.url, { method: 'PUT', body, signal: caller.signal });
    while (server.sockets.size === 0) await turn();
    for (const socket of server.sockets) socket.pause();
    let before = -1;
    for (let same = 0; same < 200; same = taken === before ? same + 1 : 0) {
      before = taken;
      await turn();
    }
    expect(taken).toBeLessThan(32 * mebibyte);
    caller.abort();
    expect(await asked).toMatchObject({ reason: 'aborted' });
    while (!isStopped) await turn();
  });

  it.each([
    ['ends early', 301, () => pieces(3, 100)],
    ['is too long', 299, () => pieces(3, 100)],
    [
      'throws',
      300,
      () => {
        throw new Error('/secret/path');
      },
    ],
  ])('that %s is a failure of the source', async (_, length, chunks) => {
    await using server = await receiver(() => undefined);
    using outbound = client();
    const outcome = await outbound.request(server.url, { method: 'PUT', body: source(length, chunks) });
    expect(outcome).toMatchObject({
      ok: false,
      reason: 'source',
      message: expect.not.stringContaining('secret'),
    });
    expect(server.requests).toEqual([]);
  });

  it('to a peer that refuses meanwhile: its answer counts, and the source is stopped', async () => {
    let isStopped = false;
    async function* endless() {
      try {
        for (;;) {
          await turn();
          yield Buffer.alloc(1024);
        }
      } finally {
        isStopped = true;
      }
    }
    await using server = await receiver(() => undefined);
    using outbound = client();
    const asked = outbound.request(server.url, { method: 'PUT', body: source(1024 * mebibyte, endless) });
    while (server.sockets.size === 0) await turn();
    for (const socket of server.sockets) socket.write(said(413, { body: 'too much' }));
    expect(await asked).toMatchObject({ ok: true, status: 413 });
    while (!isStopped) await turn();
  });
});
