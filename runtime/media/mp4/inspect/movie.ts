import type { SampleDefaults } from '../fragment-reader.ts';
import { type Box, Children, Fields, ForeignRefusal, Refusal, readTable } from './boxes.ts';
import { readSampleEntry, type SampleEntry } from './sample-entry.ts';
import { readSampleTables, type SampleTables } from './sample-tables.ts';

/** Most tracks of a file, whatever they hold. */
const maxTracks = 100;
/** Most codec configurations of one track. */
const maxSampleEntries = 100;

/** A `moov` box (ISO/IEC 14496-12 8.2.1): its tracks, and what their samples are where fragments do not say. */
export interface Movie {
  /** Ticks a second, of edit lists. */
  readonly timescale: number;
  /** Seconds, as its header says; undefined: unknown. */
  readonly claimed: number | undefined;
  /** Of all tracks. */
  readonly ids: ReadonlySet<number>;
  /** Those that are part of the film. */
  readonly tracks: readonly Track[];
  /** The others, in plain words. */
  readonly passedOver: readonly string[];
  /** Present: fragments may follow. */
  readonly fragmentDefaults: ReadonlyMap<number, SampleDefaults> | undefined;
}

export function readMovie(moov: Box): Movie {
  const children = new Children(moov);
  if (children.find('cmov')) throw new Refusal('its moov box is compressed (cmov); expected a plain one');
  const { timescale, claimed } = readTimes(children.need('mvhd'));
  if (timescale === 0) throw new Refusal('its mvhd box has no timescale');
  const traks = children.all.filter(({ type }) => type === 'trak');
  if (traks.length > maxTracks)
    throw new Refusal(`it has ${traks.length} tracks; expected ${maxTracks} at most`);
  const fragmentDefaults = readDefaults(children.find('mvex'));
  const read = traks.map((trak) => readTrack(trak, { timescale }));
  const ids = read.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) < index);
  if (twice !== undefined) throw new Refusal(`it has several tracks with the number ${twice}`);
  const chapters = new Set(read.flatMap((track) => track.chapters));
  return {
    timescale,
    claimed: claimed === undefined ? undefined : claimed / timescale,
    ids: new Set(ids),
    fragmentDefaults,
    ...choose(read, chapters),
  };
}

/** Seconds that a moov box says; undefined: it tells none, as in films of fragments. Throws Refusal. */
export function claimedOf(moov: Box): number | undefined {
  const { timescale, claimed = 0 } = readTimes(new Children(moov).need('mvhd'));
  return timescale > 0 && claimed > 0 ? claimed / timescale : undefined;
}

/**
 * The film is the H.264 and the AAC tracks. Passed over are what is neither picture nor sound (text, timecode, hints), the
 * pictures of chapters, stills beside a film, and sound in another codec beside AAC. Moving pictures in another codec are
 * refused: the film would be another one without them.
 */
function choose(read: readonly Track[], chapters: ReadonlySet<number>): Pick<Movie, 'tracks' | 'passedOver'> {
  const isMedia = ({ id, handler }: Track) => !chapters.has(id) && (handler === 'vide' || handler === 'soun');
  const media = read.filter(isMedia);
  const tracks = media.filter(({ entries }) => entries.every(({ kind }) => kind !== 'other'));
  const others = media.filter((track) => !tracks.includes(track));
  const hasAac = tracks.some(({ handler }) => handler === 'soun');
  const wrong = others.find(({ handler, isStill }) =>
    handler === 'soun' ? !hasAac : !isStill || tracks.length === 0,
  );
  if (wrong !== undefined)
    throw new ForeignRefusal(`${wrong.label} is ${wrong.codecName}; expected ${wanted(wrong)}`, {
      container: 'mp4',
    });
  if (tracks.length === 0) throw new Refusal('it has no video and no audio; expected H.264 or AAC');
  const rest = read.filter((track) => !isMedia(track));
  return {
    tracks,
    passedOver: [
      ...others.map(({ label, codecName }) => `${label} is ${codecName}`),
      ...rest.map(({ id, handler }) => `track ${id} is ${chapters.has(id) ? 'of chapters' : `'${handler}'`}`),
    ],
  };
}

