import type { StillSource } from '../../../core/ports/stills.ts';
import { MDAT, MOOF } from '../mp4/fragment.ts';
import { FragmentCursor, readFragment } from '../mp4/fragment-reader.ts';
import { type Box, Refusal } from '../mp4/inspect/boxes.ts';
import { FileWindow } from '../mp4/inspect/file.ts';
import { type InitTrack, readInit } from '../mp4/read-init.ts';

/** Largest picture that a still is made of, pixels. */
export const maxSourcePixels = 8192 * 4352;
/** Bytes read of a segment to come to one picture, and of one key frame. */
const maxInputBytes = 32 * 1_048_576;
const maxKeyFrameBytes = 16 * 1_048_576;
/** Bytes of an init segment, and of the `moof` box of a fragment. */
const maxInitBytes = 65_536;
const maxHeadBytes = 1_048_576;
const maxFragments = 1000;
/** A segment lasts seconds: a row takes 4 bytes of the box at least. */
const maxSamples = maxHeadBytes / 4;
/** Bytes read at once to find the first key frame: usually all of the index. */
const readAhead = 32_768;

/** A picture of a fragment. Times in ticks of its track. */
interface FragmentPicture {
  /** Place of its bytes. */
  readonly at: number;
  readonly size: number;
  readonly dts: number;
  readonly pts: number;
  readonly isSync: boolean;
}

interface FragmentPictures {
  /** In the order of decoding. */
  readonly pictures: readonly FragmentPicture[];
  /** Where the sound begins, seconds; undefined: there is none. */
  readonly soundStart: number | undefined;
}

/** What a decoder needs for one picture. */
export interface FoundPictures {
  readonly init: { readonly id: string; readonly bytes: Uint8Array; readonly track: InitTrack };
  /** In the order of decoding. Times count from the decode time of the first, places are in `bytes`. */
  readonly pictures: readonly FragmentPicture[];
  readonly bytes: Uint8Array;
  /** When the one is shown that is wanted, ticks, by those times. */
  readonly wanted: number;
  /** The same for the others that are wanted. */
  readonly others: readonly number[];
}

/** Why there is none, for people. */
export class NoPicture extends Error {}

/** Stamps of RTMP are whole milliseconds, rounded: seconds. */
export const rounding = 0.001;

/**
 * Finds the picture of a segment that is wanted, and all that it depends on. Of one wanted by its time that is the segment up to it,
 * of a key frame nothing else. `earlier`: seconds as `source.at`, and not beyond it, of others that are wanted. Throws NoPicture.
 */
export async function findPictures(
  source: StillSource,
  { signal, earlier = [] }: { signal: AbortSignal; earlier?: readonly number[] },
): Promise<FoundPictures> {
  const bytes = await source.init.read(signal);
  const tracks = bytes.length > maxInitBytes ? undefined : readInit(bytes);
  const video = tracks?.filter(({ isVideo }) => isVideo) ?? [];
  if (!tracks || video.length !== 1)
    throw new NoPicture(tracks ? 'It has no video.' : 'It is damaged: no picture can be found in it.');
  const [track] = video;
  const pixels = sideAt(track, 32) * sideAt(track, 34);
  if (pixels > maxSourcePixels)
    throw new NoPicture(
      `Its picture has ${pixels} pixels; no still is made of more than ${maxSourcePixels}.`,
    );
  const init = { id: source.init.id, bytes, track };
  const segment = await source.open(signal);
  const { size } = segment;
  const read = async (from: number, to: number) => {
    const bytes = await segment.read({ from, to }, signal);
    return bytes.length < to - from ? Promise.reject(damaged()) : bytes;
  };
  const window = new FileWindow({ size, read }, { ahead: readAhead });
  const all: FragmentPicture[] = [];
  let lead = 0;
  const ticksOf = (seconds: number) => (seconds - lead + rounding) * track.timescale;
  let chosen: Chosen | undefined;
  for (let at = 0, count = 0; at < size && !chosen?.isFinal; count += 1) {
    if (count >= maxFragments) throw new NoPicture('Its segment has too many fragments.');
    const { moof, end } = await fragmentAt(window, at);
    const found = fragmentPictures(moof, tracks);
    if (count === 0) lead = leadOf(found, { source, timescale: track.timescale });
    for (const picture of found.pictures) all.push({ ...picture, at: at + picture.at });
    at = end;
    chosen = choose(all, source.at === undefined ? undefined : ticksOf(source.at));
  }
  if (!chosen) throw new NoPicture('There is no picture in this part of it.');
  const last: Chosen = chosen;
  const { wanted } = last;
  const others = earlier.map((one) => choose(all, ticksOf(one)) ?? last);
  // An earlier one may be decoded later.
  const needed = [last, ...others].reduce((most, one) =>
    one.pictures.length > most.pictures.length ? one : most,
  ).pictures;
  const [{ dts: start }] = needed;
  const from = Math.min(...needed.map((picture) => picture.at));
  const to = Math.max(...needed.map((picture) => picture.at + picture.size));
  const most = source.at === undefined ? maxKeyFrameBytes : maxInputBytes;
  if (to > size) throw damaged();
  if (to - from > most) throw new NoPicture(`More than ${most} bytes must be read to come to that picture.`);
  const pictures = needed.map((picture) => ({
    ...picture,
    at: picture.at - from,
    dts: picture.dts - start,
    pts: picture.pts - start,
  }));
  const { buffer, byteOffset, byteLength } = await window.view(from, to);
  const found = new Uint8Array(buffer, byteOffset, byteLength);
  return {
    ...{ init, pictures, bytes: found, wanted: wanted.pts - start },
    others: others.map((one) => one.wanted.pts - start),
  };
}

