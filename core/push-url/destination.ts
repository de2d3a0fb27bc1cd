import { type Host, hostOf, isRefusedPort } from '../base/host.ts';

/** The server that a URL leads to. */
export interface Destination extends Host {
  readonly port: number;
}

/** Why nothing can be pushed to a URL. */
export interface BadPushUrl {
  readonly ok: false;
  /** Part of a sentence, without its capital and full stop. It names what is wrong and what was expected, and no part of the URL. */
  readonly message: string;
}

/**
 * Reads `host:port` of a URL whose scheme is none that WHATWG knows. The host is read as that of an `http:` URL is, so
 * that `0x7f.1` is the same address everywhere, and the same guard judges it.
 *
 * @param options.port where the URL names none; undefined: it must
 */
export function destination(
  authority: string,
  { scheme, port: usual }: { scheme: 'rtmp' | 'srt'; port: number | undefined },
): ({ readonly ok: true } & Destination) | BadPushUrl {
  if (authority.includes('@')) {
    const instead = scheme === 'srt' ? '; an srt:// URL has the parameter passphrase' : '';
    return badUrl(`a user and a password in the URL are not supported${instead}`);
  }
  const [, hostname, portText] = /^(\[[0-9a-f:.]+\]|[^\s:[\]\\/?#%]+)(?::(\d+))?$/i.exec(authority) ?? [];
  const named = hostname === undefined ? undefined : hostOf(URL.parse(`http://${hostname}/`)?.hostname ?? '');
  if (!named) {
    return badUrl(
      'the host of the URL must be an address or a name that DNS can have, and its port a number',
    );
  }
  const port = portText === undefined ? usual : Number(portText);
  if (port === undefined)
    return badUrl('the URL must name a port behind its host: an srt:// URL has no usual one');
  if (port < 1 || port > 65_535) return badUrl('the port of the URL must be 1 to 65,535');
  if (isRefusedPort(port)) {
    return badUrl(
      `the port of the URL is that of another service: ${scheme.toUpperCase()} is not spoken there`,
    );
  }
  return { ok: true, ...named, port };
}

export function badUrl(message: string): BadPushUrl {
  return { ok: false, message };
}
