/** Where a publisher goes. `key` is a secret. */
export interface PublishTarget {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly app: string;
  readonly key: string;
  readonly tcUrl: string;
}

/** Reads `rtmp://host:port/app/key` or `rtmps://…`. Throws an `Error` that does not quote it. */
export function parsePublishUrl(text: string): PublishTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSecure = url?.protocol === 'rtmps:';
  const [, folders, name] = /^\/(.+)\/([^/]+)$/.exec(url?.pathname ?? '') ?? [];
  if (!url?.hostname || !(isSecure || url.protocol === 'rtmp:') || !folders || !name) {
    throw new Error('a publish needs a URL of the form rtmp://host/app/key');
  }
  const app = decodeURIComponent(folders);
  const key = decodeURIComponent(name) + url.search;
  const port = Number(url.port) || (isSecure ? 443 : 1935);
  // An IPv6 address is written in brackets in a URL and without them to connect.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { host, port, isSecure, app, key, tcUrl: `${url.protocol}//${url.host}/${app}` };
}
