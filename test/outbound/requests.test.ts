import { describe, expect, it, test } from 'vitest';
import { certificates } from './certificates.ts';
import { client, receiver, said } from './kit.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('what is sent', () => {
  it('has the name as Host, its length, and asks for no compression', async () => {
    await using server = await receiver(() => said(200));
    using outbound = client();
    let starts = 0;
    const sent: number[] = [];
    await outbound.request(`http://receiver.example:${server.port}/a%20b?c=d#e`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', 'X-Own': 'yes' },
      body: 'grüße',
      onStart: () => starts++,
      onSent: (bytes) => sent.push(bytes),
    });
    const [{ head, body }] = server.requests;
    expect(head.split('\r\n')).toEqual([
      'POST /a%20b?c=d HTTP/1.1',
      `Host: receiver.example:${server.port}`,
      'content-type: text/plain',
      'X-Own: yes',
      'User-Agent: Millrace',
      'Accept-Encoding: identity',
      'Content-Length: 7',
    ]);
    expect(Buffer.from(body, 'latin1').toString()).toBe('grüße');
    expect([starts, sent]).toEqual([1, [7]]);
  });

  const names = [
    'Host',
    'content-length',
    'TRANSFER-ENCODING',
    'connection',
    'Keep-Alive',
    'te',
    'Trailer',
    'upgrade',
    'expect',
    'proxy-authorization',
    'Proxy-Connection',
    'accept-encoding',
    'a b',
    'a:',
    'a\r\nb',
    '',
    'ü',
    'a\0',
  ];
  test.each(names)('a header %j is refused by name', async (name) => {
    using outbound = client();
    const request = { headers: { [name]: 'value' } };
    const outcome = await outbound.request('http://127.0.0.1:9999/', request);
    expect(outcome).toMatchObject({
      reason: 'bad-request',
      message: expect.stringContaining(JSON.stringify(name)),
    });
    expect(outbound.problem('http://127.0.0.1:9999/', request)).toEqual(outcome);
  });

  test.each(['a\r\nHost: evil', 'a\nb', 'a\rb', 'a\0b', 'ü', '\x7f'])(
    'a value %j is refused, and not repeated',
    (value) => {
      using outbound = client();
      const found = outbound.problem('http://127.0.0.1:9999/', { headers: { 'x-own': value } });
      expect(found).toMatchObject({ reason: 'bad-request', message: expect.stringContaining('"x-own"') });
      expect(found?.message).not.toContain(value);
    },
  );

  it('has bounds', () => {
    using outbound = client();
    const url = 'http://127.0.0.1:9999/';
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`x-${n}`, '']));
    expect(outbound.problem(url, { headers: many })).toMatchObject({ reason: 'bad-request' });
    expect(outbound.problem(url, { headers: { a: 'a'.repeat(20_000) } })).toMatchObject({
      reason: 'bad-request',
    });
    expect(outbound.problem(url, { headers: { a: 'b', A: 'c' } })).toMatchObject({ reason: 'bad-request' });
    expect(outbound.problem(url, { redirects: 4 })).toMatchObject({ reason: 'bad-request' });
    expect(outbound.problem(url, { method: 'CONNECT' as 'GET' })).toMatchObject({ reason: 'bad-request' });
    expect(outbound.problem(url, { method: 'GET', body: 'a' })).toMatchObject({ reason: 'bad-request' });
    expect(
      outbound.problem(url, { method: 'PUT', body: 'a', headers: { a: 'b' }, redirects: 3 }),
    ).toBeUndefined();
  });
});

