/**
 * The network that a limit per address counts: an IPv4 address, or a /64 of IPv6, because one customer has at least that.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [front, back] = address.split('::');
  const first = front === '' ? [] : front.split(':');
  const last = back === undefined || back === '' ? [] : back.split(':');
  const left = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array(Math.max(0, left)).fill('0'), ...last].slice(0, 4).join(':');
}
