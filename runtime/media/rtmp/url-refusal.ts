import type { PublishRefusal, PublishRequest, UrlRefusal } from '../../../core/ports/media.ts';

/** The application that every server has. */
export const liveApp = 'live';
/** Characters; a longer key is refused without a look at the store. */
const longestKey = 256;

/**
 * Refusals that need no look at the store. They do not repeat the app: if `live` is missing, it is the stream key.
 *
 * @param apps those of plugins, beside `live`
 */
export function urlRefusal(
  { app, key }: Pick<PublishRequest, 'app' | 'key'>,
  apps: readonly string[] = [],
): UrlRefusal | undefined {
  const form = `rtmp://<host>/${liveApp}/<streamKey>; in OBS: server rtmp://<host>/${liveApp}, and the stream key in its own field`;
  const only = apps.length === 0 ? ', the only one of this server' : ' or another one of this server';
  if (![liveApp, ...apps].includes(app)) {
    const message = `The URL does not name the app "${liveApp}"${only}. Publish to ${form}.`;
    return { cause: 'unknown_app', message };
  }
  if (key === '') return { cause: 'missing_key', message: `The stream key is missing. Publish to ${form}.` };
  if (key.length <= longestKey) return undefined;
  const message = 'This stream key is unknown: it is too long to be one of this server.';
  return { cause: 'unknown_key', message };
}

export function unauthorized({ message }: UrlRefusal): PublishRefusal {
  return { granted: false, reason: 'unauthorized', message };
}
