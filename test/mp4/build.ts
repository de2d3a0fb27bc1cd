/** Writes mp4 files by hand, each box as a test wants it: also wrong ones. */
import { AAC_48000_STEREO, AVC_360P } from '../hls/feed.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

export function box(type: string, ...payload: Uint8Array[]): Bytes {
  const body = join(...payload);
  return join(u32(body.length + 8), text(type), body);
}

export function full(type: string, version: number, flags: number, ...payload: Uint8Array[]): Bytes {
  return box(type, u32(version * 0x1000000 + flags), ...payload);
}

export function join(...parts: Uint8Array[]): Bytes {
  return new Uint8Array(Buffer.concat(parts));
}

export function u32(...values: number[]): Bytes {
  const bytes = new Uint8Array(values.length * 4);
  values.forEach((value, index) => {
    new DataView(bytes.buffer).setUint32(index * 4, value);
  });
  return bytes;
}

export function u16(...values: number[]): Bytes {
  return Uint8Array.from(values.flatMap((value) => [(value >> 8) & 255, value & 255]));
}

export function text(value: string): Bytes {
  return Uint8Array.from(value, (character) => character.charCodeAt(0));
}

export const ftyp = box('ftyp', text('isom'), u32(512), text('isomiso2avc1mp41'));
const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

export function mvhd(duration = 1000): Bytes {
  const zeros = new Uint8Array(24);
  return full('mvhd', 0, 0, u32(0, 0, 1000, duration, 0x10000, 0x01000000, 0, 0), matrix, zeros, u32(9));
}

export interface TrackShape {
  readonly id?: number;
  readonly handler?: string;
  /** Ticks a second, and what the header says. */
  readonly timescale?: number;
  readonly duration?: number;
  readonly entry?: Uint8Array;
  readonly entries?: number;
  /** In place of the plain ones. */
  readonly tables?: readonly Uint8Array[];
  readonly dref?: Uint8Array;
  readonly extra?: readonly Uint8Array[];
}

/** 30 samples of 100 bytes in one chunk at byte `at`, each a thirtieth of a second. */
export function tables(at: number, samples = 30): Record<'stts' | 'stsc' | 'stsz' | 'stco', Bytes> {
  return {
    stts: full('stts', 0, 0, u32(1, samples, 1000)),
    stsc: full('stsc', 0, 0, u32(1, 1, samples, 1)),
    stsz: full('stsz', 0, 0, u32(0, samples), u32(...Array.from({ length: samples }, () => 100))),
    stco: full('stco', 0, 0, u32(1, at)),
  };
}

export function trak(shape: TrackShape = {}): Bytes {
  const { id = 1, handler = 'vide', timescale = 30_000, duration = 30_000, extra = [] } = shape;
  const tkhd = full('tkhd', 0, 3, u32(0, 0, id, 0, 1000, 0, 0), u16(0, 0, 0, 0), matrix, u32(0, 0));
  const mdhd = full('mdhd', 0, 0, u32(0, 0, timescale, duration), u16(0x55c4, 0));
  const hdlr = full('hdlr', 0, 0, u32(0), text(handler), u32(0, 0, 0), text('x\0'));
  const dref = shape.dref ?? full('dref', 0, 0, u32(1), full('url ', 0, 1));
  const stsd = full('stsd', 0, 0, u32(shape.entries ?? 1), shape.entry ?? avc1());
  const stbl = box('stbl', stsd, ...(shape.tables ?? Object.values(tables(fileHead))));
  const minf = box('minf', full('vmhd', 0, 1, u16(0, 0, 0, 0)), box('dinf', dref), stbl);
  return box('trak', tkhd, ...extra, box('mdia', mdhd, hdlr, minf));
}

export function avc1(
  options: { type?: string; record?: Uint8Array; extra?: readonly Uint8Array[] } = {},
): Bytes {
  return box(
    options.type ?? 'avc1',
    u32(0),
    u16(0, 1),
    new Uint8Array(16),
    u16(640, 360),
    u32(0x480000, 0x480000, 0),
    u16(1),
    new Uint8Array(32),
    u16(24, 0xffff),
    box('avcC', options.record ?? AVC_360P),
    ...(options.extra ?? []),
  );
}

export function mp4a(options: { objectType?: number; config?: Uint8Array; type?: string } = {}): Bytes {
  const config = options.config ?? AAC_48000_STEREO;
  const specific = descriptor(5, config);
  const head = Uint8Array.of(options.objectType ?? 0x40, 0x15, 0, 0, 0);
  const decoder = descriptor(4, join(head, u32(0, 0), specific));
  const esds = full('esds', 0, 0, descriptor(3, join(u16(0), Uint8Array.of(0), decoder)));
  const sound = join(u32(0), u16(0, 1), u32(0, 0), u16(2, 16), u32(0), u16(48_000, 0));
  return box(options.type ?? 'mp4a', sound, esds);
}

