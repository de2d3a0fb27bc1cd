import { Fault } from '../../../core/base/fault.ts';
import { faultResponse } from '../../../core/http/http.ts';

const PLAYLIST = 'application/vnd.apple.mpegurl';
/** Age is what a cache adds: hls.js reckons the live edge by it, but across origins must be let to see it. */
const OPEN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Age, Date, Retry-After',
};
const MEDIA = { ...OPEN, 'Content-Type': 'video/mp4', 'Cache-Control': 'public, max-age=3600, immutable' };
const REFUSED = { ...OPEN, 'Cache-Control': 'no-store' };
/** Codes as the streams plugin lists them. One for all: nothing is made for who asks for what is not there. */
const missing = new Fault('playback.not_live', {
  status: 404,
  message: 'Nothing is being broadcast here right now.',
  retryAfter: 1,
});
const unrecorded = new Fault('playback.not_recorded', {
  status: 404,
  message: 'This broadcast is not recorded, or nothing of it is written yet. Without dvr=1 it plays live.',
  retryAfter: 1,
});
const busy = new Fault('playback.too_many_waiting', {
  status: 503,
  message: 'Too many requests wait here, or no media comes. Try again.',
  retryAfter: 1,
});

/** What viewers are answered. A Blob's bytes are shared by all its Responses; no stream is opened. */
export const answers = {
  /** `maxAge` in seconds. */
  playlist(text: string | Blob, maxAge: number): Response {
    const headers = { ...OPEN, 'Content-Type': PLAYLIST, 'Cache-Control': `public, max-age=${maxAge}` };
    return new Response(text, { headers });
  },
  media(blob: Blob | undefined): Response {
    return blob === undefined ? answers.missing() : new Response(blob, { headers: MEDIA });
  },
  missing(): Response {
    return faultResponse(missing, REFUSED);
  },
  /** It is on the air all the same. */
  unrecorded(): Response {
    return faultResponse(unrecorded, REFUSED);
  },
  refusal(reason: string): Response {
    return faultResponse(new Fault('playback.not_soon', { status: 400, message: reason }), REFUSED);
  },
  busy(): Response {
    return faultResponse(busy, REFUSED);
  },
};
