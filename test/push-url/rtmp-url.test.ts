import { expect, test } from 'vitest';
import { rtmpUrl } from '../../core/push-url/rtmp-url.ts';

test.each<[string, string, string, string]>([
  ['rtmp://a.example/live/key', 'live', 'key', 'rtmp://a.example/live'],
  ['RTMPS://A.example:444/live/key', 'live', 'key', 'rtmps://A.example:444/live'],
  ['rtmp://a.example/one/two/key', 'one/two', 'key', 'rtmp://a.example/one/two'],
  ['rtmp://a.example/key', '', 'key', 'rtmp://a.example/'],
  // The query is part of the key, whatever it holds.
  ['rtmp://a.example/live/key?a=/b/&c=d#e', 'live', 'key?a=/b/&c=d#e', 'rtmp://a.example/live'],
  ['rtmp://a.example/live?token=x/key', 'live?token=x', 'key', 'rtmp://a.example/live?token=x'],
  // As it was typed.
  ['rtmp://a.example/l%69ve/k%2Fey%20', 'l%69ve', 'k%2Fey%20', 'rtmp://a.example/l%69ve'],
  ['rtmp://a.example/live/../key', 'live/..', 'key', 'rtmp://a.example/live/..'],
  ['rtmp://a.example/live/schlüssel', 'live', 'schlüssel', 'rtmp://a.example/live'],
])('%s', (url, app, key, tcUrl) => {
  expect(rtmpUrl(url)).toMatchObject({ app, key, tcUrl });
});

test.each<[string, string, number, string]>([
  ['rtmp://A.example/live/key', 'a.example', 1935, 'rtmp'],
  ['RTMPS://a.example/live/key', 'a.example', 443, 'rtmps'],
  ['rtmp://[2001:db8::1]:1936/live/key', '2001:db8::1', 1936, 'rtmp'],
  ['rtmps://[::1]/live/key', '::1', 443, 'rtmps'],
  ['rtmp://a.example:80/live/key', 'a.example', 80, 'rtmp'],
  // As http URLs are read, so that the guard sees the address.
  ['rtmp://0x7f.1/live/key', '127.0.0.1', 1935, 'rtmp'],
  ['rtmp://2130706433/live/key', '127.0.0.1', 1935, 'rtmp'],
])('%s leads to %s, port %d', (url, host, port, scheme) => {
  expect(rtmpUrl(url)).toMatchObject({ ok: true, scheme, to: { host, port } });
});

test.each([
  ['rtmp://a.example', 'no key'],
  ['rtmp://a.example/', 'no key'],
  ['rtmp://a.example/secret/', 'no key'],
  ['rtmp://a.example/?secret/', 'no key'],
  ['rtmp://a.example?secret', 'expected a URL of'],
  ['rtmp:///live/secret', 'expected a URL of'],
  ['rtmp://a.example:/live/secret', 'the host'],
  ['rtmp://a.example:0/live/secret', '1 to 65,535'],
  ['rtmp://a.example:65536/live/secret', '1 to 65,535'],
  ['rtmp://a.example:25/live/secret', 'another service'],
  ['rtmp://secret:secret@a.example/live/key', 'a user and a password'],
  ['rtmp://[::1/live/secret', 'the host'],
  ['rtmp://[1::2::3]/live/secret', 'the host'],
  ['rtmp://1.2.3.4.5/live/secret', 'the host'],
  ['rtmp://99999999999/live/secret', 'the host'],
  ['rtmp://a.example\\secret/live/secret', 'the host'],
  ['rtmp://a..example/live/secret', 'the host'],
  ['http://a.example/live/secret', 'expected a URL of'],
  [' rtmp://a.example/live/secret', 'expected a URL of'],
])('%s is refused, and what is wrong is said without a part of it', (url, says) => {
  const read = rtmpUrl(url);
  expect(read).toMatchObject({ ok: false, message: expect.stringContaining(says) });
  expect(JSON.stringify(read)).not.toMatch(/secret|a\.example/);
});
