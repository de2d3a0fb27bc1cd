import { expect, it } from 'vitest';
import { networkOf } from '../../core/base/network.ts';
import { plainAddress } from '../../runtime/media/rtmp/listener.ts';

it('shows IPv4 as IPv4', () => {
  expect(plainAddress('::ffff:192.0.2.7')).toBe('192.0.2.7');
  expect(plainAddress('fe80::1%eth0')).toBe('fe80::1');
});

it('counts an IPv4 address, and a /64 of IPv6, as one', () => {
  expect(networkOf('192.0.2.7')).toBe('192.0.2.7');
  expect(networkOf('2001:db8:1:2::1')).toBe(networkOf('2001:db8:1:2:3:4:5:6'));
  expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'));
  expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0');
  expect(networkOf('::1')).toBe('0:0:0:0');
  expect(networkOf('2001:db8:1::')).toBe('2001:db8:1:0');
});
