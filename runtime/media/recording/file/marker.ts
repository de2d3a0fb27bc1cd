import { box, full, text, u32 } from '../../mp4/box.ts';
import type { FedInit } from '../feed.ts';
import { takeFileLimits } from './limits.ts';

/** Our own boxes inside the `mdat` of a take. Readers leave what is behind the fields they know. */
export const RUN = 0x6d72756e;
export const SEGMENT = 0x6d736567;

/** What stands before the segments of one init: what is in an init segment does not tell all of it. */
export interface RunMarker {
  /** Which of the inits of the file. Its bytes follow the marker where it is the first time. */
  readonly init: number;
  readonly described: Pick<FedInit, 'codecs' | 'width' | 'height' | 'frameRate'>;
}

/** What stands before each segment. */
export interface SegmentMarker {
  /** Counted from 0, over the whole file. */
  readonly number: number;
  readonly isDiscontinuity: boolean;
  /** Epoch ms. */
  readonly wallStart: number;
}

/** `mrun`: version 1, the init's number, then JSON. RangeError when it is too large. */
export function writeRunMarker({ init, described }: RunMarker): Uint8Array {
  const { codecs, width, height, frameRate } = described;
  const marker = full('mrun', 1, 0, u32(init), text(JSON.stringify({ codecs, width, height, frameRate })));
  if (marker.length > MOST)
    throw new RangeError(`a note of ${marker.length} bytes about an init is too long`);
  return marker;
}

/** `mseg`: version 1, flag 1 behind a discontinuity, number, wall clock as a 64-bit float. */
export function writeSegmentMarker({ number, isDiscontinuity, wallStart }: SegmentMarker): Uint8Array {
  const body = new Uint8Array(16);
  const view = new DataView(body.buffer);
  view.setUint32(0, 0x01000000 + Number(isDiscontinuity));
  view.setUint32(4, number);
  view.setFloat64(8, wallStart);
  return box('mseg', body);
}

/** Undefined: it is none. */
export function readRunMarker(bytes: Uint8Array): RunMarker | undefined {
  if (bytes.length < 18 || bytes.length > MOST || bytes[8] === 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const described = readDescription(Buffer.from(bytes.subarray(16)).toString());
  return described && { init: view.getUint32(12), described };
}

/** Undefined: it is none. */
export function readSegmentMarker(bytes: Uint8Array): SegmentMarker | undefined {
  if (bytes.length < 24 || bytes.length > MOST || bytes[8] === 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const wallStart = view.getFloat64(16);
  if (!Number.isFinite(wallStart)) return undefined;
  return { number: view.getUint32(12), isDiscontinuity: (bytes[11] & 1) === 1, wallStart };
}

const MOST = takeFileLimits.takeMarker.value;

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
