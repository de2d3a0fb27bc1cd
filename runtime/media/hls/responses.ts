const PLAYLIST = 'application/vnd.apple.mpegurl';
/** Age is what a cache adds: hls.js reckons the live edge by it, but across origins must be let to see it. */
const OPEN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Age, Date, Retry-After',
};
const MEDIA = { ...OPEN, 'Content-Type': 'video/mp4', 'Cache-Control': 'public, max-age=3600, immutable' };
const MISSING = { ...OPEN, 'Cache-Control': 'no-store', 'Retry-After': '1' };
const REFUSAL = { ...OPEN, 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8' };

/** What viewers are answered. A Blob's bytes are shared by all its Responses; no stream is opened. */
export const answers = {
  /** `maxAge` in seconds. */
  playlist(text: string, maxAge: number): Response {
    const headers = { ...OPEN, 'Content-Type': PLAYLIST, 'Cache-Control': `public, max-age=${maxAge}` };
    return new Response(text, { headers });
  },
  media(blob: Blob | undefined): Response {
    return blob === undefined ? answers.missing() : new Response(blob, { headers: MEDIA });
  },
  missing(): Response {
    return new Response(null, { status: 404, headers: MISSING });
  },
  refusal(reason: string): Response {
    return new Response(`${reason}\n`, { status: 400, headers: REFUSAL });
  },
  busy(): Response {
    return new Response(null, { status: 503, headers: MISSING });
  },
};
