/** Bytes of an init segment: it holds two headers of 64 KiB at most. */
export const initBytes = 262_144;

/** Tracks of an init segment or a fragment. The packager writes two. */
export const mostTracks = 8;

/** One track of an init segment. */
export interface InitTrack {
  readonly id: number;
  readonly timescale: number;
  readonly isVideo: boolean;
  /** Type of its sample entry: `avc1`, `hvc1`, `av01`, `mp4a`, `Opus`. */
  readonly format: string;
  /** The sample entry as a box of its own. */
  readonly entry: Uint8Array;
}

/** The tracks of an init segment, ftyp and moov (ISO/IEC 14496-12 8.2 to 8.5). Undefined: it is none. */
export function readInit(bytes: Uint8Array): readonly InitTrack[] | undefined {
  if (bytes.length > initBytes) return undefined;
  const top = children(bytes, 0);
  if (top?.length !== 2 || top[0].type !== 'ftyp' || top[1].type !== 'moov') return undefined;
  const traks = (children(top[1].bytes, 8) ?? []).filter(({ type }) => type === 'trak');
  const tracks = traks.map(({ bytes: trak }) => readTrack(trak));
  if (tracks.length === 0 || tracks.length > mostTracks) return undefined;
  return tracks.every((track) => track !== undefined) ? tracks : undefined;
}

interface Found {
  readonly type: string;
  /** Size and type included. */
  readonly bytes: Uint8Array;
}

/** The boxes that fill `parent` from `at` on; undefined when they do not. */
export function children(parent: Uint8Array, at: number): Found[] | undefined {
  const found: Found[] = [];
  const view = viewOf(parent);
  for (let next = at; next < parent.length; ) {
    const size = next + 8 <= parent.length ? view.getUint32(next) : 0;
    if (size < 8 || next + size > parent.length) return undefined;
    const type = String.fromCharCode(...parent.subarray(next + 4, next + 8));
    found.push({ type, bytes: parent.subarray(next, next + size) });
    next += size;
  }
  return found;
}

function readTrack(trak: Uint8Array): InitTrack | undefined {
  const tkhd = find(trak, 'tkhd');
  const mdhd = find(trak, 'mdia/mdhd');
  const hdlr = find(trak, 'mdia/hdlr');
  const stsd = find(trak, 'mdia/minf/stbl/stsd');
  if (!tkhd || !mdhd || !hdlr || !stsd) return undefined;
  // Version 0 of the headers, as our own init has them.
  if (tkhd.length < 24 || mdhd.length < 24 || hdlr.length < 20 || stsd.length < 16) return undefined;
  if (tkhd[8] !== 0 || mdhd[8] !== 0) return undefined;
  const id = viewOf(tkhd).getUint32(20);
  const timescale = viewOf(mdhd).getUint32(20);
  const handler = String.fromCharCode(...hdlr.subarray(16, 20));
  const [entry] = children(stsd, 16) ?? [];
  if (timescale === 0 || (handler !== 'vide' && handler !== 'soun')) return undefined;
  const isVideo = handler === 'vide';
  // The fixed fields of a VisualSampleEntry (12.1.3) and an AudioSampleEntry (12.2.3).
  if (entry === undefined || entry.bytes.length < (isVideo ? 86 : 36)) return undefined;
  return { id, timescale, isVideo, format: entry.type, entry: entry.bytes };
}

function find(parent: Uint8Array, path: string): Uint8Array | undefined {
  let here: Uint8Array | undefined = parent;
  for (const type of path.split('/'))
    here = here && children(here, 8)?.find((child) => child.type === type)?.bytes;
  return here;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
