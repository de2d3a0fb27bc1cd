import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/**
 * What tells the viewer behind a playlist request from others: the id that its player gave its own session
 * (CTA-5004 CMCD `sid`, or what Apple's players send), else its address and the name of its player. Only hashed and
 * counted, never kept; who wants to can always look like many.
 */
export function viewerOf(
  request: Request,
  options: { file: string; query: URLSearchParams; kit: Pick<StreamsKit, 'caller'> },
): string | undefined {
  const { file, query, kit } = options;
  if (!file.endsWith('.m3u8')) return undefined;
  const { headers } = request;
  const own =
    headers.get('x-playback-session-id') ??
    sessionOf(headers.get('cmcd-session')) ??
    sessionOf(query.get('CMCD'));
  const seen = own ?? `${kit.caller(request).address ?? ''}\n${headers.get('user-agent') ?? ''}`;
  return seen.slice(0, longest);
}

/** Characters of `viewerId`. */
export const viewerIdLength = 8;

/** A viewer for the count, the same on every node: a hash of 48 bits, in letters that a header can carry. */
export function viewerId(viewer: string): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(Bun.hash.xxHash64(viewer));
  return bytes.toString('base64url', 0, 6);
}

const longest = streamLimits.viewerLength.value;

function sessionOf(cmcd: string | null): string | undefined {
  return cmcd === null ? undefined : /(?:^|,)\s*sid="([^"]{1,64})"/.exec(cmcd.slice(0, 1024))?.[1];
}
