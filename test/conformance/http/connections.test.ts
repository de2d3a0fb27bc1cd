import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { cidr } from '../../../core/base/cidr.ts';
import type { HttpCore } from '../../../core/http/http.ts';
import { type ListenOptions, listen } from '../../../runtime/http/listen.ts';
import { Seats } from '../../../runtime/http/seats.ts';
import { nodeGate } from '../../../runtime/nodes/node-gate.ts';
import { until } from '../../e2e/harness/wait.ts';
import { patient } from '../../kit/patient.ts';
import { silentLog } from '../../kit/silent-log.ts';

const secret = 'a-secret-of-the-nodes';

interface Client {
  readonly socket: Socket;
  readonly isClosed: boolean;
  /** What has come. */
  readonly text: string;
  ask(path: string, headers?: string): Promise<number>;
}

async function given(options: Partial<ListenOptions> & { answer?: HttpCore['fetch'] } = {}) {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void lines.push(message) };
  const fetch = options.answer ?? (() => new Response('fine'));
  const gate = nodeGate({ app: { fetch }, secret });
  const server = await listen({ fetch }, { host: '127.0.0.1', port: 0, log, gate, ...options });
  const sockets: Socket[] = [];
  const dial = async (text = '', from = '127.0.0.1'): Promise<Client> => {
    let got = '';
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: from });
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.on('data', (piece) => (got += piece));
    sockets.push(socket);
    await new Promise<void>((resolve) => {
      socket.once('connect', () => resolve());
      socket.once('close', () => resolve());
    });
    if (text !== '') socket.write(text);
    const client = {
      socket,
      get isClosed() {
        return socket.closed;
      },
      get text() {
        return got;
      },
      async ask(path: string, headers = '') {
        got = '';
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
        await until('an answer', () => got.includes('\r\n\r\n') || socket.closed, {
          within: patient.timeout,
          every: 1,
        });
        return Number(got.slice(9, 12));
      },
    };
    return client;
  };
  const closed = (client: Client) =>
    until('the connection to be closed', () => client.isClosed, { within: patient.timeout, every: 1 });
  return {
    ...{ server, dial, closed, lines },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await server.stop();
    },
  };
}

it('an address is one, whether it comes as IPv4 or dressed as IPv6, and two are two', () => {
  const seats = new Seats({ perAddress: 1, log: silentLog });
  const seated = (peer: string) =>
    ({ peer, isSpare: false, close() {} }) as unknown as Parameters<Seats['admit']>[0];
  expect(seats.admit(seated('::ffff:192.0.2.1'))).toBe(true);
  expect(seats.admit(seated('::ffff:192.0.2.2'))).toBe(true);
  expect(seats.admit(seated('192.0.2.1'))).toBe(false);
});

describe('a body in chunks', () => {
  it('of one byte each reaches its reader in as few pieces as it came in', async () => {
    const count = 50_000;
    const read = Promise.withResolvers<{ pieces: number; bytes: number }>();
    await using given_ = await given({
      async answer({ body }) {
        // Until then it waits.
        await new Promise((resolve) => setTimeout(resolve, 100));
        const found = { pieces: 0, bytes: 0 };
        for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
          found.pieces += 1;
          found.bytes += piece.length;
        }
        read.resolve(found);
        return new Response('fine');
      },
    });
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    await given_.dial(`${head}${'1\r\na\r\n'.repeat(count)}0\r\n\r\n`);
    const { pieces, bytes } = await read.promise;
    expect(bytes).toBe(count);
    expect(pieces).toBeLessThan(count / 10);
  });
});

