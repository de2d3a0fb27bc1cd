import { copyBytes } from '../../../base/copy-bytes.ts';
import { AUDIO_TRACK, VIDEO_TRACK } from '../../live/track.ts';
import { CTS, DTS, OFFSET, type Run, SIZE, STRIDE, SYNC } from '../../mp4/fragment.ts';
import {
  type FragmentReader,
  STRIDE as READ,
  SIZE as READ_SIZE,
  type ReadRun,
} from '../../recording/file/fragment-reader.ts';

/** What renditions have in common with a part of the source. Times in ticks of 1/90000 s unless told. */
export interface SourcePart {
  readonly sequence: number;
  /** Which part of its segment it is. */
  readonly index: number;
  /** When its first picture is decoded, and the first one behind it. */
  readonly start: number;
  readonly end: number;
  readonly pictures: number;
  /** Seconds. */
  readonly duration: number;
  /** Its first picture, epoch ms. */
  readonly wallStart: number;
  readonly sound: Sound | undefined;
}

/** The sound of a part, in bytes of its own. */
export type Sound = Run;

/** Pictures and sound of a part that the packager wrote. `pictures` is good until the reader reads again. */
export function readSourcePart(
  bytes: Uint8Array,
  reader: FragmentReader,
): { readonly pictures: ReadRun; readonly sound: Sound | undefined } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isRead = bytes.length >= 8 && reader.read(view, 0, view.getUint32(0));
  const runs = reader.runs.slice(0, isRead ? reader.count : 0);
  const pictures = runs.find(({ track }) => track === VIDEO_TRACK);
  if (pictures === undefined) throw new Error('a part of the live window has no pictures');
  const sound = runs.find(({ track }) => track === AUDIO_TRACK);
  return { pictures, sound: sound && soundOf(bytes, sound) };
}

/** The sound of several parts that follow each other. */
export function joinSounds(parts: readonly SourcePart[]): Sound | undefined {
  const sounds = parts.map(({ sound }) => sound).filter((sound) => sound !== undefined);
  if (sounds.length < 2) return sounds[0];
  const taken = sounds.reduce((sum, sound) => sum + sound.taken, 0);
  const table = new Float64Array(taken * STRIDE);
  const bytes = new Uint8Array(sounds.reduce((sum, sound) => sum + sound.bytes.length, 0));
  let row = 0;
  let at = 0;
  for (const sound of sounds) {
    table.set(sound.table, row);
    for (const end = row + sound.table.length; row < end; row += STRIDE) table[row + OFFSET] += at;
    bytes.set(sound.bytes, at);
    at += sound.bytes.length;
  }
  return { id: AUDIO_TRACK, isVideo: false, table, taken, until: sounds[sounds.length - 1].until, bytes };
}

/** Copied: the pictures of the part, which are most of it, are needed no longer than it takes to hand them out. */
function soundOf(part: Uint8Array, run: ReadRun): Sound {
  const table = new Float64Array(run.count * STRIDE);
  const bytes = new Uint8Array(run.bytes);
  copyBytes(part, run.offset, bytes, 0, run.bytes);
  let time = run.start;
  let at = 0;
  for (let i = 0; i < run.count; i += 1) {
    const size = run.table[i * READ + READ_SIZE];
    table[i * STRIDE + DTS] = time;
    table[i * STRIDE + CTS] = 0;
    table[i * STRIDE + OFFSET] = at;
    table[i * STRIDE + SIZE] = size;
    table[i * STRIDE + SYNC] = 1;
    time += run.table[i * READ];
    at += size;
  }
  return { id: AUDIO_TRACK, isVideo: false, table, taken: run.count, until: time, bytes };
}
