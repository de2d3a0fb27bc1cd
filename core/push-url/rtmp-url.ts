import { type BadPushUrl, badUrl, type Destination, destination } from './destination.ts';

/** Where a publisher goes. `app`, `key` and `tcUrl` are secrets. */
export interface RtmpUrl {
  readonly ok: true;
  readonly scheme: 'rtmp' | 'rtmps';
  readonly to: Destination;
  readonly app: string;
  readonly key: string;
  readonly tcUrl: string;
}

/**
 * Reads `rtmp://host:port/app/key` or `rtmps://…` as encoders do: the key is what follows the last slash of the path, with
 * the query; the app is all before it, which may be nothing or several folders. A query in front of the key
 * (`/app?token=x/key`) belongs to the app. Nothing is decoded: ffmpeg and OBS send `%2F` as it was typed, and what a server hands
 * out is meant to be sent so.
 */
export function rtmpUrl(text: string): RtmpUrl | BadPushUrl {
  const [, typed, authority, rest = ''] = /^(rtmps?):\/\/([^/?#]+)(?:\/(.*))?$/is.exec(text) ?? [];
  if (typed === undefined) {
    return badUrl('expected a URL of rtmp:// or rtmps://, a host, a slash, the app, a slash and the key');
  }
  const scheme = typed.length > 4 ? 'rtmps' : 'rtmp';
  const to = destination(authority, { scheme: 'rtmp', port: scheme === 'rtmps' ? 443 : 1935 });
  if (!to.ok) return to;
  const query = rest.indexOf('?');
  const path = query < 0 ? rest : rest.slice(0, query);
  const slash = path.includes('/') ? path.lastIndexOf('/') : rest.lastIndexOf('/');
  const app = rest.slice(0, Math.max(0, slash));
  const key = rest.slice(slash + 1);
  if (key === '') return badUrl('the URL has no key: expected the app, a slash and the key behind the host');
  const { ok: _, ...server } = to;
  return { ok: true, scheme, to: server, app, key, tcUrl: `${scheme}://${authority}/${app}` };
}
