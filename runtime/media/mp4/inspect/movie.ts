import { type Box, Children, Fields } from './boxes.ts';
import { inspectionLimits } from './limits.ts';
import { ForeignRefusal, Refusal } from './refusal.ts';
import { readTimes } from './times.ts';
import { readTrack, type Track } from './track.ts';

/** A `moov` box (ISO/IEC 14496-12 8.2.1): its tracks, and what their samples are where fragments do not say. */
export interface Movie {
  /** Ticks a second, of edit lists. */
  readonly timescale: number;
  /** Seconds, as its header says; undefined: not told. */
  readonly claimed: number | undefined;
  /** Of all tracks. */
  readonly ids: ReadonlySet<number>;
  /** Those that are part of the film. */
  readonly tracks: readonly Track[];
  /** The others, in plain words. */
  readonly passedOver: readonly string[];
  /** Present: fragments may follow. */
  readonly fragmentDefaults: ReadonlyMap<number, FragmentDefaults> | undefined;
}

/** Track extends box, 8.8.3. */
export interface FragmentDefaults {
  readonly duration: number;
  readonly size: number;
  readonly flags: number;
  readonly entry: number;
}

export function readMovie(moov: Box): Movie {
  const children = new Children(moov);
  if (children.find('cmov')) throw new Refusal('its moov box is compressed (cmov); expected a plain one');
  const { timescale, claimed } = readTimes(children.need('mvhd'));
  if (timescale === 0) throw new Refusal('its mvhd box has no timescale');
  const traks = children.all.filter(({ type }) => type === 'trak');
  if (traks.length > inspectionLimits.tracks.value)
    throw new Refusal(`it has ${traks.length} tracks; expected ${inspectionLimits.tracks.value} at most`);
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

function readDefaults(mvex: Box | undefined): Map<number, FragmentDefaults> | undefined {
  if (mvex === undefined) return undefined;
  const defaults = new Map<number, FragmentDefaults>();
  for (const box of new Children(mvex).all) {
    if (box.type !== 'trex') continue;
    const fields = new Fields(box);
    fields.full();
    const [id, entry, duration, size, flags] = [0, 0, 0, 0, 0].map(() => fields.u32());
    defaults.set(id, { entry, duration, size, flags });
  }
  return defaults;
}
