import { Fault } from '../../core/base/fault.ts';
import { playlistType } from '../../core/hls/playlist.ts';
import { faultResponse } from '../../core/http/http.ts';
import type { LiveAnswer } from '../../core/ports/media.ts';

/** hls.js reckons the live edge by the Age that a cache adds; scripts of other origins must be allowed to see it. */
const open = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Age, Date, Retry-After',
};

/** What the media of this node has for a viewer. */
export function liveResponse(answer: LiveAnswer): Response {
  if (answer instanceof Fault) return refusalResponse(answer);
  if (answer.type === 'playlist') {
    const headers = {
      ...open,
      'content-type': playlistType,
      'cache-control': `public, max-age=${answer.maxAge}`,
    };
    return new Response(answer.body, { headers });
  }
  return new Response(answer.body as Blob, {
    headers: {
      ...open,
      'content-type': answer.contentType ?? 'video/mp4',
      'content-length': String(answer.size),
      'cache-control': 'public, max-age=3600, immutable',
    },
  });
}

/** A browser shows a script the status of a refusal only when the refusal allows its origin too. */
export function refusalResponse(fault: Fault): Response {
  return faultResponse(fault, { ...open, 'cache-control': 'no-store' });
}
