import { describe, expect, it } from 'vitest';
import { cidr } from '../../core/base/cidr.ts';
import { callers } from '../../core/http/caller.ts';

const shown = 'http://localhost:8080';

/** The base URL for a request with these headers. `from`: address of the connection; 10.0.0.0/8 are trusted proxies. */
function baseUrl(headers: Record<string, string>, { from = '192.0.2.1', isFixed = false } = {}): string {
  const trusted = [cidr('10.0.0.0/8')].flatMap((block) => block ?? []);
  const caller = callers({ trusted, publicUrl: shown, isFixed });
  return caller(Object.assign(new Request('http://elsewhere.example/', { headers }), { peer: from })).baseUrl;
}

describe('the base URL of an answer', () => {
  it.each([
    ['192.0.2.7:8080', 'http://192.0.2.7:8080'],
    ['Video.Example.com', 'http://video.example.com'],
    ['video.example.com.', 'http://video.example.com'],
    ['my_host:80', 'http://my_host'],
    ['[2001:DB8::1]:9000', 'http://[2001:db8::1]:9000'],
    ['[::1]', 'http://[::1]'],
    ['video.example.com:443', 'http://video.example.com:443'],
    ['video.example.com:08080', 'http://video.example.com:8080'],
  ])('is the address that the request came to: Host %j', (host, expected) => {
    expect(baseUrl({ host })).toBe(expected);
  });

  it.each([
    ...['', ' ', 'a b', 'a/b', 'a?b', 'a#b', 'a@b', 'user:password@video.example.com', '"><script>', 'a"b'],
    ...['a:b', 'a:', 'a:0', 'a:65536', 'a:123456', 'a,b', 'a:80, b:80', '..', '.a', 'a..b', '[::1', '::1'],
    ...['[1.2.3.4]', '[fe80::1%25eth0]', '[::1]x', '999.1.1.1', '0x7f.1', '1', 'a\\b', 'a%2fb', 'ä.example'],
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(200)}example`,
  ])('is not made of a Host that is no plain host: %j', (host) => {
    expect(baseUrl({ host })).toBe(shown);
  });

  it('is publicUrl where one is configured, whatever the request says', () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    expect(baseUrl(headers, { isFixed: true })).toBe(shown);
    expect(baseUrl(headers, { isFixed: true, from: '10.0.0.1' })).toBe(shown);
  });

  it.each([
    [{ 'x-forwarded-proto': 'https' }, 'https://inner:8080'],
    [{ 'x-forwarded-proto': 'HTTPS', 'x-forwarded-host': 'video.example.com' }, 'https://video.example.com'],
    [{ 'x-forwarded-host': 'video.example.com:8443' }, 'http://video.example.com:8443'],
    [
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example', 'x-forwarded-port': '8443' },
      'https://a.example:8443',
    ],
    [
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example', 'x-forwarded-port': '443' },
      'https://a.example',
    ],
    [{ 'x-forwarded-host': 'a.example:1', 'x-forwarded-port': '2' }, 'http://a.example:1'],
    // Whoever was asked first may have sent the first value itself.
    [
      { 'x-forwarded-host': 'evil.example, a.example', 'x-forwarded-proto': 'ftp, https' },
      'https://a.example',
    ],
    [{ 'x-forwarded-host': 'a b' }, shown],
    [{ 'x-forwarded-proto': 'javascript' }, shown],
    [{ 'x-forwarded-host': 'a.example', 'x-forwarded-port': '70000' }, shown],
    [{ 'x-forwarded-host': 'a.example', 'x-forwarded-port': '8443/x' }, shown],
  ])('behind a trusted proxy is what that says: %j', (headers, expected) => {
    const given = { host: 'inner:8080', ...headers } as Record<string, string>;
    expect(baseUrl(given, { from: '10.0.0.1' })).toBe(expected);
    // Nobody else is believed.
    expect(baseUrl(given, { from: '11.0.0.1' })).toBe('http://inner:8080');
  });
});