describe('requests that a client sends before it has answers', () => {
  it('are answered in turns, and keep nobody else waiting', async () => {
    let answered = 0;
    let before: number | undefined;
    let other: Client | undefined;
    await using given_ = await given({
      answer({ url }) {
        if (url.endsWith('/other')) before = answered;
        else answered += 1;
        if (answered === 1) other?.socket.write('GET /other HTTP/1.1\r\nHost: a\r\n\r\n');
        return new Response('fine');
      },
    });
    other = await given_.dial();
    const many = 1000;
    const hasty = await given_.dial('GET /hasty HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(many));
    const answers = () => hasty.text.split('HTTP/1.1 200').length - 1;
    await until('all answers', () => answers() === many, { within: patient.timeout, every: 1 });
    expect(answered).toBe(many);
    expect(before).toBeLessThan(many / 4);
  });
});

describe('connections of one address', () => {
  it('are so many, get their places back, and take no place of another address', async () => {
    await using s = await given({ connectionsPerAddress: 3 });
    const held = [await s.dial(), await s.dial(), await s.dial()];
    for (const client of held) expect(await client.ask('/')).toBe(200);
    for (let count = 0; count < 3; count += 1) await s.closed(await s.dial());
    expect(await (await s.dial('', '127.0.0.2')).ask('/')).toBe(200);
    expect(s.lines).toEqual(['http connection refused']);
    held[0].socket.destroy();
    await until('a place', async () => (await (await s.dial()).ask('/')) === 200, {
      within: patient.timeout,
      every: 5,
    });
    expect(await held[1].ask('/')).toBe(200);
  });

  it('are any number for a proxy, and for another node once it is known as one', async () => {
    const trusted = [cidr('127.0.0.8/32') as NonNullable<ReturnType<typeof cidr>>];
    await using s = await given({ connectionsPerAddress: 2, trusted });
    for (let count = 0; count < 5; count += 1)
      expect(await (await s.dial('', '127.0.0.8')).ask('/')).toBe(200);
    for (let count = 0; count < 5; count += 1) {
      const node = await s.dial('', '127.0.0.9');
      expect(await node.ask('/internal/x', `x-millrace-node: ${secret}\r\n`)).toBe(200);
    }
    // A stranger who only says so counts.
    for (let count = 0; count < 2; count += 1)
      expect(await (await s.dial('', '127.0.0.7')).ask('/internal/x', 'x-millrace-node: no\r\n')).toBe(403);
    await s.closed(await s.dial('', '127.0.0.7'));
  });
});

describe('when there are as many connections as there may be', () => {
  const waitsFor = (isLetGo: Promise<void>) => async (request: Request) => {
    if (request.url.endsWith('/wait')) await isLetGo;
    if (request.method === 'POST') await request.text();
    return new Response('fine');
  };

  it('the oldest without a whole head makes room, then an idle one, then one whose body does not come', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using s = await given({ connections: 4, answer: waitsFor(promise) });
    const idle = await s.dial();
    expect(await idle.ask('/')).toBe(200);
    const bodiless = await s.dial('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx');
    const [first, second] = [await s.dial('GET / HT'), await s.dial()];
    const busy: Client[] = [];
    for (const victim of [first, second, idle, bodiless]) {
      expect(victim.isClosed).toBe(false);
      busy.push(await s.dial('GET /wait HTTP/1.1\r\nHost: a\r\n\r\n'));
      await s.closed(victim);
      // So that the next one finds it busy.
      await Bun.sleep(5);
    }
    // All are busy: only operators are answered beyond.
    expect(await (await s.dial()).ask('/health/live')).toBe(200);
    const other = await s.dial();
    expect([await other.ask('/'), other.text]).toEqual([503, expect.stringContaining('server.busy')]);
    await s.closed(other);
    resolve();
    for (const client of busy)
      await until('its answer', () => client.text.includes('200 OK'), { within: patient.timeout, every: 1 });
  });

  it('further ones are closed when nobody can make room', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using s = await given({ connections: 1, answer: waitsFor(promise) });
    const wait = 'GET /health/wait HTTP/1.1\r\nHost: a\r\n\r\n';
    const all: Client[] = [];
    for (let count = 0; count < 40; count += 1) {
      all.push(await s.dial(wait));
      await Bun.sleep(2);
    }
    await until('some to be closed', () => all.some(({ isClosed }) => isClosed), {
      within: patient.timeout,
    });
    expect(all.slice(0, 33).filter(({ isClosed }) => isClosed)).toEqual([]);
    expect(s.lines).toEqual(['http connection refused']);
    resolve();
  });
});

describe('a client that reads', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

  it('too little while bytes wait for it is ended; steadily, or what comes seldom, is not', async () => {
    const ended: string[] = [];
    const endless = ({ url }: Request) => {
      const body = new ReadableStream({
        async pull(controller) {
          if (url.endsWith('/seldom')) await Bun.sleep(300);
          controller.enqueue(new Uint8Array(url.endsWith('/seldom') ? 4 : 65_536));
        },
        cancel: () => void ended.push(new URL(url).pathname),
      });
      return new Response(body, { headers: { 'content-length': String(2 ** 40) } });
    };
    await using s = await given({ answer: endless, slowWindow: 600 });
    const [slow, steady, seldom] = [await s.dial(), await s.dial(), await s.dial()];
    slow.socket.pause();
    let taken = 0;
    steady.socket.on('data', (piece) => {
      taken += piece.length;
      steady.socket.pause();
    });
    const reading = setInterval(() => steady.socket.resume(), 20);
    slow.socket.write(get('/slow'));
    steady.socket.write(get('/steady'));
    seldom.socket.write(get('/seldom'));
    // Silence would have ended it after 30 s.
    await until('the slow one to be ended', () => ended.length > 0, { within: 15_000, every: 5 });
    const before = [taken, seldom.text.length];
    await Bun.sleep(1300);
    clearInterval(reading);
    expect(ended).toEqual(['/slow']);
    expect(taken).toBeGreaterThan(before[0]);
    expect(seldom.text.length).toBeGreaterThan(before[1]);
  });
});

it('a proxy that the config does not name is named in the log, once', async () => {
  await using s = await given({ trusted: [cidr('127.0.0.8/32') as NonNullable<ReturnType<typeof cidr>>] });
  const forwarded = 'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n';
  const askOften = async (from: string, count: number) => {
    const client = await s.dial(forwarded.repeat(count), from);
    const answers = () => client.text.match(/200 OK/g)?.length;
    await until('all answers', () => answers() === count, { within: patient.timeout, every: 2 });
  };
  await askOften('127.0.0.8', 250);
  expect(s.lines).toEqual([]);
  await askOften('127.0.0.1', 450);
  expect(s.lines).toEqual([expect.stringContaining('http.trustedProxies')]);
});
