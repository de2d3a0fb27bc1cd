import type { IndexedInit, IndexedSegment } from '../../../../core/vod/segment-index.ts';
import { join } from '../../mp4/box.ts';
import { readOwnFragment } from '../../mp4/fragment-reader.ts';
import { type InitTrack, readInit } from '../../mp4/read-init.ts';
import type { PublishedInit, PublishedPart } from '../../publish/subscriber.ts';
import type { FileIo } from '../thread/file-io.ts';
import { type FinishedFile, finishFile } from './finish-file.ts';
import { type ParameterSets, parameterSets, withParameterSets } from './in-band.ts';
import { descriptionOf, extentHeader, FILE_TYPE, writeRunMarker, writeSegmentMarker } from './layout.ts';
import { beginsWithKey, durationOf, type Scan, scanFile } from './scan.ts';
import type { Steps } from './steps.ts';
import { indexBytes } from './walk.ts';

/**
 * Begins a recording file, or continues the one that is there: a torn end is cut off. A file whose moov is whole is finished,
 * and nothing is added to it.
 */
export function* openGrowingFile(io: FileIo): Steps<GrowingFile> {
  return new GrowingFile(io, yield* scanFile(io));
}

/**
 * A recording file that grows. A write that throws leaves it as it was before the call, or so that the next call repairs it.
 *
 * The file is a row of extents (`mdat` boxes). The last one is open: its header says "to the end of the file" until it is
 * closed, and then it never changes again.
 */
export class GrowingFile {
  /** What was cut off when it was opened; undefined: nothing. */
  readonly cut: { readonly at: number; readonly bytes: number; readonly reason: string } | undefined;
  readonly #io: FileIo;
  readonly #scan: Scan;
  /** Where the next byte goes: behind it is at most what a failed write left, or the moov. */
  #end: number;
  #sealed = 0;
  /** Where the open extent begins; 0: none is open. */
  #extent = 0;
  /** The last segment is not whole yet. */
  #isOpen = false;
  #isFinished: boolean;
  /** A write has failed: bytes behind `#end` are not ours. */
  #isTorn = false;
  /** What the next parts belong to; undefined: the next part needs a `begin`. */
  #run: Run | undefined;

