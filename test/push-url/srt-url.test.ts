import { expect, it, test } from 'vitest';
import { srtUrl } from '../../core/push-url/srt-url.ts';

it('reads where to call, and what to say there', () => {
  const url = srtUrl(
    'srt://Live.Example.com:9000?mode=caller&transtype=live&streamid=a%20b&passphrase=wonderland-9&pbkeylen=32&latency=200&pkt_size=1316',
  );
  expect(url).toMatchObject({
    ...{ ok: true, streamId: 'a b', passphrase: 'wonderland-9', keyLength: 32, latency: 200, payload: 1316 },
    to: { host: 'live.example.com', port: 9000, isAddress: false },
  });
});

test.each([
  ['srt://192.0.2.1:9000', '192.0.2.1', 9000],
  ['SRT://[2001:DB8::1]:80/', '2001:db8::1', 80],
  ['srt://0x7f.1:9000', '127.0.0.1', 9000],
])('%s is called at %s', (text, host, port) => {
  expect(srtUrl(text)).toMatchObject({ ok: true, to: { host, port, isAddress: true } });
});

it('takes a stream id as it is written everywhere, with a # and equals signs', () => {
  const url = srtUrl('srt://a.example:9000?streamid=#!::r=live/abc,m=publish&latency=500');
  expect(url).toMatchObject({ ok: true, streamId: '#!::r=live/abc,m=publish', latency: 500 });
});

test.each([
  ['0', 0],
  ['120', 120],
  ['10000', 10_000],
  ['120000', 120],
  ['2000000', 2000],
])('latency=%s is %i ms', (text, ms) => {
  expect(srtUrl(`srt://a.example:9000?latency=${text}`)).toMatchObject({ latency: ms });
});

const secret = 'topsecret-host';
test.each([
  ['rtmp://topsecret-host:9000', 'a host, a colon and a port'],
  ['srt://topsecret-host', 'name a port'],
  ['srt://topsecret-host:0', '1 to 65,535'],
  ['srt://topsecret-host:53', 'another service'],
  ['srt://topsecret-host:70000', '1 to 65,535'],
  ['srt://topsecret_ho$t:9000', 'the host'],
  ['srt://me:topsecret-host@a.example:9000', 'a user and a password'],
  ['srt://a.example:9000/topsecret-host', 'without a path'],
  ['srt://topsecret-host\\a.example:9000', 'the host'],
  ['srt://1.2.3.4.5:9000', 'the host'],
  ['srt://a.example:9000?maxbw=1', 'parameter 1 of the URL is not'],
  ['srt://:9000?streamid=topsecret-host', 'the host'],
  ['srt://a.example:9000?mode=listener&streamid=topsecret-host', 'mode'],
  ['srt://a.example:9000?mode=rendezvous', 'mode'],
  ['srt://a.example:9000?transtype=file', 'transtype'],
  ['srt://a.example:9000?localaddr=topsecret-host', 'parameter 1 of the URL is not'],
  ['srt://a.example:9000?adapter=topsecret-host', 'parameter 1 of the URL is not'],
  ['srt://a.example:9000?topsecret-host', 'parameter 1 of the URL is not'],
  ['srt://a.example:9000?streamid', 'streamid'],
  ['srt://a.example:9000?streamid=', 'streamid'],
  ['srt://a.example:9000?streamid=topsecret-host&streamid=b', 'twice'],
  ['srt://a.example:9000?streamid=topsecret-host%', 'malformed'],
  ['srt://a.example:9000?streamid=topsecret-host%0Avcodec=libx264', 'malformed'],
  ['srt://a.example:9000?streamid=topsecret-host%00', 'malformed'],
  [`srt://a.example:9000?streamid=${'ä'.repeat(257)}`, '512'],
  ['srt://a.example:9000?passphrase=short', '10 to 79'],
  [`srt://a.example:9000?passphrase=${'x'.repeat(80)}`, '10 to 79'],
  ['srt://a.example:9000?passphrase=topsecret-host&pbkeylen=17', '16, 24 or 32'],
  ['srt://a.example:9000?latency=-1', 'latency'],
  ['srt://a.example:9000?latency=99999999', 'latency'],
  ['srt://a.example:9000?latency=1e3', 'latency'],
  ['srt://a.example:9000?pkt_size=1000', '188'],
  ['srt://a.example:9000?pkt_size=1504', '188'],
  [`srt://a.example:9000?${'latency=1&'.repeat(20)}`, 'more than 16'],
])('%s is refused, and what is wrong is said without a part of it', (text, says) => {
  const url = srtUrl(text);
  expect(url).toMatchObject({ ok: false, message: expect.stringContaining(says) });
  expect(JSON.stringify(url)).not.toContain(secret);
  expect(JSON.stringify(url)).not.toContain('a.example');
});
