import type { IndexedInit } from '../../../../core/vod/segment-index.ts';
import { box, full, text, u32 } from '../../mp4/box.ts';
import type { PublishedInit } from '../../publish/subscriber.ts';

/** Each recording file begins with it: ISO/IEC 14496-12 4.3. Version 1 of composition offsets needs `iso4` or later. */
export const FILE_TYPE = box('ftyp', text('isom'), u32(0x200), text('isomiso6mp41mp42'));

/** The header of an extent of `size` bytes; 0: it goes to the end of the file. */
export function extentHeader(size: number): Uint8Array {
  return new Uint8Array([...u32(size), ...text('mdat')]);
}

/** Our own boxes inside the `mdat` of a recording file. Readers skip what follows the fields they know. */
export const RUN = 0x6d72756e;
export const SEGMENT = 0x6d736567;

/** Bytes of a marker; a longer one in a file means damage. */
export const markerBytes = 4096;

/** Stands before the segments of one init, and holds what the init segment itself does not say. */
export interface RunMarker {
  /** Number of the init in the file. Its bytes follow the marker the first time. */
  readonly init: number;
  readonly described: Pick<PublishedInit, 'codecs' | 'width' | 'height' | 'frameRate'>;
}

/** Stands before each segment. */
export interface SegmentMarker {
  /** From 0, over the whole file. */
  readonly number: number;
  readonly isDiscontinuity: boolean;
  /** Epoch ms. */
  readonly wallStart: number;
}

export function descriptionOf(
  init: Pick<IndexedInit, 'codecs' | 'width' | 'height' | 'frameRate'>,
): RunMarker['described'] {
  const { codecs, width, height, frameRate } = init;
  return { codecs, width, height, frameRate };
}

/** `mrun`: version 1, number of the init, then JSON. RangeError when it is too large. */
export function writeRunMarker({ init, described }: RunMarker): Uint8Array {
  const marker = full('mrun', 1, 0, u32(init), text(JSON.stringify(descriptionOf(described))));
  if (marker.length > markerBytes) throw new RangeError(`a run marker has ${marker.length} bytes`);
  return marker;
}

/** `mseg`: version 1, flag 1 after a discontinuity, number, wall clock as a 64-bit float. */
export function writeSegmentMarker({ number, isDiscontinuity, wallStart }: SegmentMarker): Uint8Array {
  const body = new Uint8Array(16);
  const view = new DataView(body.buffer);
  view.setUint32(0, 0x01000000 + Number(isDiscontinuity));
  view.setUint32(4, number);
  view.setFloat64(8, wallStart);
  return box('mseg', body);
}

/** Undefined: these bytes are no run marker. */
export function readRunMarker(bytes: Uint8Array): RunMarker | undefined {
  if (bytes.length < 18 || bytes[8] === 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const described = readDescription(Buffer.from(bytes.subarray(16)).toString());
  return described && { init: view.getUint32(12), described };
}

/** Undefined: these bytes are no segment marker. */
export function readSegmentMarker(bytes: Uint8Array): SegmentMarker | undefined {
  if (bytes.length < 24 || bytes[8] === 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const wallStart = view.getFloat64(16);
  if (!Number.isFinite(wallStart)) return undefined;
  return { number: view.getUint32(12), isDiscontinuity: (bytes[11] & 1) === 1, wallStart };
}

function readDescription(json: string): RunMarker['described'] | undefined {
  let value: Partial<Record<string, unknown>>;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { codecs, width, height, frameRate } = value ?? {};
  if (!Array.isArray(codecs) || !codecs.every((codec) => typeof codec === 'string')) return undefined;
  const number = (known: unknown) => (typeof known === 'number' ? known : undefined);
  return { codecs, width: number(width), height: number(height), frameRate: number(frameRate) };
}
