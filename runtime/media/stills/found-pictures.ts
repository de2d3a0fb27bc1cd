import type { StillBytes, StillSource } from '../../../core/ports/stills.ts';
import { MDAT, MOOF } from '../mp4/fragment-boxes.ts';
import { type InitTrack, readInit } from '../recording/file/read-init.ts';
import { type FragmentPicture, type FragmentPictures, fragmentPictures } from './fragment-pictures.ts';
import type { StillLimits } from './limits.ts';

/** What a decoder needs for one picture. */
export interface FoundPictures {
  readonly init: { readonly id: string; readonly bytes: Uint8Array; readonly track: InitTrack };
  /** In the order of decoding. Times count from the decode time of the first, places are in `bytes`. */
  readonly pictures: readonly FragmentPicture[];
  readonly bytes: Uint8Array;
  /** When the one is shown that is wanted, ticks, by those times. */
  readonly wanted: number;
}

/** Why there is none, for people. */
export class NoPicture extends Error {}

/** Stamps of RTMP are whole milliseconds, rounded: seconds. */
const rounding = 0.001;

/**
 * Finds the picture of a segment that is wanted, and all that it depends on. Of one wanted by its time that is the segment up to it,
 * of a key frame nothing else. Throws NoPicture.
 */
export async function findPictures(
  source: StillSource,
  { limits, signal }: { limits: StillLimits; signal: AbortSignal },
): Promise<FoundPictures> {
  const bytes = await source.init.read(signal);
  const tracks = bytes.length > limits.initBytes ? undefined : readInit(bytes);
  const video = tracks?.filter(({ isVideo }) => isVideo) ?? [];
  if (!tracks || video.length !== 1)
    throw new NoPicture(tracks ? 'It has no video.' : 'It is damaged: no picture can be found in it.');
  const [track] = video;
  const pixels = sideAt(track, 32) * sideAt(track, 34);
  if (pixels > limits.sourcePixels)
    throw new NoPicture(
      `Its picture has ${pixels} pixels; no still is made of more than ${limits.sourcePixels}.`,
    );
  const init = { id: source.init.id, bytes, track };
  const segment = await source.open(signal);
  const window = new ReadWindow(segment, { limits, signal });
  const all: FragmentPicture[] = [];
  let lead = 0;
  let at = 0;
  for (let count = 0; at < segment.size; count += 1) {
    if (count >= limits.fragments) throw new NoPicture('Its segment has too many fragments.');
    const { moof, end } = await fragmentAt(window, { at, size: segment.size, limits });
    const found = fragmentPictures(moof, tracks);
    if (!found) throw damaged();
    if (count === 0) lead = leadOf(found, { source, timescale: track.timescale });
    for (const picture of found.pictures) all.push({ ...picture, at: at + picture.at });
    at = end;
    if (isEnough(all, { source, lead, timescale: track.timescale })) break;
  }
  const chosen = choose(all, { source, lead, timescale: track.timescale });
  if (chosen.pictures.length === 0) throw new NoPicture('There is no picture in this part of it.');
  const [{ dts: start }] = chosen.pictures;
  const from = Math.min(...chosen.pictures.map((picture) => picture.at));
  const to = Math.max(...chosen.pictures.map((picture) => picture.at + picture.size));
  const most = source.at === undefined ? limits.keyFrame : limits.inputBytes;
  if (to > segment.size) throw damaged();
  if (to - from > most) throw new NoPicture(`More than ${most} bytes must be read to come to that picture.`);
  const pictures = chosen.pictures.map((picture) => ({
    ...picture,
    at: picture.at - from,
    dts: picture.dts - start,
    pts: picture.pts - start,
  }));
  return { init, pictures, bytes: await window.bytes(from, to), wanted: chosen.wanted.pts - start };
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

interface Wanting {
  readonly source: StillSource;
  readonly lead: number;
  readonly timescale: number;
}

/** Nothing that comes behind these can be the one, or is needed for it. */
function isEnough(all: readonly FragmentPicture[], { source, lead, timescale }: Wanting): boolean {
  if (source.at === undefined) return all.some(({ isSync }) => isSync);
  if (all.length === 0) return false;
  const due = dueOf(all, { at: source.at, lead, timescale });
  // What is decoded later may be shown before, but not before it is decoded by the last.
  return all[all.length - 1].dts > due;
}

function choose(all: readonly FragmentPicture[], { source, lead, timescale }: Wanting) {
  if (source.at === undefined) {
    const key = all.find(({ isSync }) => isSync);
    return { pictures: key ? [key] : [], wanted: key as FragmentPicture };
  }
  const due = dueOf(all, { at: source.at, lead, timescale });
  let index = -1;
  let earliest = 0;
  all.forEach(({ pts }, row) => {
    if (pts <= due && (index < 0 || pts >= all[index].pts)) index = row;
    if (pts < all[earliest].pts) earliest = row;
  });
  if (index < 0) index = earliest;
  return { pictures: all.slice(0, index + 1), wanted: all[index] };
}

/** Ticks up to which pictures count. */
function dueOf(
  all: readonly FragmentPicture[],
  { at, lead, timescale }: { at: number; lead: number; timescale: number },
): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { pts } of all) first = Math.min(first, pts);
  return first + (at - lead + rounding) * timescale;
}

/** The `moof` at a place of the segment, and where the `mdat` behind it ends. */
async function fragmentAt(
  window: ReadWindow,
  { at, size, limits }: { at: number; size: number; limits: StillLimits },
): Promise<{ moof: Uint8Array; end: number }> {
  const head = await window.bytes(at, at + 8);
  const length = sizeOf(head, 0);
  if (typeOf(head) !== MOOF || length < 16 || length > limits.indexBytes || at + length + 8 > size)
    throw damaged();
  const bytes = await window.bytes(at, at + length + 8);
  const end = at + length + sizeOf(bytes, length);
  if (typeOf(bytes.subarray(length)) !== MDAT || end < at + length + 8 || end > size) throw damaged();
  return { moof: bytes.subarray(0, length), end };
}

function sizeOf(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(at);
}

function typeOf(bytes: Uint8Array): number {
  return sizeOf(bytes, 4);
}

function damaged(): NoPicture {
  return new NoPicture('It is damaged: no picture can be found in it.');
}

/** Bytes of a segment, read in stretches that are worth a request. */
class ReadWindow {
  readonly #source: StillBytes;
  readonly #signal: AbortSignal;
  readonly #ahead: number;
  #at = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(source: StillBytes, { limits, signal }: { limits: StillLimits; signal: AbortSignal }) {
    this.#source = source;
    this.#signal = signal;
    this.#ahead = limits.readAhead;
  }

  /** Throws NoPicture where the segment is shorter. */
  async bytes(from: number, to: number): Promise<Uint8Array> {
    if (from < this.#at || to > this.#at + this.#bytes.length) {
      const end = Math.min(this.#source.size, Math.max(to, from + this.#ahead));
      this.#bytes = await this.#source.read({ from, to: end }, this.#signal);
      this.#at = from;
    }
    const found = this.#bytes.subarray(from - this.#at, to - this.#at);
    if (found.length < to - from) throw damaged();
    return found;
  }
}
