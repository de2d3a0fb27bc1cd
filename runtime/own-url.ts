import { networkInterfaces } from 'node:os';

/**
 * Where other nodes reach this one when the config does not say: at the address that it listens on, or, where that is
 * all of them, at the first of this machine that is not loopback. Alone in the world it is loopback after all.
 */
export function ownUrl(options: { host: string; port: number }): string {
  const { host, port } = options;
  const isAll = host === '0.0.0.0' || host === '::' || host === '';
  const address = isAll ? (firstAddress() ?? '127.0.0.1') : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function firstAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
