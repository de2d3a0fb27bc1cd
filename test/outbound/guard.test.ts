import { describe, expect, it, test } from 'vitest';
import { cidr } from '../../core/base/cidr.ts';
import { refusalOf } from '../../runtime/drivers/outbound/resolver.ts';
import { client, receiver, said } from './kit.ts';

const closed = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '100.100.100.200',
  '127.0.0.1', '127.255.255.254', '169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1',
  '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.1', '192.168.255.255', '198.18.0.1', '198.19.255.255',
  '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16',
  '::', '::1', '::2', '::127.0.0.1', '::8.8.8.8', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '2001::1', '2001:0:7f00:1::', '2001:2::1',
  '2001:10::1', '2001:20::1', '2001:db8::1', '2002:7f00:1::', '2002:808:808::1', '3fff::1', '4000::1', '5f00::1',
  'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', 'ff0e::1',
  '2606:4700::5efe:127.0.0.1', '2606:4700::200:5efe:a00:1', '2606:4700:0:1:0:5efe:808:808',
  'fe80::1%eth0', '2606:4700::1%1', '127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', '', 'localhost', '1.2.3.4 ',
]; // biome-ignore format: a table
const open = [
  '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '128.0.0.1', '169.253.255.255',
  '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0',
  '223.255.255.255', '168.63.129.17', '2606:4700::1111', '2001:200::1', '2001:4860:4860::8888', '2a00::1',
  '2606:4700::5eff:127.0.0.1', '3ffe::1',
]; // biome-ignore format: a table

