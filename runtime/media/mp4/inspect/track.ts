import { type Box, Children, Fields, readTable } from './boxes.ts';
import { inspectionLimits } from './limits.ts';
import { Refusal } from './refusal.ts';
import { readSampleEntry, type SampleEntry } from './sample-entry.ts';
import { readSampleTables, type SampleTables } from './sample-tables.ts';
import { readTimes } from './times.ts';

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
  /** Ticks, as its header says; undefined: not told. */
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

/** @param options.timescale of the movie */
export function readTrack(trak: Box, options: { readonly timescale: number }): Track {
  const children = new Children(trak);
  const tkhd = new Fields(children.need('tkhd'));
  const isLong = tkhd.full().version === 1;
  tkhd.skip(isLong ? 16 : 8);
  const id = tkhd.u32();
  // Reserved, duration, reserved, layer, group, volume, reserved.
  tkhd.skip(isLong ? 28 : 24);
  const display = tkhd.bytes(44);
  const mdia = new Children(children.need('mdia'));
  const hdlr = new Fields(mdia.need('hdlr'));
  hdlr.skip(8);
  const handler = hdlr.type();
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
  if (boxes.length > inspectionLimits.sampleEntries.value)
    throw new Refusal(
      `${label} has ${boxes.length} sample entries; expected ${inspectionLimits.sampleEntries.value} at most`,
    );
  return boxes.slice(0, count).map((box) => readSampleEntry(box, label));
}

/** Samples must lie in this file (8.7.2): a reference to another one would be followed by whoever plays it. */
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
  while (fields.left >= 4 && ids.length < inspectionLimits.tracks.value) ids.push(fields.u32());
  return ids;
}