function wanted({ handler }: Track): string {
  return handler === 'vide' ? 'H.264' : 'AAC';
}

function readDefaults(mvex: Box | undefined): Map<number, SampleDefaults> | undefined {
  if (mvex === undefined) return undefined;
  const defaults = new Map<number, SampleDefaults>();
  for (const box of new Children(mvex).all) {
    if (box.type !== 'trex') continue;
    const fields = new Fields(box);
    fields.full();
    const [id, entry, duration, size, flags] = [0, 0, 0, 0, 0].map(() => fields.u32());
    defaults.set(id, { entry, duration, size, flags });
  }
  return defaults;
}

/** A `trak` box (ISO/IEC 14496-12 8.3.1). */
export interface Track {
  readonly id: number;
  /** `vide`, `soun`, or what is no part of a film. */
  readonly handler: string;
  /** How messages name it. */
  readonly label: string;
  /** Matrix, width and height of its header (8.3.2), 44 bytes: how its pictures are turned and stretched. */
  readonly display: Uint8Array;
  /** Ticks a second of its samples; at least 1 when it is picture or sound. */
  readonly timescale: number;
  /** Ticks, as its header says; undefined: unknown. */
  readonly claimed: number | undefined;
  readonly edits: Edits | undefined;
  /** Of picture and sound; empty otherwise. */
  readonly entries: readonly SampleEntry[];
  /** Of the first entry that is neither H.264 nor AAC. */
  readonly codecName: string;
  readonly isStill: boolean;
  /** Tracks that are its chapters. */
  readonly chapters: readonly number[];
  /** Of picture and sound. */
  readonly tables: SampleTables | undefined;
}

/** What an edit list (8.6.6) comes to. */
export interface Edits {
  /** Seconds of nothing in front. */
  readonly empty: number;
  /** Seconds of all edits, with those of nothing. */
  readonly duration: number;
  /** Ticks of the track where the first edit begins. */
  readonly start: number;
}

/** What is read of any track: its header (8.3.2), and what it holds (8.4.3). */
export function readTrackHead(trak: Children) {
  const tkhd = new Fields(trak.need('tkhd'));
  const isLong = tkhd.full().version === 1;
  tkhd.skip(isLong ? 16 : 8);
  const id = tkhd.u32();
  // Reserved, duration, reserved, layer, group, volume, reserved.
  tkhd.skip(isLong ? 28 : 24);
  const display = tkhd.bytes(44);
  const mdia = new Children(trak.need('mdia'));
  const hdlr = new Fields(mdia.need('hdlr'));
  hdlr.skip(8);
  return { id, display, handler: hdlr.type(), mdia };
}

/** @param options.timescale of the movie */
function readTrack(trak: Box, options: { readonly timescale: number }): Track {
  const children = new Children(trak);
  const { id, display, handler, mdia } = readTrackHead(children);
  const chapters = readChapters(children.find('tref'));
  const kind = handler === 'vide' ? 'video' : handler === 'soun' ? 'audio' : undefined;
  const label = kind === undefined ? `track ${id}` : `the ${kind} track (track ${id})`;
  const plain = { id, handler, label, display, chapters, codecName: '', isStill: false };
  if (kind === undefined)
    return { ...plain, timescale: 0, claimed: undefined, edits: undefined, entries: [], tables: undefined };
  const { timescale, claimed } = readTimes(mdia.need('mdhd'));
  if (timescale === 0) throw new Refusal(`${label} has no timescale`);
  const minf = new Children(mdia.need('minf'));
  const stbl = new Children(minf.need('stbl'));
  const entries = readEntries(stbl.need('stsd'), label);
  const other = handler === 'vide' ? 'aac' : 'h264';
  if (entries.some((entry) => entry.kind === other))
    throw new Refusal(`${label} has ${other === 'aac' ? 'sound' : 'pictures'} in it by its sample entry`);
  const foreign = entries.find((entry) => entry.kind === 'other');
  if (foreign === undefined) checkReferences(minf.find('dinf'), { entries, label });
  return {
    ...plain,
    codecName: foreign?.name ?? '',
    isStill: foreign?.isStill ?? false,
    timescale,
    claimed,
    edits: readEdits(children.find('edts'), options),
    entries,
    tables: foreign === undefined ? readSampleTables(stbl, { label, entries: entries.length }) : undefined,
  };
}