function descriptor(tag: number, payload: Uint8Array): Bytes {
  return join(Uint8Array.of(tag, payload.length), payload);
}

/** Where the samples lie in `film`: after ftyp and the head of mdat. */
export const fileHead = ftyp.length + 8;
export const mdat = box('mdat', new Uint8Array(4000).fill(0x65));

/** A file with its moov at the end: whatever it has, the samples stay where they are. */
export function film(...moov: Uint8Array[]): Bytes {
  return join(ftyp, mdat, box('moov', ...moov));
}

/** One with fragments. */
export function fragmented(
  options: { moov?: readonly Uint8Array[]; fragments?: readonly Uint8Array[]; trex?: Bytes } = {},
): Bytes {
  const trex = options.trex ?? full('trex', 0, 0, u32(1, 1, 1000, 100, 0));
  const moov = box('moov', ...(options.moov ?? [mvhd(0), emptyTrak()]), box('mvex', trex));
  return join(ftyp, moov, ...(options.fragments ?? [moof(), mdat]));
}

export function emptyTrak(shape: TrackShape = {}): Bytes {
  const none = (type: string) => full(type, 0, 0, u32(0));
  const empty = [none('stts'), none('stsc'), full('stsz', 0, 0, u32(0, 0)), none('stco')];
  return trak({ duration: 0, tables: empty, ...shape });
}

/** 30 samples as trex has them, or another trun. */
export function moof(options: { trun?: Uint8Array; tfdt?: number; id?: number } = {}): Bytes {
  const trun = options.trun ?? full('trun', 0, 1, u32(30, 104));
  const tfhd = full('tfhd', 0, 0x020000, u32(options.id ?? 1));
  const tfdt = full('tfdt', 0, 0, u32(options.tfdt ?? 0));
  return box('moof', full('mfhd', 0, 0, u32(1)), box('traf', tfhd, tfdt, trun));
}

export interface Samples {
  readonly sizes: readonly number[];
  /** Ticks of each. */
  readonly durations: readonly number[];
  readonly shifts?: readonly number[];
  /** Numbers of the key frames, from 1; all without. */
  readonly syncs?: readonly number[];
  /** Where each chunk lies and how many samples it has. */
  readonly chunks: readonly (readonly [at: number, count: number])[];
  /** Sample entry of each chunk; 1 without. */
  readonly entries?: readonly number[];
}

/** The tables of any samples. */
export function sampleTables(samples: Samples): Bytes[] {
  const { sizes, durations, shifts, syncs, chunks, entries } = samples;
  const stsc = chunks.map(([, count], index) => u32(index + 1, count, entries?.[index] ?? 1));
  return [
    full('stts', 0, 0, u32(durations.length), ...durations.map((ticks) => u32(1, ticks))),
    full('stsz', 0, 0, u32(0, sizes.length), u32(...sizes)),
    full('stsc', 0, 0, u32(chunks.length), ...stsc),
    full(
      'co64',
      0,
      0,
      u32(chunks.length),
      ...chunks.map(([at]) => u32(Math.floor(at / 2 ** 32), at % 2 ** 32)),
    ),
    ...(shifts
      ? [full('ctts', 1, 0, u32(shifts.length), ...shifts.map((ticks) => u32(1, ticks >>> 0)))]
      : []),
    ...(syncs ? [full('stss', 0, 0, u32(syncs.length), u32(...syncs))] : []),
  ];
}

export function edts(...rows: [duration: number, start: number][]): Bytes {
  const list = rows.map(([duration, start]) => u32(duration, start >>> 0, 0x10000));
  return box('edts', full('elst', 0, 0, u32(rows.length), ...list));
}

/** An SPS of 4096 x 4096 macroblocks. */
export function vast(): Bytes {
  const side = '0000000000001000000000000';
  const bits = `1 1 011 010 0 ${side} ${side} 1 1 0 0 1`.replaceAll(' ', '');
  const payload = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? [];
  const sps = Uint8Array.of(0x67, 66, 0, 30, ...payload.map((byte) => Number.parseInt(byte, 2)));
  return join(Uint8Array.of(1, 66, 0, 30, 0xff, 0xe1), u16(sps.length), sps, Uint8Array.of(1, 0, 1, 0x68));
}
