import type { StreamsKit } from './config.ts';

/** Characters by which a viewer is known: an id, or an address and the name of the player. */
const maxViewerLength = 512;
/** Characters of `viewerId`. */
export const viewerIdLength = 8;
/** Viewers that one request to another node reports; the next request reports the rest. */
export const maxViewersReported = 1000;
/** How often a viewer is reported, ms. The media counts those of the last two such slices. */
export const reportSlice = 8000;
/** Viewers of all proxied playlists in one slice. Further ones watch, but are not counted. */
const maxViewers = 100_000;

/**
 * What tells the viewer behind a playlist request from others: the session id of its player (CTA-5004 CMCD `sid`, or what
 * Apple's players send), else its address and the name of the player. Only hashed and counted, never stored. A client can
 * always look like many.
 */
export function viewerOf(
  request: Request,
  { file, query, kit }: { file: string; query: URLSearchParams; kit: Pick<StreamsKit, 'caller'> },
): string | undefined {
  if (!file.endsWith('.m3u8')) return undefined;
  const { headers } = request;
  const own =
    headers.get('x-playback-session-id') ??
    sessionOf(headers.get('cmcd-session')) ??
    sessionOf(query.get('CMCD'));
  const seen = own ?? `${kit.caller(request).address ?? ''}\n${headers.get('user-agent') ?? ''}`;
  return seen.slice(0, maxViewerLength);
}

function sessionOf(cmcd: string | null): string | undefined {
  return cmcd === null ? undefined : /(?:^|,)\s*sid="([^"]{1,64})"/.exec(cmcd.slice(0, 1024))?.[1];
}

/** A viewer for the count, the same on every node: a hash of 48 bits, in letters that a header can carry. */
export function viewerId(viewer: string): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(Bun.hash.xxHash64(viewer));
  return bytes.toString('base64url', 0, 6);
}

/**
 * Viewers of this node to report to the node that counts, each once in a slice of time: a viewer who comes through several
 * nodes is one there, and one request for a thousand viewers does not count as one.
 */
export class ViewerTally {
  readonly #lists = new Map<string, { seen: Set<string>; unreported: string[] }>();
  #slice = 0;
  #size = 0;

  /** A viewer asked for this playlist. */
  saw(playlist: string, viewer: string, now: number): void {
    const slice = Math.floor(now / reportSlice);
    if (slice !== this.#slice) {
      this.#slice = slice;
      this.#lists.clear();
      this.#size = 0;
    }
    const list = this.#lists.get(playlist) ?? { seen: new Set(), unreported: [] };
    if (list.seen.has(viewer) || this.#size >= maxViewers) return;
    this.#lists.set(playlist, list);
    list.seen.add(viewer);
    list.unreported.push(viewer);
    this.#size += 1;
  }

  /** Those that the next request for this playlist reports. */
  take(playlist: string): readonly string[] {
    return this.#lists.get(playlist)?.unreported.splice(0, maxViewersReported) ?? [];
  }
}
