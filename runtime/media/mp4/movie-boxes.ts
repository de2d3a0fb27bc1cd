import { box, full, MATRIX, text, u16, u32, u64 } from './box.ts';

/** Movie header, 8.2.2. `created`: seconds from 1904; `duration`: ticks. */
export function mvhd(movie: {
  readonly timescale: number;
  readonly created: number;
  readonly duration: number;
  readonly nextId: number;
}): Uint8Array {
  const { version, fields } = timesOf(movie, [u32(movie.timescale)]);
  const rest = [u32(0x10000, 0x01000000, 0, 0), MATRIX, new Uint8Array(24), u32(movie.nextId)];
  return full('mvhd', version, 0, ...fields, ...rest);
}

export interface TrackBoxes {
  readonly id: number;
  readonly isVideo: boolean;
  /** Ticks a second of its samples. */
  readonly timescale: number;
  /** Seconds from 1904. */
  readonly created: number;
  /** In ticks of the movie, and in its own. */
  readonly movieDuration: number;
  readonly duration: number;
  /** Matrix, width and height of its header, 44 bytes. */
  readonly display: Uint8Array;
  /** Between the header and the media. */
  readonly edits: readonly Uint8Array[];
  /** The sample tables, in pieces. */
  readonly tables: readonly Uint8Array[];
}

/** A `trak` box, 8.3; enabled, in movie. */
export function trak(track: TrackBoxes): readonly Uint8Array[] {
  const { id, isVideo, timescale, created, movieDuration, duration, display, edits, tables } = track;
  const head = timesOf({ created, duration: movieDuration }, [u32(id, 0)]);
  const volume = u16(0, 0, isVideo ? 0 : 0x100, 0);
  const media = timesOf({ created, duration }, [u32(timescale)]);
  const handler = text(isVideo ? 'vide' : 'soun');
  const information = isVideo ? full('vmhd', 0, 1, u16(0, 0, 0, 0)) : full('smhd', 0, 0, u32(0));
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)));
  return tree(
    'trak',
    [full('tkhd', head.version, 3, ...head.fields, u32(0, 0), volume, display), ...edits],
    tree(
      'mdia',
      [
        full('mdhd', media.version, 0, ...media.fields, u16(0x55c4, 0)),
        full('hdlr', 0, 0, u32(0), handler, u32(0, 0, 0), text('Millrace\0')),
      ],
      tree('minf', [information, dinf], tree('stbl', tables)),
    ),
  );
}

/** Matrix, width and height of a track header. Pixels. */
export function displayOf(width: number, height: number): Uint8Array {
  return Uint8Array.from([...MATRIX, ...u32(width * 0x10000, height * 0x10000)]);
}

/** A box around pieces that are not copied. */
export function tree(type: string, ...contents: (readonly Uint8Array[])[]): readonly Uint8Array[] {
  const pieces = contents.flat();
  const size = pieces.reduce((sum, piece) => sum + piece.length, 8);
  return [u32(size), text(type), ...pieces];
}

/** Creation and modification time, what stands in between, and the duration: 64 bits wide where one needs them. */
function timesOf(
  { created, duration }: { readonly created: number; readonly duration: number },
  between: readonly Uint8Array[],
): { readonly version: number; readonly fields: readonly Uint8Array[] } {
  const isLong = Math.max(created, duration) > 0xfffffffe;
  const write = isLong ? u64 : u32;
  return { version: Number(isLong), fields: [write(created, created), ...between, write(duration)] };
}