/** The pictures of the fragment with this `moof`, by the one video track of `tracks`. Throws NoPicture. */
function fragmentPictures(moof: Box, tracks: readonly InitTrack[]): FragmentPictures {
  const trackOf = (id: number) => tracks.find((track) => track.id === id);
  const defaults = { duration: 0, size: 0, flags: 0, entry: 1 };
  const pictures: FragmentPicture[] = [];
  let soundStart: number | undefined;
  try {
    const of = { at: 0, most: maxSamples, trackOf: (id: number) => trackOf(id) && { defaults } };
    const cursor = new FragmentCursor(readFragment(moof, of));
    while (cursor.next()) {
      const { at, size, dts, shift, isSync } = cursor;
      const track = trackOf(cursor.track);
      if (at < moof.to) throw damaged();
      if (track?.isVideo) pictures.push({ at, size, dts, pts: dts + shift, isSync });
      else if (track) soundStart ??= dts / track.timescale;
    }
  } catch (error) {
    if (error instanceof Refusal) throw damaged();
    throw error;
  }
  return { pictures, soundStart };
}

/** Seconds by which the sound begins before the pictures, if that counts. */
function leadOf(
  { pictures, soundStart }: FragmentPictures,
  { source, timescale }: { source: StillSource; timescale: number },
): number {
  if (source.lead === undefined || soundStart === undefined || pictures.length === 0) return 0;
  let start = pictures[0].dts;
  if (source.lead === 'shown') {
    start = Number.POSITIVE_INFINITY;
    for (const { pts } of pictures) start = Math.min(start, pts);
  }
  return Math.max(0, start / timescale - soundStart);
}

/** Width and height stand there in a VisualSampleEntry (12.1.3), its header included. */
function sideAt({ entry }: InitTrack, at: number): number {
  return entry[at] * 0x100 + entry[at + 1];
}

interface Chosen {
  /** All that the wanted one depends on, and itself, in the order of decoding. */
  readonly pictures: readonly FragmentPicture[];
  readonly wanted: FragmentPicture;
  /** No picture that follows can be the wanted one, or is needed for it. */
  readonly isFinal: boolean;
}

/** @param after ticks from when the first picture is shown; undefined: the first key frame is wanted */
function choose(all: readonly FragmentPicture[], after: number | undefined): Chosen | undefined {
  if (after === undefined) {
    const key = all.find(({ isSync }) => isSync);
    return key && { pictures: [key], wanted: key, isFinal: true };
  }
  if (all.length === 0) return undefined;
  const first = all.reduce((best, one) => (one.pts < best.pts ? one : best));
  const due = first.pts + after;
  const wanted = all.reduce((best, one) => (one.pts <= due && one.pts >= best.pts ? one : best), first);
  // What is decoded later may be shown before, but not before it is decoded by the last.
  const isFinal = all[all.length - 1].dts > due;
  return { pictures: all.slice(0, all.indexOf(wanted) + 1), wanted, isFinal };
}

/** The `moof` at a place of the segment, and where the `mdat` behind it ends. */
async function fragmentAt(window: FileWindow, at: number): Promise<{ moof: Box; end: number }> {
  const { size } = window;
  if (at + 8 > size) throw damaged();
  const head = await window.view(at, at + 8);
  const length = head.getUint32(0);
  if (head.getUint32(4) !== MOOF || length < 16 || length > maxHeadBytes || at + length + 8 > size)
    throw damaged();
  const view = await window.view(at, at + length + 8);
  const end = at + length + view.getUint32(length);
  if (view.getUint32(length + 4) !== MDAT || end < at + length + 8 || end > size) throw damaged();
  return { moof: { type: 'moof', view, from: 8, to: length }, end };
}

function damaged(): NoPicture {
  return new NoPicture('It is damaged: no picture can be found in it.');
}
