/** Where a publisher goes. `app`, `key` and `tcUrl` are secrets. */
export interface PublishTarget {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly app: string;
  readonly key: string;
  readonly tcUrl: string;
}

/**
 * Reads `rtmp://host:port/app/key` or `rtmps://…` as encoders do: the key is what follows the last slash of the path, with
 * the query; the app is all before it, which may be nothing or several folders. A query in front of the key
 * (`/app?token=x/key`) belongs to the app. Nothing is decoded: ffmpeg and OBS send `%2F` as it was typed, and what a server hands
 * out is meant to be sent so. Throws an `Error` that does not quote it.
 */
export function parsePublishUrl(text: string): PublishTarget {
  const [, scheme, authority, rest] = /^(rtmps?):\/\/([^/?#]+)\/(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) throw new Error(expected);
  if (authority.includes('@')) throw new Error('a user and a password in the URL are not supported');
  const [, hostname, portText] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(authority) ?? [];
  const isSecure = scheme.length > 4;
  const port = portText === undefined ? (isSecure ? 443 : 1935) : Number(portText);
  if (hostname === undefined || port < 1 || port > 0xffff) throw new Error(expected);
  const query = rest.indexOf('?');
  const path = query < 0 ? rest : rest.slice(0, query);
  const slash = path.includes('/') ? path.lastIndexOf('/') : rest.lastIndexOf('/');
  const app = rest.slice(0, Math.max(0, slash));
  const key = rest.slice(slash + 1);
  if (key === '') throw new Error(expected);
  // An IPv6 address is written in brackets in a URL and without them to connect.
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port, isSecure, app, key, tcUrl: `${scheme.toLowerCase()}://${authority}/${app}` };
}

const expected = 'a publish needs a URL of the form rtmp://host/app/key';
