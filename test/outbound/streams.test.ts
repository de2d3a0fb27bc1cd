import { describe, expect, it } from 'vitest';
import { client, listening, receiver, said } from './kit.ts';

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
    expect(await answer.body.read()).toBeUndefined();
  });

  it('comes in few pieces, however small the chunks are in which it is sent', async () => {
    const chunks = '1\r\nx\r\n'.repeat(50_000);
    await using server = await receiver(() =>
      Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
    );
    using outbound = client();
    const answer = await outbound.open(server.url, { maxBytes: mebibyte });
    if (!answer.ok) throw new Error(answer.message);
    let count = 0;
    while ((await answer.body.read()) !== undefined) count += 1;
    expect(count).toBeLessThan(500);
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

describe('a body that is asked for first', () => {
  async function* pieces() {
    for (let n = 0; n < 3; n++) yield Buffer.alloc(100, 'a');
  }
  const body = { length: 300, chunks: pieces, canRepeat: true };
  const put = { method: 'PUT', body, asksFirst: true } as const;

  /** A peer that says something as soon as it has the head of a request, and what had come of the body by then. */
  async function peer(say: (head: string, count: number) => string | undefined) {
    const heads: string[] = [];
    const sizes: number[] = [];
    const server = await listening((socket) => {
      let text = '';
      let isSaid = false;
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        if (!isSaid) {
          isSaid = true;
          const head = text.slice(0, end);
          heads.push(head);
          sizes.push(text.length - end - 4);
          const answer = say(head, heads.length);
          if (answer !== undefined) socket.write(answer);
        }
        if (text.length === end + 4 + 300) socket.write(said(200));
      });
    });
    return { ...server, heads, sizes };
  }

  it('is sent when the peer wants it', async () => {
    await using server = await peer(() => 'HTTP/1.1 100 Continue\r\n\r\n');
    using outbound = client({ limits: { continueTimeout: 3_600_000 } });
    expect(await outbound.request(server.url, put)).toMatchObject({ ok: true, status: 200 });
    expect(server.heads[0]).toContain('\r\nExpect: 100-continue');
    expect(server.sizes).toEqual([0]);
  });

  it('is not sent to a peer that does not, whose answer is heard', async () => {
    let isRead = false;
    const chunks = async function* () {
      isRead = true;
      yield Buffer.alloc(300);
    };
    await using server = await peer(() => said(403, { body: 'no' }));
    using outbound = client({ limits: { continueTimeout: 3_600_000 } });
    const answer = await outbound.request(server.url, { ...put, body: { length: 300, chunks } });
    expect(answer).toMatchObject({ ok: true, status: 403, body: Buffer.from('no') });
    expect(isRead).toBe(false);
    while (server.sockets.size > 0) await turn();
  });

  it('is sent when the peer says nothing', async () => {
    await using server = await peer(() => undefined);
    using outbound = client({ limits: { continueTimeout: 5 } });
    expect(await outbound.request(server.url, put)).toMatchObject({ ok: true, status: 200 });
  });

  it('is sent without asking to a peer that cannot be asked', async () => {
    await using server = await peer((_, count) => (count === 1 ? said(417) : undefined));
    using outbound = client();
    expect(await outbound.request(server.url, put)).toMatchObject({ ok: true, status: 200 });
    expect(server.heads.map((head) => head.includes('Expect'))).toEqual([true, false]);
  });

  it('ends with its time, its signal and its connection', async () => {
    await using server = await peer(() => undefined);
    await using hasty = await listening((socket) => socket.once('data', () => socket.destroy()));
    using outbound = client({ limits: { continueTimeout: 3_600_000 } });
    const asked = { ...put, idleTimeout: 20 };
    expect(await outbound.request(server.url, asked)).toMatchObject({ reason: 'timeout' });
    const signal = AbortSignal.timeout(20);
    expect(await outbound.request(server.url, { ...put, signal })).toMatchObject({ reason: 'aborted' });
    expect(await outbound.request(hasty.url, put)).toMatchObject({ reason: 'closed' });
  });
});
