import { type Box, boxes, bytesOf } from './box.ts';
import { readSampleEntry, type SampleEntry } from './sample-entry.ts';

/** One traf of a fragment, as a player reads it. Ticks of the track's timescale. */
export interface ParsedRun {
  readonly track: number;
  readonly start: number;
  readonly end: number;
  readonly samples: readonly {
    duration: number;
    size: number;
    isSync: boolean;
    cts: number;
    first: number;
    bytes: Uint8Array;
  }[];
}

export interface InitTrack {
  readonly id: number;
  readonly timescale: number;
  readonly handler: string;
  readonly width: number;
  readonly height: number;
  readonly entry: SampleEntry;
}

/** The one box at a path of types, `moov/trak/mdia`; throws when there is none. */
export function find(bytes: Uint8Array, path: string): Box[] {
  const [first, ...rest] = path.split('/');
  const here = boxes(bytes).filter((box) => box.type === first);
  if (rest.length === 0) return here;
  return here.flatMap((box) => find(bytesOf(box), rest.join('/')));
}

/** Reads an init segment, checking what players need of it. */
export function readInit(bytes: Uint8Array): InitTrack[] {
  const types = boxes(bytes).map((box) => box.type);
  if (types.join() !== 'ftyp,moov') throw new Error(`an init has ${types}`);
  const tracks = find(bytes, 'moov/trak').map((trak) => {
    const inner = bytesOf(trak);
    const [tkhd] = find(inner, 'tkhd');
    const [mdhd] = find(inner, 'mdia/mdhd');
    const [hdlr] = find(inner, 'mdia/hdlr');
    const [stsd] = find(inner, 'mdia/minf/stbl/stsd');
    const handler = String.fromCharCode(...bytesOf(hdlr).subarray(8, 12));
    if (mdhd.body.getUint32(12) === 0) throw new Error('a timescale is above 0');
    return {
      id: tkhd.body.getUint32(12),
      width: tkhd.body.getUint32(76) / 65_536,
      height: tkhd.body.getUint32(80) / 65_536,
      timescale: mdhd.body.getUint32(12),
      handler,
      entry: readSampleEntry(bytesOf(stsd), handler),
    };
  });
  const extended = find(bytes, 'moov/mvex/trex').map((box) => box.body.getUint32(4));
  if (extended.join() !== tracks.map((track) => track.id).join()) throw new Error(`trex ${extended}`);
  return tracks;
}

/** Reads one fragment, moof and mdat; sample bytes must lie inside the mdat, side by side. */
export function readFragments(bytes: Uint8Array): { sequence: number; runs: ParsedRun[] }[] {
  const top = boxes(bytes);
  const fragments: { sequence: number; runs: ParsedRun[] }[] = [];
  for (let i = 0; i < top.length; i += 2) {
    const [moof, mdat] = [top[i], top[i + 1]];
    if (moof.type !== 'moof' || mdat?.type !== 'mdat') throw new Error(`${moof.type} and ${mdat?.type}`);
    const inner = bytesOf(moof);
    let next = mdat.start + 8;
    const runs = find(inner, 'traf').map((traf) => {
      const run = readRun(bytesOf(traf));
      if (moof.start + run.offset !== next)
        throw new Error(`data at ${moof.start + run.offset}, not ${next}`);
      const samples = run.samples.map((sample) => {
        const own = bytes.subarray(next, next + sample.size);
        next += sample.size;
        if (own.length !== sample.size || sample.size === 0)
          throw new Error(`a sample has ${sample.size} bytes`);
        return { ...sample, first: own[4], bytes: own };
      });
      return { track: run.track, start: run.start, end: run.end, samples };
    });
    if (next !== mdat.end) throw new Error(`samples end at ${next}, the mdat at ${mdat.end}`);
    fragments.push({ sequence: find(inner, 'mfhd')[0].body.getUint32(4), runs });
  }
  return fragments;
}

function readRun(traf: Uint8Array) {
  const [tfhd] = find(traf, 'tfhd');
  const [tfdt] = find(traf, 'tfdt');
  const [trun] = find(traf, 'trun');
  const flags = trun.body.getUint32(0);
  if (tfhd.body.getUint32(0) !== 0x020020) throw new Error('tfhd has default-base-is-moof and default flags');
  if (tfdt.body.getUint8(0) !== 1 || flags >>> 24 !== 1) throw new Error('tfdt and trun are version 1');
  const start = Number(tfdt.body.getBigUint64(4));
  const count = trun.body.getUint32(4);
  const usual = tfhd.body.getUint32(8);
  let at = 12;
  let end = start;
  const samples: { duration: number; size: number; isSync: boolean; cts: number }[] = [];
  for (let i = 0; i < count; i += 1) {
    const duration = trun.body.getUint32(at);
    const size = trun.body.getUint32(at + 4);
    const isVideo = (flags & 0x400) !== 0;
    const sampleFlags = isVideo ? trun.body.getUint32(at + 8) : usual;
    const cts = isVideo ? trun.body.getInt32(at + 12) : 0;
    if (duration < 1) throw new Error('a sample lasts at least a tick');
    samples.push({ duration, size, isSync: (sampleFlags & 0x10000) === 0, cts });
    end += duration;
    at += isVideo ? 16 : 8;
  }
  if (at !== trun.body.byteLength) throw new Error('trun ends with its samples');
  return { track: tfhd.body.getUint32(4), start, end, offset: trun.body.getInt32(8), samples };
}
