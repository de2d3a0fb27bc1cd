import { describe, expect, it } from 'vitest';
import { cidr, plainAddress } from '../../core/base/cidr.ts';
import { callers, maxProxies } from '../../core/http/caller.ts';

const trusted = ['10.0.0.0/8', '2001:db8::/32'].flatMap((text) => cidr(text) ?? []);

/** Who a request is from, that came from `connected` with `X-Forwarded-For`. */
function from(connected: string | undefined, forwarded?: string, blocks = trusted): string | undefined {
  const caller = callers({ trusted: blocks, publicUrl: '', isFixed: true });
  const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return caller(Object.assign(new Request('http://localhost/', { headers }), { peer: connected })).address;
}

describe('the address of a request', () => {
  it.each([
    ['10.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['::ffff:10.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['2001:db8::1', '2001:dead::5', '2001:dead::5'],
    ['10.0.0.1', '192.0.2.7:52110', '192.0.2.7'],
    ['10.0.0.1', '[2001:dead::5]:443', '2001:dead::5'],
    ['10.0.0.1', '203.0.113.1, 192.0.2.7', '192.0.2.7'],
    ['10.0.0.1', '203.0.113.1, 192.0.2.7 , 10.9.9.9', '192.0.2.7'],
    ['10.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
  ])('from the proxy %s, with %j, is %s', (connected, forwarded, address) => {
    expect(from(connected, forwarded)).toBe(address);
  });

  it.each([
    ['192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['11.0.0.1', '198.51.100.1', '11.0.0.1'],
    ['10.0.0.1', 'unknown', '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, junk, 10.3.3.3', '10.3.3.3'],
    ['10.0.0.1', undefined, '10.0.0.1'],
  ])('from %s, with %j, is %s: nothing else is believed', (connected, forwarded, address) => {
    expect(from(connected, forwarded)).toBe(address);
  });

  it('is that of the connection when no proxy is trusted', () => {
    expect(from('10.0.0.1', '192.0.2.7', [])).toBe('10.0.0.1');
    expect(from(undefined, '192.0.2.7')).toBeUndefined();
  });

  it('is looked for behind so many proxies and no more', () => {
    const many = ['192.0.2.7', ...Array(maxProxies).fill('10.4.4.4')];
    expect(from('10.0.0.1', many.join(', '))).toBe('10.4.4.4');
    expect(from('10.0.0.1', many.slice(0, -1).join(', '))).toBe('192.0.2.7');
  });
});

it.each(['', 'x', '1.2.3', '1.2.3.4:', '[::1', 'example.com', '1.2.3.4, 5.6.7.8'])(
  '%j is no address',
  (text) => {
    expect(plainAddress(text)).toBeUndefined();
  },
);