  constructor(io: FileIo, scan: Scan) {
    this.#io = io;
    this.#scan = scan;
    const { end, extent, moov, wrong } = scan.walk;
    this.#end = end;
    const moovEnd = moov && end > 0 && moov.at === end ? moov.at + moov.size : 0;
    this.#isFinished = moovEnd > 0 && endsAt(io, moovEnd);
    const kept = this.#isFinished ? moovEnd : end;
    const reason = scan.reason ?? (moov ? 'half a moov' : 'a marker about nothing');
    if (io.size > kept) {
      if (kept === 0 || !endsAt(io, kept)) this.cut = { at: kept, bytes: io.size - kept, reason };
      io.truncate(kept);
    }
    for (const { at, size } of wrong) io.write(at, extentHeader(size));
    if (end === 0) return;
    if (extent.declared === end - extent.at) {
      this.#sealed = end;
      return;
    }
    this.#sealed = extent.at > FILE_TYPE.length ? extent.at : 0;
    this.#extent = extent.at;
    if (this.#isFinished) this.#seal();
    else {
      if (extent.declared !== 0) io.write(extent.at, extentHeader(0));
      this.#sealIfLarge();
    }
  }

  /** Bytes that never change again: closed extents. */
  get sealed(): number {
    return this.#sealed;
  }

  get size(): number {
    return this.#isFinished ? this.#io.size : this.#end;
  }

  get inits(): readonly IndexedInit[] {
    return this.#scan.inits.list;
  }

  /** Number of whole segments. */
  get count(): number {
    return this.#scan.segments.count - Number(this.#isOpen);
  }

  segment(number: number): IndexedSegment {
    if (!(number < this.count)) throw new RangeError(`there is no segment ${number}`);
    return this.#scan.segments.get(number);
  }

  /** Rows of the whole segments from `first` on (`SegmentRows`). */
  rowsSince(first: number): Float64Array<ArrayBuffer> {
    return this.#scan.segments.since(first, this.count);
  }

  /** Whether it has this init, so that `begin` adds none. */
  has({ bytes, ...described }: PublishedInit): boolean {
    return this.#scan.inits.numberOf({ bytes, described }) !== undefined;
  }

  begin(init: PublishedInit): void {
    this.#mustGrow();
    const tracks = readInit(init.bytes);
    if (tracks === undefined)
      throw new RangeError('an init must be ftyp and moov, as the packager writes it');
    this.pause();
    const sets = new Map(
      tracks.map(({ id, entry, isVideo }) => [id, isVideo ? parameterSets(entry) : undefined]),
    );
    // Written with its first part: a run without parts leaves nothing.
    this.#run = { fed: { ...init, bytes: init.bytes.slice() }, tracks, sets, number: -1 };
  }

  part(bytes: Uint8Array, part: PublishedPart): void {
    this.#mustGrow();
    const run = this.#run;
    if (run === undefined) throw new RangeError('a part needs a `begin` before it');
    if (!Number.isFinite(part.wallStart)) throw new RangeError(`wallStart of a part is ${part.wallStart}`);
    const { whole, duration, isKey } = this.#read(bytes, run);
    const { segments } = this.#scan;
    if (this.#isOpen) {
      const open = segments.get(segments.count - 1);
      const isFull = open.size + whole.length > mostSegmentBytes;
      // Live, the second segment of a publish continues where the first was cut short, without a key frame. A viewer may
      // seek to any segment of a recording, and browsers show nothing without a key frame: so the two become one.
      const isOne = !isKey && open.duration < mostKeyless;
      if (isFull || (part.startsSegment && !isOne)) this.#closeSegment();
    }
    this.#mend();
    if (this.#isOpen) {
      this.#append(whole);
      segments.extend(whole.length, duration);
    } else this.#openSegment(whole, { run, duration, wallStart: part.wallStart });
  }

  /** The open segment is whole: the publish ended, or a gap follows. The next part needs a `begin`. */
  pause(): void {
    this.#closeSegment();
    this.#run = undefined;
  }

  /** Writes the `moov` and closes the file. Undefined: there are no samples. May be repeated. */
  *finish(): Steps<FinishedFile | undefined> {
    this.pause();
    if (this.#end === 0) return undefined;
    if (this.#extent > 0) this.#seal();
    if (!this.#isFinished) this.#mend();
    const { inits, segments } = this.#scan;
    const finished = yield* finishFile(this.#io, { end: this.#end, inits, segments: segments.all() });
    this.#isFinished = finished !== undefined;
    return finished;
  }

  /** Closes the file without a `moov`: a rendition, of which only segments are played. May be repeated. */
  close(): { size: number; inits: readonly IndexedInit[]; segments: readonly IndexedSegment[] } {
    this.pause();
    if (this.#extent > 0) this.#seal();
    this.#mend();
    if (this.#io.size > this.#end) this.#io.truncate(this.#end);
    const { inits, segments } = this.#scan;
    return { size: this.#end, inits: inits.list, segments: segments.all() };
  }

  /** Writes what stands before a segment, and its first part. */
  #openSegment(bytes: Uint8Array, options: { run: Run; duration: number; wallStart: number }): void {
    const { inits, segments } = this.#scan;
    const { run, duration, wallStart } = options;
    const { fed, tracks } = run;
    const described = descriptionOf(fed);
    const isFirst = run.number < 0;
    const known = isFirst ? inits.numberOf({ bytes: fed.bytes, described }) : run.number;
    const init = known ?? inits.list.length;
    const isDiscontinuity = isFirst && segments.count > 0;
    const pieces: Uint8Array[] = [];
    const reached = () => pieces.reduce((at, piece) => at + piece.length, this.#end);
    if (this.#end === 0) pieces.push(FILE_TYPE);
    const extent = this.#extent > 0 ? this.#extent : reached();
    if (this.#extent === 0) pieces.push(extentHeader(0));
    if (isFirst) pieces.push(writeRunMarker({ init, described }));
    const initAt = reached();
    if (known === undefined) pieces.push(fed.bytes);
    pieces.push(writeSegmentMarker({ number: segments.count, isDiscontinuity, wallStart }));
    const at = reached();
    this.#append(join([...pieces, bytes]));
    if (known === undefined) inits.add({ at: initAt, bytes: fed.bytes, tracks, described });
    segments.push({ at, size: bytes.length, duration, wallStart, init, isDiscontinuity });
    this.#extent = extent;
    run.number = init;
    this.#isOpen = true;
  }

  /** A part as it is written, its seconds, and whether a decoder can begin with it. RangeError: it could not be read again. */
  #read(bytes: Uint8Array, { tracks, sets }: Run): { whole: Uint8Array; duration: number; isKey: boolean } {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = bytes.length >= 8 ? view.getUint32(0) : 0;
    const isMoof = size >= 8 && size <= indexBytes && size + 8 <= bytes.length;
    const fragment = isMoof ? readOwnFragment(view, 0, size) : undefined;
    if (fragment === undefined || size + fragment.dataSize !== bytes.length)
      throw new RangeError('a part must be one moof and its mdat, as the packager writes them');
    const whole = withParameterSets(bytes, { fragment, setsOf: (track) => sets.get(track) });
    const { runs } = fragment;
    return { whole, duration: durationOf(runs, tracks), isKey: beginsWithKey(runs, tracks) };
  }

  #closeSegment(): void {
    this.#isOpen = false;
    this.#sealIfLarge();
  }

  #sealIfLarge(): void {
    if (this.#extent > 0 && this.#end - this.#extent >= extentBytes) this.#seal();
  }

  #seal(): void {
    this.#io.write(this.#extent, extentHeader(this.#end - this.#extent));
    this.#sealed = this.#end;
    this.#extent = 0;
  }

  /** Writes all of it or nothing: what a failed write leaves is cut off before the next. */
  #append(bytes: Uint8Array): void {
    this.#isTorn = true;
    this.#io.write(this.#end, bytes);
    this.#isTorn = false;
    this.#end += bytes.length;
  }

  #mend(): void {
    if (!this.#isTorn) return;
    this.#io.truncate(this.#end);
    this.#isTorn = false;
  }

  #mustGrow(): void {
    if (this.#isFinished) throw new RangeError('a finished recording file cannot grow');
  }
}

/** Version 0.1.0 wrote whole blocks, so zeros may follow up to the end of a block. */
function endsAt(io: FileIo, end: number): boolean {
  const size = io.size - end;
  if (size <= 0 || size >= diskBlock || io.size % diskBlock !== 0) return size === 0;
  const rest = new Uint8Array(size);
  return io.read(end, rest) === size && rest.every((byte) => byte === 0);
}

const diskBlock = 0x1000;
/** An extent is closed with the segment that reaches this size: less of the file is still open, neither hashed nor uploaded. */
const extentBytes = 8 * 1_048_576;
/** The packager cuts long before; `mdat` has 32 bits for its size. */
const mostSegmentBytes = 1_073_741_824;
/** Seconds of a segment that is joined with the next one because that begins without a key frame. */
const mostKeyless = 10;

interface Run {
  readonly fed: PublishedInit;
  readonly tracks: readonly InitTrack[];
  readonly sets: ReadonlyMap<number, ParameterSets | undefined>;
  /** Number of its init in the file; -1 before it is written. */
  number: number;
}
