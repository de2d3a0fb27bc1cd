/** An address without the IPv6 clothes of IPv4, and without its zone. */
export function plainAddress(address: string): string {
  return (address.startsWith('::ffff:') ? address.slice(7) : address).replace(/%.*$/, '');
}

/**
 * Whom a limit per address counts as one: an IPv4 address, or a /64 of IPv6, which is the least that one
 * customer is given and holds more addresses than any limit could count.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [front, back] = address.split('::');
  const first = front === '' ? [] : front.split(':');
  const last = back === undefined || back === '' ? [] : back.split(':');
  const left = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array(Math.max(0, left)).fill('0'), ...last].slice(0, 4).join(':');
}
