import { type Box, boxes, bytesOf } from '../hls/box.ts';
import { find } from '../hls/boxes.ts';

/** One track of a finished film, each sample by itself: written for a reader, against the boxes' definitions. */
export interface FilmTrack {
  readonly type: string;
  readonly timescale: number;
  /** mdhd, ticks of the track. */
  readonly duration: number;
  readonly entries: number;
  readonly edits: readonly { readonly duration: number; readonly from: number }[];
  /** tkhd, ticks of the film. */
  readonly shown: number;
  readonly samples: readonly FilmSample[];
}

export interface FilmSample {
  readonly at: number;
  readonly size: number;
  readonly dts: number;
  readonly cts: number;
  readonly entry: number;
  readonly isSync: boolean;
}

/** Reads the moov at the top of a file, or the head of one. */
export function readFilm(file: Uint8Array): { timescale: number; duration: number; tracks: FilmTrack[] } {
  const [moov] = boxes(file).filter(({ type }) => type === 'moov');
  const [mvhd] = find(bytesOf(moov), 'mvhd');
  const isLong = mvhd.body.getUint8(0) === 1;
  return {
    timescale: mvhd.body.getUint32(isLong ? 20 : 12),
    duration: isLong ? Number(mvhd.body.getBigUint64(24)) : mvhd.body.getUint32(16),
    tracks: find(bytesOf(moov), 'trak').map((trak) => readTrack(bytesOf(trak))),
  };
}

function readTrack(trak: Uint8Array): FilmTrack {
  const one = (path: string): Box => {
    const [found, ...more] = find(trak, path);
    if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} of ${path}`);
    return found;
  };
  const table = (name: string) => find(trak, `mdia/minf/stbl/${name}`)[0]?.body;
  const mdhd = one('mdia/mdhd').body;
  const tkhd = one('tkhd').body;
  const isLong = mdhd.getUint8(0) === 1;
  const stsd = one('mdia/minf/stbl/stsd');
  const stsz = table('stsz');
  const count = stsz.getUint32(8);
  const dts = times(table('stts'), count);
  const cts = offsets(table('ctts'), count);
  const syncs = table('stss');
  const keys =
    syncs && new Set(Array.from({ length: syncs.getUint32(4) }, (_, i) => syncs.getUint32(8 + i * 4)));
  const samples: FilmSample[] = [];
  const co64 = table('co64');
  const stsc = table('stsc');
  const rules = Array.from({ length: stsc.getUint32(4) }, (_, i) => ({
    first: stsc.getUint32(8 + i * 12),
    samples: stsc.getUint32(12 + i * 12),
    entry: stsc.getUint32(16 + i * 12),
  }));
  let rule = -1;
  for (let chunk = 1; chunk <= co64.getUint32(4); chunk += 1) {
    if (rules[rule + 1]?.first === chunk) rule += 1;
    let at = Number(co64.getBigUint64(8 + (chunk - 1) * 8));
    for (let i = 0; i < rules[rule].samples; i += 1) {
      const number = samples.length;
      const size = stsz.getUint32(12 + number * 4);
      const isSync = keys === undefined || keys.has(number + 1);
      samples.push({ at, size, dts: dts[number], cts: cts[number], entry: rules[rule].entry - 1, isSync });
      at += size;
    }
  }
  if (samples.length !== count) throw new Error(`${samples.length} samples in chunks, ${count} sizes`);
  return {
    type: boxes(bytesOf(stsd).subarray(8))[0].type,
    timescale: mdhd.getUint32(isLong ? 20 : 12),
    duration: isLong ? Number(mdhd.getBigUint64(24)) : mdhd.getUint32(16),
    entries: stsd.body.getUint32(4),
    edits: editsOf(one('edts/elst').body),
    shown: tkhd.getUint8(0) === 1 ? Number(tkhd.getBigUint64(28)) : tkhd.getUint32(20),
    samples,
  };
}

function editsOf(elst: DataView): FilmTrack['edits'] {
  const isLong = elst.getUint8(0) === 1;
  return Array.from({ length: elst.getUint32(4) }, (_, i) =>
    isLong
      ? { duration: Number(elst.getBigUint64(8 + i * 20)), from: Number(elst.getBigInt64(16 + i * 20)) }
      : { duration: elst.getUint32(8 + i * 12), from: elst.getInt32(12 + i * 12) },
  );
}

/** Decode times, and behind them when the last one ends. */
function times(stts: DataView, count: number): number[] {
  const all = [0];
  for (let row = 0; row < stts.getUint32(4); row += 1)
    for (let left = stts.getUint32(8 + row * 8); left > 0; left -= 1)
      all.push((all.at(-1) ?? 0) + stts.getUint32(12 + row * 8));
  if (all.length !== count + 1) throw new Error(`${all.length - 1} durations for ${count} samples`);
  return all;
}

function offsets(ctts: DataView | undefined, count: number): number[] {
  if (ctts === undefined) return new Array(count).fill(0);
  const all: number[] = [];
  const isSigned = ctts.getUint8(0) === 1;
  for (let row = 0; row < ctts.getUint32(4); row += 1)
    for (let left = ctts.getUint32(8 + row * 8); left > 0; left -= 1)
      all.push(isSigned ? ctts.getInt32(12 + row * 8) : ctts.getUint32(12 + row * 8));
  if (all.length !== count) throw new Error(`${all.length} offsets for ${count} samples`);
  return all;
}

/** When a sample is shown, seconds of the film: by the edit list, as a player does. */
export function shownAt(track: FilmTrack, sample: FilmSample, timescale: number): number {
  const pause = track.edits.find(({ from }) => from < 0)?.duration ?? 0;
  const from = track.edits.find((edit) => edit.from >= 0)?.from ?? 0;
  return pause / timescale + (sample.dts + sample.cts - from) / track.timescale;
}