describe('connections', () => {
  it('are used again for what may be sent twice, and only for that', async () => {
    await using server = await receiver(() => said(200, { body: 'a' }));
    using outbound = client();
    for (let n = 0; n < 3; n++) await outbound.request(server.url, { method: 'POST', repeatable: true });
    expect(server.connections).toBe(1);
    await outbound.request(server.url, { method: 'POST' });
    expect(server.connections).toBe(2);
  });

  it('that the peer closed meanwhile cost nothing: the request is sent again on a new one', async () => {
    await using server = await receiver(({ socket, connection }) => {
      if (server.requests.length === 2 && connection === 0) {
        socket.destroy();
        return undefined;
      }
      return said(200);
    });
    using outbound = client();
    await outbound.request(server.url);
    let starts = 0;
    const onStart = () => {
      starts += 1;
    };
    expect(await outbound.request(server.url, { onStart })).toMatchObject({ ok: true });
    expect(starts).toBe(1);
    expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 1]);
  });

  it.each([
    ['Connection: close', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
    [
      'more bytes than its length',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 Smuggled\r\n\r\n',
    ],
  ])('are not used again after %s', async (_, bytes) => {
    await using server = await receiver(() => bytes);
    using outbound = client();
    expect(await outbound.request(server.url)).toMatchObject({ ok: true, status: 200 });
    expect(await outbound.request(server.url)).toMatchObject({ ok: true, status: 200 });
    expect(server.connections).toBe(2);
  });

  it('that get an answer nobody asked for are closed', async () => {
    await using server = await receiver(() => said(200));
    using outbound = client({ limits: { idleLife: 60_000 } });
    await outbound.request(server.url);
    for (const socket of server.sockets)
      socket.write('HTTP/1.1 200 Poison\r\nContent-Length: 6\r\n\r\npoison');
    while (server.sockets.size > 0) await turn();
    const outcome = await outbound.request(server.url);
    expect(outcome.ok && Buffer.from(outcome.body).toString()).toBe('');
  });

  it('are not shared between owners: answers ahead of their requests reach nobody else', async () => {
    await using server = await receiver(() => said(200));
    using outbound = client();
    for (const owner of ['a', 'b', 'a', 'b', undefined]) await outbound.request(server.url, { owner });
    expect(server.requests.map(({ connection }) => connection)).toEqual([0, 1, 0, 1, 2]);
  });

  it('are checked again after a while: a name that stands for something else now is refused', async () => {
    await using server = await receiver(() => said(200));
    let addresses = ['127.0.0.1'];
    let asked = 0;
    using outbound = client({
      allow: ['127.0.0.1/32', '127.0.0.9/32'],
      limits: { recheckAfter: 0 },
      lookup: async () => {
        asked++;
        return addresses;
      },
    });
    const url = `http://receiver.example:${server.port}/`;
    await outbound.request(url);
    await outbound.request(url);
    expect([asked, server.connections]).toEqual([2, 1]);
    // Nobody listens there: an answer could come from the kept connection only.
    addresses = ['127.0.0.9'];
    expect(await outbound.request(url)).toMatchObject({ reason: 'connect' });
    addresses = ['127.0.0.1', '10.0.0.1'];
    expect(await outbound.request(url)).toMatchObject({ reason: 'refused' });
  });

  it('are kept in bounded numbers', async () => {
    await using server = await receiver(() => undefined);
    using outbound = client({ limits: { idlePerPlace: 2 } });
    const all = Array.from({ length: 5 }, () => outbound.request(server.url));
    while (server.requests.length < 5) await turn();
    for (const socket of server.sockets) socket.write(said(200));
    expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true);
    while (server.sockets.size > 2) await turn();
    expect(server.sockets.size).toBe(2);
  });
});

describe('redirects', () => {
  const to = (status: number, location: string) => said(status, { headers: { location } });

  it('are an answer like any other unless asked for', async () => {
    await using server = await receiver(() => to(302, 'http://127.0.0.2/'));
    using outbound = client();
    expect(await outbound.request(server.url)).toMatchObject({ ok: true, status: 302 });
  });

  it.each([
    'http://127.0.0.2:PORT/',
    'http://[::ffff:127.0.0.2]:PORT/',
    '//127.2:PORT/',
    'http://0x7f000002:PORT/',
    'http://inner.example:PORT/',
    'http://169.254.169.254/latest',
    'http://user@127.0.0.1/',
    'file:///etc/passwd',
    'https://[::1]:PORT/',
    'gopher://127.0.0.1/',
    'http://127.0.0.1:25/',
  ])('to %s are refused, at each hop', async (location) => {
    await using spy = await receiver(() => said(200), { host: '127.0.0.2' });
    const target = location.replace('PORT', String(spy.port));
    for (const hops of [0, 1, 2]) {
      await using server = await receiver(() =>
        server.requests.length <= hops ? to(307, `/hop${server.requests.length}`) : to(302, target),
      );
      using outbound = client({ lookup: async () => ['127.0.0.2'] });
      const outcome = await outbound.request(server.url, { redirects: 3 });
      expect(outcome).toMatchObject({ ok: false, reason: expect.stringMatching(/^(refused|bad-url)$/) });
    }
    expect(spy.connections).toBe(0);
  });

  it('end after as many as asked for', async () => {
    await using server = await receiver(() => to(302, '/again'));
    using outbound = client();
    expect(await outbound.request(server.url, { redirects: 3 })).toMatchObject({
      reason: 'redirects',
      status: 302,
    });
    expect(server.requests).toHaveLength(4);
  });

  it('to another origin lose what might be a credential, to the same keep it', async () => {
    await using other = await receiver(() => said(200));
    await using server = await receiver(() =>
      server.requests.length === 1 ? to(307, '/b') : to(308, other.url),
    );
    using outbound = client();
    const headers = { authorization: 'Bearer a', cookie: 'a=b', 'x-api-key': 'c', accept: 'text/plain' };
    const outcome = await outbound.request(server.url, { headers, redirects: 2, method: 'PUT', body: 'abc' });
    expect(outcome).toMatchObject({ ok: true, redirects: 2, url: `${other.url}/` });
    expect(server.requests[1].head).toMatch(/authorization: Bearer a/);
    expect(other.requests[0].head).not.toMatch(/authorization|cookie|x-api-key/i);
    expect(other.requests[0]).toMatchObject({
      head: expect.stringMatching(/^PUT[\s\S]*accept: text\/plain/),
      body: 'abc',
    });
  });

  it.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'PUT', 'PUT'],
    [302, 'PUT', 'PUT'],
  ] as const)('%i turns %s into %s', async (status, method, then) => {
    await using server = await receiver(() => (server.requests.length === 1 ? to(status, '/b') : said(200)));
    using outbound = client();
    await outbound.request(server.url, {
      method,
      body: 'abc',
      redirects: 1,
      headers: { 'content-type': 'a/b' },
    });
    const { head, body } = server.requests[1];
    expect([head.split(' ')[0], body]).toEqual([then, then === 'GET' ? '' : 'abc']);
    expect(/content-type/.test(head)).toBe(then !== 'GET');
  });

  it('from https to http are refused', async () => {
    const tls = { cert: certificates.good, key: certificates.key };
    await using plain = await receiver(() => said(200));
    await using server = await receiver(() => to(302, plain.url), { tls });
    using outbound = client({ ca: [certificates.authority] });
    expect(await outbound.request(server.url, { redirects: 1 })).toMatchObject({ reason: 'redirects' });
    expect(plain.connections).toBe(0);
  });
});

