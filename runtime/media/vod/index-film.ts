import type { FilmSegments } from '../../../core/ports/inspector.ts';
import {
  type IndexedInit,
  type IndexedSegment,
  writeSegmentBlock,
  writeSegmentIndex,
} from '../../../core/vod/segment-index.ts';
import { join } from '../mp4/box.ts';
import { writeInit } from '../mp4/init.ts';
import { Refusal } from '../mp4/inspect/boxes.ts';
import type { Film } from '../mp4/inspect/read-film.ts';
import type { AudioEntry, SampleEntry, VideoEntry } from '../mp4/inspect/sample-entry.ts';
import { Cuts, minSegment, type PlacedTrack, placeTrack, Samples, SegmentFeed } from './placed-track.ts';
import { writeSegmentHead } from './segment-head.ts';

/** Bytes stored beside a film to cut it: some 25 h. */
const maxHeadsBytes = 192 * 1_048_576;
/** They are gathered in pieces of this size. */
const pieceBytes = 1_048_576;

/**
 * Cuts a film into HLS segments, with its first video and its first audio track. Nothing of the media is read or written: a
 * segment is a `moof` box and ranges of the film's file. Throws Refusal for what cannot be cut.
 */
export function indexFilm(film: Film): FilmSegments {
  const placed = film.tracks
    .filter(({ track }, index, all) => all.findIndex((one) => one.track.handler === track.handler) === index)
    .flatMap((track) => placeTrack(track, film) ?? []);
  const lead = placed.find(isVideo) ?? placed[0];
  const follower = placed.find((one) => one !== lead);
  if (lead === undefined) throw new Refusal('its edit lists show nothing of it');
  // Decode times must not be negative, and need not be late.
  const shift = -Math.min(...placed.map(({ decodeStart }) => decodeStart));
  const entries = distinctEntries(lead.track.track.entries);
  const cuts = findCuts({ lead, follower, shift, entries });
  const writer = new Writer({ lead, follower });
  const feeds = [lead, ...(follower === undefined ? [] : [follower])].map(
    (one) => new SegmentFeed(one, { shift }),
  );
  const end = Math.max(...placed.map(({ stop }) => stop)) + shift;
  cuts.forEach((cut, number) => {
    const next = cuts[number + 1];
    const tracks = feeds.flatMap((feed, index) => {
      const until = index === 0 ? { number: next?.number } : { time: next?.time };
      return feed.take(until) ?? [];
    });
    const duration = (next?.time ?? end) - cut.time;
    // Two cuts at one time, where times are strange: what lies between them goes along with the next.
    if (tracks.length > 0) writer.add({ tracks, duration: Math.max(duration, 0.001), entry: cut.entry });
  });
  return writer.finish();
}

function isVideo({ track }: PlacedTrack): boolean {
  return track.track.handler === 'vide';
}

function findCuts(options: {
  lead: PlacedTrack;
  follower: PlacedTrack | undefined;
  shift: number;
  entries: readonly number[];
}) {
  const { lead, follower, shift, entries } = options;
  const { timescale, offset, first, end } = lead;
  const begin = Math.min(lead.start, follower?.start ?? lead.start) + shift;
  let cuts: Cuts | undefined;
  let number = -1;
  let entry = 0;
  const samples = new Samples(lead.track);
  for (let cursor = samples.next(); cursor !== undefined; cursor = samples.next()) {
    number += 1;
    if (number < first) continue;
    if (number >= end) break;
    entry = entries[cursor.entry - 1];
    const time = (cursor.dts + cursor.shift + offset) / timescale + shift;
    if (cuts === undefined) {
      cuts = new Cuts({ number, time: begin, entry });
      cuts.fill(time, { number, entry });
    } else cuts.take({ number, time, isSync: cursor.isSync, entry });
  }
  if (cuts === undefined) throw new Error('a placed track has samples');
  cuts.end(lead.stop + shift);
  if (follower !== undefined && follower.stop > lead.stop)
    cuts.fill(follower.stop + shift, { number: end, entry });
  return cuts.all;
}

/** Gathers segments. */
class Writer {
  readonly #lead: PlacedTrack;
  readonly #follower: PlacedTrack | undefined;
  readonly #inits = new Map<number, number>();
  readonly #written: IndexedInit[] = [];
  readonly #segments: IndexedSegment[] = [];
  readonly #heads = new Heads();
  #bits = 0;
  #seconds = 0;
  #peak = 0;

  constructor(tracks: { lead: PlacedTrack; follower: PlacedTrack | undefined }) {
    this.#lead = tracks.lead;
    this.#follower = tracks.follower;
  }