function readEntries(stsd: Box, label: string): SampleEntry[] {
  const fields = new Fields(stsd);
  fields.full();
  const { count } = readTable(fields, { box: stsd, row: 8 });
  const boxes = new Children(stsd, fields.at - stsd.from).all;
  if (count === 0 || boxes.length === 0) throw new Refusal(`${label} does not say which codec it has`);
  if (boxes.length > maxSampleEntries)
    throw new Refusal(`${label} has ${boxes.length} sample entries; expected ${maxSampleEntries} at most`);
  return boxes.slice(0, count).map((box) => readSampleEntry(box, label));
}

/** Samples must lie in this file (8.7.2): a player would follow a reference to another one. */
function checkReferences(
  dinf: Box | undefined,
  options: { entries: readonly SampleEntry[]; label: string },
): void {
  const dref = dinf === undefined ? undefined : new Children(dinf).find('dref');
  if (dref === undefined) return;
  const fields = new Fields(dref);
  fields.full();
  fields.u32();
  const references = new Children(dref, fields.at - dref.from).all;
  for (const entry of options.entries) {
    const reference = entry.kind === 'other' ? undefined : references[entry.dataReference - 1];
    if (reference !== undefined && (new Fields(reference).full().flags & 1) === 0)
      throw new Refusal(
        `the samples of ${options.label} are said to lie in another file (dref ${reference.type}); expected them in this one`,
      );
  }
}

function readEdits(edts: Box | undefined, { timescale }: { timescale: number }): Edits | undefined {
  const elst = edts === undefined ? undefined : new Children(edts).find('elst');
  if (elst === undefined) return undefined;
  const fields = new Fields(elst);
  const isLong = fields.full().version === 1;
  const { count } = readTable(fields, { box: elst, row: isLong ? 20 : 12 });
  if (count === 0) return undefined;
  let empty = 0;
  let duration = 0;
  let start: number | undefined;
  for (let i = 0; i < count; i += 1) {
    const lasts = (isLong ? fields.u64() : fields.u32()) / timescale;
    const from = isLong ? fields.i64() : fields.i32();
    fields.skip(4);
    duration += lasts;
    if (from >= 0) start ??= from;
    else if (start === undefined) empty += lasts;
  }
  return { empty, duration, start: start ?? 0 };
}

function readChapters(tref: Box | undefined): number[] {
  const chap = tref === undefined ? undefined : new Children(tref).find('chap');
  if (chap === undefined) return [];
  const fields = new Fields(chap);
  const ids: number[] = [];
  while (fields.left >= 4 && ids.length < maxTracks) ids.push(fields.u32());
  return ids;
}

/** What `mvhd` and `mdhd` (ISO/IEC 14496-12 8.2.2, 8.4.2) begin with. */
export function readTimes(box: Box): {
  /** Ticks a second; may be 0. */
  readonly timescale: number;
  /** Ticks; undefined: unknown. */
  readonly claimed: number | undefined;
} {
  const fields = new Fields(box);
  const isLong = fields.full().version === 1;
  fields.skip(isLong ? 16 : 8);
  const timescale = fields.u32();
  const duration = isLong ? fields.u64() : fields.u32();
  // All ones says that it is not known; 0 is what live muxers leave there.
  const isUnknown = duration === 0 || duration >= (isLong ? 2 ** 64 - 2 ** 32 : 0xffffffff);
  return { timescale, claimed: isUnknown ? undefined : duration };
}
