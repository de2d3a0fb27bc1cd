import { expect, test } from 'vitest';
import { parsePublishUrl } from '../../runtime/media/rtmp/publish-target.ts';

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
  expect(parsePublishUrl(url)).toMatchObject({ app, key, tcUrl });
});

test.each<[string, string, number, boolean]>([
  ['rtmp://a.example/live/key', 'a.example', 1935, false],
  ['rtmps://a.example/live/key', 'a.example', 443, true],
  ['rtmp://[2001:db8::1]:1936/live/key', '2001:db8::1', 1936, false],
  ['rtmps://[::1]/live/key', '::1', 443, true],
])('%s leads to %s, port %d', (url, host, port, isSecure) => {
  expect(parsePublishUrl(url)).toMatchObject({ host, port, isSecure });
});

test.each([
  'rtmp://a.example',
  'rtmp://a.example/',
  'rtmp://a.example/secret/',
  'rtmp:///live/secret',
  'rtmp://a.example:/live/secret',
  'rtmp://a.example:0/live/secret',
  'rtmp://a.example:65536/live/secret',
  'rtmp://secret:secret@a.example/live/key',
  'rtmp://[::1/live/secret',
  'http://a.example/live/secret',
  ' rtmp://a.example/live/secret',
])('%s is none, and is not quoted', (url) => {
  expect(() => parsePublishUrl(url)).toThrow(/^(a publish needs a URL|a user and a password)/);
  expect(() => parsePublishUrl(url)).not.toThrow(/secret|a\.example/);
});
