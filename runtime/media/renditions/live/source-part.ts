import { copyBytes } from '../../../base/copy-bytes.ts';
import { AUDIO_TRACK, VIDEO_TRACK } from '../../live/track.ts';
import { CTS, DTS, OFFSET, type Run, SIZE, STRIDE, SYNC } from '../../mp4/fragment.ts';
import { FragmentCursor, type FragmentRun, readOwnFragment } from '../../mp4/fragment-reader.ts';

/** What renditions have in common with a part of the source. Times in ticks of 1/90000 s unless noted. */
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
  /** In bytes of its own. */
  readonly sound: Run | undefined;
}

/** Pictures and sound of a part that the packager wrote. `pictures` refers to its bytes. */
export function readSourcePart(bytes: Uint8Array): {
  readonly pictures: FragmentRun;
  readonly sound: Run | undefined;
} {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const fragment = bytes.length >= 8 ? readOwnFragment(view, 0, view.getUint32(0)) : undefined;
  const runs = fragment?.runs ?? [];
  const pictures = runs.find(({ track }) => track === VIDEO_TRACK);
  if (pictures === undefined) throw new Error('a part of the live window has no pictures');
  const sound = runs.find(({ track }) => track === AUDIO_TRACK);
  return { pictures, sound: sound && soundOf(bytes, sound) };
}

/** The sound of several parts that follow each other. */
export function joinSounds(parts: readonly SourcePart[]): Run | undefined {
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
function soundOf(part: Uint8Array, run: FragmentRun): Run {
  const taken = run.rows.count;
  const table = new Float64Array(taken * STRIDE);
  const bytes = new Uint8Array(run.bytes);
  copyBytes(part, run.at, bytes, 0, run.bytes);
  const cursor = new FragmentCursor([run]);
  for (let row = 0; cursor.next(); row += STRIDE) {
    table[row + DTS] = cursor.dts;
    table[row + CTS] = 0;
    table[row + OFFSET] = cursor.at - run.at;
    table[row + SIZE] = cursor.size;
    table[row + SYNC] = 1;
  }
  return { id: AUDIO_TRACK, isVideo: false, table, taken, until: run.dts + run.ticks, bytes };
}