  add(segment: { tracks: Parameters<typeof writeSegmentHead>[0]; duration: number; entry: number }): void {
    const { tracks, duration, entry } = segment;
    const init = this.#init(entry);
    const number = this.#segments.length;
    const { head, ranges, size } = writeSegmentHead(tracks, {
      sequence: number + 1,
      name: `segment ${number}`,
    });
    const { at, size: blockSize } = this.#heads.add(writeSegmentBlock({ head, ranges }));
    const isDiscontinuity = number > 0 && this.#segments[number - 1].init !== init;
    this.#segments.push({ at, size: blockSize, duration, wallStart: Number.NaN, init, isDiscontinuity });
    this.#bits += size * 8;
    this.#seconds += duration;
    // What is shorter says nothing of how fast a player must read.
    if (duration >= minSegment) this.#peak = Math.max(this.#peak, (size * 8) / duration);
  }

  finish(): FilmSegments {
    const average = this.#bits / this.#seconds;
    const bandwidth = { average, peak: Math.max(this.#peak, average) };
    const index = writeSegmentIndex({ inits: this.#written, bandwidth, segments: this.#segments });
    return { index, heads: this.#heads.finish() };
  }

  #init(entry: number): number {
    const known = this.#inits.get(entry);
    if (known !== undefined) return known;
    const { bytes, ...described } = describeInit(this.#lead, { follower: this.#follower, entry });
    this.#written.push({ ...this.#heads.add(bytes), ...described });
    this.#inits.set(entry, this.#written.length - 1);
    return this.#written.length - 1;
  }
}

function describeInit(
  lead: PlacedTrack,
  options: { follower: PlacedTrack | undefined; entry: number },
): Omit<IndexedInit, 'at' | 'size'> & { readonly bytes: Uint8Array } {
  const { follower, entry } = options;
  const chosen = lead.track.track.entries[entry];
  const video = isVideo(lead) ? { ...trackOf(lead, 1), ...pictureOf(lead, chosen) } : undefined;
  const sound = isVideo(lead) ? follower : lead;
  const audio = sound && { ...trackOf(sound, 2), ...soundOf(sound === lead ? chosen : onlyEntry(sound)) };
  const bytes = writeInit({ ...(video && { video }), ...(audio && { audio }) });
  const codecs = [video, audio].flatMap((track) => track?.config.codec ?? []);
  if (video === undefined) return { bytes, codecs };
  const { samples, ticks } = lead.track.measure;
  const frameRate = ticks > 0 ? (samples * lead.timescale) / ticks : 0;
  const { width, height } = video.config;
  return { bytes, codecs, width, height, ...(frameRate > 0 && { frameRate }) };
}

function trackOf({ timescale }: PlacedTrack, id: number) {
  return { id, timescale };
}

function pictureOf({ track }: PlacedTrack, entry: SampleEntry) {
  const { config, record, boxes } = entry as VideoEntry;
  return { config, record, boxes, display: track.track.display };
}

function soundOf(entry: SampleEntry) {
  const { config, record } = entry as AudioEntry;
  return { config, record };
}

/** Sound beside pictures goes along with their segments, so it cannot change in the middle of one. */
function onlyEntry({ track }: PlacedTrack): SampleEntry {
  const { entries, label } = track.track;
  if (distinctEntries(entries).some((entry) => entry !== 0))
    throw new Refusal(`${label} changes its configuration; expected one`);
  return entries[0];
}

/** A blob that is put together in memory, in pieces of about one size, so that it is never there twice. */
class Heads {
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #open: Uint8Array[] = [];
  #openSize = 0;
  #size = 0;

  /** Where the bytes lie in the blob. */
  add(bytes: Uint8Array): { readonly at: number; readonly size: number } {
    const at = this.#size;
    this.#size += bytes.length;
    if (this.#size > maxHeadsBytes)
      throw new Refusal(`what is needed to cut it has more than ${maxHeadsBytes} bytes`);
    this.#open.push(bytes);
    this.#openSize += bytes.length;
    if (this.#openSize >= pieceBytes) this.#close();
    return { at, size: bytes.length };
  }

  finish(): readonly Uint8Array<ArrayBuffer>[] {
    this.#close();
    return this.#pieces;
  }

  #close(): void {
    this.#pieces.push(join(this.#open));
    this.#open = [];
    this.#openSize = 0;
  }
}

/** For each sample entry the first one that says the same: some muxers write one for each chunk. */
function distinctEntries(entries: readonly SampleEntry[]): number[] {
  return entries.map((entry) => entries.findIndex((other) => isSame(entry, other)));
}

function isSame(a: SampleEntry, b: SampleEntry): boolean {
  if (a.kind === 'other' || b.kind === 'other' || a.kind !== b.kind) return a === b;
  if (a.config.entry !== b.config.entry || Buffer.compare(a.record, b.record) !== 0) return false;
  return a.kind !== 'h264' || b.kind !== 'h264' || Buffer.compare(a.boxes, b.boxes) === 0;
}
