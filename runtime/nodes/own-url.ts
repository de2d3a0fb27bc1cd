import { networkInterfaces } from 'node:os';

/**
 * Where other nodes reach this one when the config does not say: at the address that it listens on, or, where that is
 * all of them, at the first of this machine that is not loopback. Alone in the world it is loopback after all.
 */
export function ownUrl({ host, port }: Listener): string {
  return urlOf(isAll(host) ? (firstAddress() ?? '127.0.0.1') : host, port);
}

/** Where a person at this machine finds the server: `localhost`, unless it listens at one address alone. */
export function shownUrl({ host, port }: Listener): string {
  return urlOf(isAll(host) ? 'localhost' : host, port);
}

interface Listener {
  readonly host: string;
  readonly port: number;
}

function isAll(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '';
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function firstAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