describe('addresses', () => {
  it.each(closed)('%j is closed', (address) =>
    expect(refusalOf(address, { allow: [] })).toBeTypeOf('string'),
  );
  it.each(open)('%s is open', (address) => expect(refusalOf(address, { allow: [] })).toBeUndefined());

  it('a block that is allowed opens its own addresses and no others', () => {
    const allow = ['10.1.0.0/16', 'fd00:1::/32'].map((text) => cidr(text)!);
    const isOpen = (address: string) => refusalOf(address, { allow }) === undefined;
    expect(['10.1.2.3', 'fd00:1::5'].map(isOpen)).toEqual([true, true]);
    expect(['10.2.0.1', 'fd00:2::1', '::ffff:10.1.2.3', '64:ff9b::a01:203'].map(isOpen)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

/** Ways to write an address that leads back into the machine or its network. */
const hosts = [
  '127.0.0.2', '127.0.2', '127.2', '2130706434', '0x7f000002', '0x7F.0.0.2', '0x7f.2', '0177.0.0.2', '017700000002',
  '0177.0x0.0.2', '127.0.0.2.', '127.0.0.02', '127.0.0.0x2', '00000177.0.0.2', '%31%32%37.0.0.2', '127%2e0%2e0%2e2',
  '１２７.0.0.2', '①②⑦.0.0.2', '127。0。0。2', '127．0．0．2', '127｡0｡0｡2', '𝟏𝟐𝟕.0.0.2', '0', '0.0.0.0', '0x0', '00', '[::]',
  '[::1]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::0001]', '[::ffff:127.0.0.2]',
  '[::FFFF:7F00:2]', '[0:0:0:0:0:ffff:127.0.0.2]', '[::127.0.0.2]', '[::7f00:2]', '[::ffff:0:127.0.0.2]',
  '[64:ff9b::127.0.0.2]', '[64:ff9b:1::7f00:2]', '[2002:7f00:2::]', '[2001:0:7f00:2::]', '[fe80::1]', '[fe80::1%25lo]',
  '[fe80::1%lo]', '[::1%25lo]', '[::1', '::1', '[fd00:ec2::254]', '[fd00::2]', '[2606:4700::5efe:127.0.0.2]',
  '169.254.169.254', '0xa9fea9fe', '2852039166', '169.254.43518', '100.100.100.200', '10.1', '192.168.257', '172.16.1',
  '255.255.255.255', '0xffffffff', '4294967295', '224.0.0.1', '100.64.1', '198.18.0.1',
  'user@127.0.0.2', 'user:password@127.0.0.2', 'example.com@127.0.0.2', 'example.com%40127.0.0.2', '127.0.0.2#@example.com',
  '127.0.0.2\\@example.com', '127.0.0.256', '4294967296', '0x', '0x.0x.0x.2', '1.2.3.4.5', '127.0.0.0x', '127..2', '.127.0.0.2',
  '127.0.0.2..', '127.0.0.2%00', '127.0.0.2%20', '127.0.0.2%0d%0aHost:%20a', '', 'a..b', '.', '..', '%00', '1e2.example.0x7f',
]; // biome-ignore format: a table

describe('spellings', () => {
  const unasked = async (name: string): Promise<string[]> => {
    throw new Error(`asked for ${name}`);
  };

  test.each(hosts)('http://%s/ is refused and reaches nobody', async (host) => {
    await using spy = await receiver(() => said(200), { host: '127.0.0.2' });
    using outbound = client({ lookup: unasked });
    for (const url of [`http://${host}:${spy.port}/`, `https://${host}:${spy.port}/`, `http://${host}/`]) {
      const outcome = await outbound.request(url, { redirects: 3 });
      expect(outcome).toMatchObject({ ok: false, reason: expect.stringMatching(/^(refused|bad-url)$/) });
      expect(outbound.problem(url)).toMatchObject({ ok: false });
    }
    expect(spy.connections).toBe(0);
  });

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'LocalHost',
    'a.localhost',
    'a.b.LOCALHOST.',
    'ｌｏｃａｌｈｏｓｔ',
    'loc%61lhost',
  ])('%s is never asked of DNS and refused without loopback', async (host) => {
    using outbound = client({ allow: [], lookup: unasked });
    expect(await outbound.request(`http://${host}/`)).toMatchObject({ reason: 'refused' });
    expect(outbound.problem(`http://${host}/`)).toMatchObject({ reason: 'refused' });
  });

  test.each([
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://example.com/',
    'data:,a',
    'javascript:1',
    'ws://example.com/',
    'blob:http://example.com/a',
    '//example.com/',
    '/path',
    'example.com',
    'http:',
    'http://',
    'http://example.com:22/',
    'http://example.com:25/',
    'http://example.com:0/',
    'http://example.com:65536/',
    `http://example.com/${'a'.repeat(9000)}`,
    `http://${'a'.repeat(64)}.example/`,
    `http://${'a.'.repeat(130)}example/`,
    'http://ex_$ample.com/',
  ])('%s is a bad URL', async (url) => {
    using outbound = client({ lookup: unasked });
    expect(await outbound.request(url)).toMatchObject({ ok: false, reason: 'bad-url' });
  });

  it('messages hold no credentials, paths or queries', async () => {
    using outbound = client({ lookup: unasked });
    for (const url of [
      'http://u5er:pa55@10.0.0.1/t0ken?k3y=s3cret',
      'http://10.0.0.1/t0ken?k3y=s3cret',
      'http://a.example/t0ken?k3y=s3cret',
    ]) {
      const outcome = await outbound.request(url, { headers: { authorization: 'Bearer s3cret' } });
      expect(JSON.stringify(outcome)).not.toMatch(/u5er|pa55|t0ken|k3y|s3cret/);
    }
  });
});

describe('names', () => {
  const bad = [
    '10.0.0.1',
    '127.0.0.2',
    '::1',
    '::ffff:127.0.0.1',
    '169.254.169.254',
    'fe80::1%eth0',
    '127.2',
    'evil.example',
    '',
  ];
  it.each(bad)('one that stands for %j is refused', async (address) => {
    using outbound = client({ lookup: async () => [address] });
    const outcome = await outbound.request('http://receiver.example:8080/');
    expect(outcome).toMatchObject({
      reason: 'refused',
      message: expect.stringContaining('receiver.example:8080'),
    });
    // What the name stands for inside is nobody's business.
    if (address !== '') expect(outcome).toMatchObject({ message: expect.not.stringContaining(address) });
  });

  it('one bad address among good ones refuses them all', async () => {
    await using good = await receiver(() => said(200));
    for (const addresses of [
      ['127.0.0.1', '127.0.0.2'],
      ['::1', '127.0.0.1'],
      ['127.0.0.1', '8.8.8.8', '10.0.0.1'],
    ]) {
      using outbound = client({ lookup: async () => addresses });
      expect(await outbound.request(`http://receiver.example:${good.port}/`)).toMatchObject({
        reason: 'refused',
      });
    }
    expect(good.connections).toBe(0);
  });

  it('an answer that changes between check and connect does not matter: it is asked once', async () => {
    await using good = await receiver(() => said(200));
    await using inner = await receiver(() => said(200), { host: '127.0.0.2' });
    let asked = 0;
    using outbound = client({ lookup: async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']) });
    const send = (method: 'POST' | 'GET') =>
      outbound.request(`http://rebind.example:${good.port}/`, { method });
    expect(await send('POST')).toMatchObject({ ok: true, status: 200 });
    expect(asked).toBe(1);
    expect(await send('POST')).toMatchObject({ ok: false, reason: 'refused' });
    expect(inner.connections).toBe(0);
  });

  it.each([
    ['nothing', async () => []],
    ['an error', async () => Promise.reject(new Error('SERVFAIL'))],
    [
      'a throw',
      () => {
        throw new Error('broken');
      },
    ],
  ])('a resolver that gives %s fails closed', async (_, lookup) => {
    using outbound = client({ lookup });
    expect(await outbound.request('http://receiver.example/')).toMatchObject({ ok: false, reason: 'dns' });
  });

  it('a resolver that never answers is given up, and too many of them are not started', async () => {
    using outbound = client({
      lookup: () => new Promise(() => {}),
      limits: { lookupTimeout: 30, lookups: 2 },
    });
    const ask = (name: string) => outbound.request(`http://${name}.example/`);
    const outcomes = await Promise.all([ask('a'), ask('b'), ask('a'), ask('c')]);
    expect(outcomes.map((one) => !one.ok && one.reason)).toEqual(['dns', 'dns', 'dns', 'busy']);
  });

  it('an allowed block is called by address, by name and as localhost', async () => {
    await using good = await receiver(() => said(200, { body: 'hello' }));
    using outbound = client();
    for (const host of ['127.0.0.1', '127.1', 'receiver.example', 'localhost', 'a.localhost']) {
      const outcome = await outbound.request(`http://${host}:${good.port}/`);
      expect(outcome).toMatchObject({ ok: true, status: 200 });
    }
    expect(good.requests.map(({ head }) => /^host: (.*)$/im.exec(head)?.[1])).toContain(
      `receiver.example:${good.port}`,
    );
  });
});
