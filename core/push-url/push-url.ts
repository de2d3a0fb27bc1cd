import { type BadPushUrl, badUrl } from './destination.ts';
import { type RtmpUrl, rtmpUrl } from './rtmp-url.ts';
import { type SrtUrl, srtUrl } from './srt-url.ts';

/**
 * Reads the URL of a server that a broadcast is pushed to: without asking DNS. The API
 * refuses with it what could never work, and the pusher uses it.
 */
export function pushUrl(text: string): RtmpUrl | SrtUrl | BadPushUrl {
  if (/^rtmps?:/i.test(text)) return rtmpUrl(text);
  if (/^srt:/i.test(text)) return srtUrl(text);
  return badUrl('expected a URL that begins with rtmp://, rtmps:// or srt://');
}
