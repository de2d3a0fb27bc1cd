import { isIP } from 'node:net';

/** A block of addresses (RFC 4632, RFC 4291 §2.3). */
export interface Cidr {
  /** 4 or 6. */
  readonly family: number;
  /** The bits that all its addresses begin with, as many as the block fixes. */
  readonly prefix: string;
}

/** `"192.0.2.0/24"`, `"2001:db8::/32"`; undefined for text that is none. Bits behind the prefix are ignored. */
export function cidr(text: string): Cidr | undefined {
  const [address, length, ...rest] = text.split('/');
  const bits = addressBits(address);
  if (bits === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '')) return undefined;
  if (Number(length) > bits.length) return undefined;
  return { family: isIP(address), prefix: bits.slice(0, Number(length)) };
}

/** How specific the most specific block is that holds the address, in bits; -1 when none does. */
export function matchLength(address: string, blocks: readonly Cidr[]): number {
  const bits = addressBits(address);
  if (bits === undefined) return -1;
  const family = isIP(address);
  return blocks.reduce(
    (longest, block) =>
      block.family === family && bits.startsWith(block.prefix)
        ? Math.max(longest, block.prefix.length)
        : longest,
    -1,
  );
}

/**
 * An address as it is compared: without port, brackets and zone, IPv4 not dressed as IPv6. Undefined for text that
 * is none.
 */
export function plainAddress(text: string): string | undefined {
  const bare = /^\[(.*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(address) === 0 ? undefined : address;
}

/** All bits of an address as text of 0 and 1; undefined for text that is no address. */
export function addressBits(address: string): string | undefined {
  const family = isIP(address);
  if (family === 4) return address.split('.').map(binary(8)).join('');
  if (family !== 6 || address.includes('%')) return undefined;
  const [front, back] = withoutDots(address).split('::');
  const first = groups(front);
  const last = groups(back ?? '');
  const gap = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(gap).fill('0'), ...last]
    .map((group) => binary(16)(String(Number.parseInt(group, 16))))
    .join('');
}

/** The last 32 bits may be written as IPv4 is (RFC 4291 §2.2.3). */
function withoutDots(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a, b, c, d] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

function groups(text: string): string[] {
  return text === '' ? [] : text.split(':');
}

function binary(width: number): (decimal: string) => string {
  return (decimal) => Number(decimal).toString(2).padStart(width, '0');
}