describe('https', () => {
  const good = { cert: certificates.good, key: certificates.key };

  it('speaks to the name that the certificate is for, at the address that was checked', async () => {
    await using server = await receiver(() => said(200, { body: 'safe' }), { tls: good });
    using outbound = client({ ca: [certificates.authority] });
    for (const host of ['receiver.example', 'RECEIVER.example.', '127.0.0.1']) {
      const outcome = await outbound.request(`https://${host}:${server.port}/`, {
        method: 'POST',
        body: 'a',
      });
      expect(outcome).toMatchObject({ ok: true, status: 200 });
    }
    await outbound.request(`https://receiver.example:${server.port}/`);
    await outbound.request(`https://receiver.example:${server.port}/`);
    expect(server.connections).toBeLessThanOrEqual(4);
  });

  it.each([
    ['no authority that is trusted', good, 'receiver.example', [], /not trusted/],
    ['another name', good, 'other.example', [certificates.authority], /another name/],
    ['another address', good, '127.0.0.9', [certificates.authority], /another name/],
    [
      'a time that is over',
      { ...good, cert: certificates.expired },
      'receiver.example',
      [certificates.authority],
      /expired/,
    ],
  ] as const)('a certificate for %s is refused before a byte is sent', async (_, tls, host, ca, message) => {
    await using server = await receiver(() => said(200), {
      tls,
      host: host === '127.0.0.9' ? host : '127.0.0.1',
    });
    using outbound = client({ allow: ['127.0.0.0/8'], ...(ca.length > 0 && { ca: [...ca] }) });
    const outcome = await outbound.request(`https://${host}:${server.port}/`, {
      method: 'POST',
      body: 'secret',
    });
    expect(outcome).toMatchObject({ ok: false, reason: 'tls', message: expect.stringMatching(message) });
    expect(server.requests).toEqual([]);
  });

  it('a peer that takes the connection and says nothing did not answer as a TLS server', async () => {
    await using plain = await receiver(() => undefined);
    using outbound = client();
    const url = `https://127.0.0.1:${plain.port}/`;
    const outcome = await outbound.request(url, { connectTimeout: 300 });
    const message = `https://127.0.0.1:${plain.port} did not answer as a TLS server in the time allowed`;
    expect(outcome).toMatchObject({ ok: false, reason: 'tls', message });
  });

  it('an address that says nothing is passed over for the next one', async () => {
    await using server = await receiver(() => said(200, { body: 'safe' }), { tls: good });
    await using silent = await receiver(() => undefined, { host: '127.0.0.9', port: server.port });
    using outbound = client({
      allow: ['127.0.0.0/8'],
      ca: [certificates.authority],
      lookup: async () => ['127.0.0.9', '127.0.0.1'],
      limits: { addressTimeout: 300 },
    });
    const outcome = await outbound.request(`https://receiver.example:${server.port}/`);
    expect(outcome).toMatchObject({ ok: true, status: 200 });
    expect(silent.connections).toBe(1);
  });

  it('a peer that speaks no TLS ends in time', async () => {
    await using plain = await receiver(({ socket }) => void socket.end('HTTP/1.1 400 Bad\r\n\r\n'));
    using outbound = client();
    const url = `https://127.0.0.1:${plain.port}/`;
    const outcome = await outbound.request(url, { connectTimeout: 300 });
    expect(outcome).toMatchObject({ ok: false, reason: expect.stringMatching(/^(tls|connect)$/) });
  });
});
