import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ByteLru } from '../base/byte-lru.ts';
import { Fault } from '../base/fault.ts';
import { SingleFlight } from '../base/single-flight.ts';
import type { Variant } from '../hls/playlist.ts';
import type { Blobs } from '../ports/blobs.ts';
import { mediaPlaylist, mostBytes } from './media-playlist.ts';
import { readSegmentIndex, type SegmentIndex } from './segment-index.ts';
import type { FilmIdentity } from './text-tracks.ts';

/** Indexes and playlists that are read or made at one time. */
const running = 16;
/** Requests that may wait for those. */
const waiting = 20_000;
const compress = promisify(gzip);

/** Where the bytes of a film lie: blobs that never change under these keys. */
export interface Film {
  readonly video: { readonly key: string; readonly size: number; readonly sha256: string };
  /** Followed by the bytes `from` up to `to` of the video it is the film with its index in front. */
  readonly head?: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  /** Where its segments lie; without it there is no HLS of it. */
  readonly index?: { readonly key: string; readonly size: number };
  /**
   * Present when it was not packaged for HLS: then the index names places here, which are init segments and blocks of
   * segments (`segment-index.ts`).
   */
  readonly heads?: { readonly key: string; readonly size: number };
  /** Other pictures of the same film, beside those of `video`. */
  readonly renditions?: readonly FilmRendition[];
  /** For the plugins that have text tracks of it; without it there are none. */
  readonly identity?: FilmIdentity;
}

export interface FilmRendition {
  /** Segments and nothing else: no film by itself. */
  readonly video: Film['video'];
  /** As long as that of the film (`core/vod/segment-index.ts`). */
  readonly index: { readonly key: string; readonly size: number };
  readonly variant: Variant;
}

/**
 * Indexes and playlists of films, kept in a fixed number of bytes: those used longest ago make room. Each is read or made
 * once at a time, however many want it. Fault `server.busy` (503) when too much is under way; those of the Blobs port.
 * What is undefined is not in the blob store.
 */
export class Films {
  readonly #blobs: Pick<Blobs, 'get'>;
  readonly #kept: ByteLru<SegmentIndex | MadePlaylist>;
  readonly #shared = new SingleFlight<SegmentIndex | MadePlaylist | undefined>({
    running,
    waiting,
  });

  constructor(options: { blobs: Pick<Blobs, 'get'>; bytes: number }) {
    this.#blobs = options.blobs;
    this.#kept = new ByteLru(options);
  }

  /** Held now, kept or being made. */
  get bytes(): number {
    return this.#kept.bytes;
  }

  index({ index }: IndexedFilm, options: Asked): Promise<SegmentIndex | undefined> {
    return this.#once<SegmentIndex>(`${index.key} index`, {
      ...options,
      // As it comes, and put together.
      room: 2 * index.size,
      make: async (signal) => {
        const bytes = await this.#read(index, signal);
        return bytes && { made: readSegmentIndex(bytes), bytes: bytes.length };
      },
    });
  }

  /** The media playlist. `variant`: 0, or which rendition of another film this is, counted from 1. */
  async playlist(film: IndexedFilm, options: AskedPlaylist): Promise<MadePlaylist | undefined> {
    const known = this.#kept.get(`${film.index.key} playlist`);
    if (known) return known as MadePlaylist;
    const index = await this.index(film, options);
    if (!index) return undefined;
    return this.#once<MadePlaylist>(`${film.index.key} playlist`, {
      ...options,
      // As it is, and compressed to a fifth or less.
      room: 1.25 * mostBytes(index),
      make: async (signal) => {
        const plain = await mediaPlaylist(index, { signal, variant: options.variant });
        // By a thread of the pool.
        const gzip = new Uint8Array(await compress(plain));
        return { made: { plain, gzip }, bytes: plain.length + gzip.length };
      },
    });
  }

  async #once<T extends SegmentIndex | MadePlaylist>(
    key: string,
    options: Asked & {
      room: number;
      make: (signal: AbortSignal) => Promise<{ made: T; bytes: number } | undefined>;
    },
  ): Promise<T | undefined> {
    const known = this.#kept.get(key);
    if (known) return known as T;
    const outcome = await this.#shared.wait(key, {
      signal: options.signal,
      work: async (signal) => {
        const room = this.#kept.reserve(options.room);
        if (!room) throw busy;
        try {
          const found = await options.make(signal);
          if (found) room.keep(key, found.made, { bytes: found.bytes });
          return found?.made;
        } finally {
          room.release();
        }
      },
    });
    // The client of `left` is gone and reads no answer.
    if (outcome === 'full' || outcome === 'left') throw busy;
    return outcome as T | undefined;
  }

  async #read(
    { key, size }: { key: string; size: number },
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const found = await this.#blobs.get(key, { range: { from: 0, to: size }, signal });
    if (found.outcome === 'absent') return undefined;
    if (found.outcome === 'ok' && found.blob.size === size)
      return new Response(found.body as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
    if (found.outcome === 'ok') await found.body.cancel();
    throw new Error(`the index ${key} has another size than ${size} bytes`);
  }
}

/** A media playlist as it is sent to those who take gzip, and to others. */
interface MadePlaylist {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** A film with HLS. */
export type IndexedFilm = Film & Required<Pick<Film, 'index'>>;

interface Asked {
  /** Who is no longer interested ends nothing for others. */
  readonly signal: AbortSignal;
}

interface AskedPlaylist extends Asked {
  readonly variant?: number;
}

const busy = new Fault('server.busy', {
  status: 503,
  message: 'Too many playlists are being read. Try again.',
  retryAfter: 1,
});
