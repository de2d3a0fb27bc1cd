import type { IndexedInit, IndexedSegment } from '../../../../core/segment-index.ts';
import { join } from '../../mp4/box.ts';
import type { FedInit, FedPart } from '../feed.ts';
import type { FinishedFile, TakeFile, TakeIo } from '../take-file.ts';
import { finishTake } from './finish-take.ts';
import { FragmentReader } from './fragment-reader.ts';
import { extentHeader, FILE_TYPE } from './layout.ts';
import { takeFileLimits } from './limits.ts';
import { writeRunMarker, writeSegmentMarker } from './marker.ts';
import { type InitTrack, readInit } from './read-init.ts';
import { durationOf, type Scan, scanTake } from './scan.ts';

/**
 * Begins the file of a take, or goes on with the one that is there: what is torn at its end is cut off, whatever tore it.
 * A file whose moov is whole is finished, and nothing is added to it.
 */
export function openTakeFile(io: TakeIo): TakeFile {
  return new GrowingFile(io);
}

class GrowingFile implements TakeFile {
  readonly cut: TakeFile['cut'];
  readonly #io: TakeIo;
  readonly #scan: Scan;
  readonly #reader = new FragmentReader();
  /** Where the next byte goes: behind it is at most what a failed write left, or the moov. */
  #end: number;
  #sealed = 0;
  /** Where the open extent begins; 0: none is open. */
  #extent = 0;
  /** The last segment is not whole yet. */
  #isOpen = false;
  /** It is two live ones. */
  #hasJoined = false;
  #isFinished: boolean;
  /** A write has failed: bytes behind `#end` are not ours. */
  #isTorn = false;
  /** Taken up, and not yet written: the run begins with its first part. */
  #next: { readonly init: FedInit; readonly tracks: readonly InitTrack[] } | undefined;
  /** Of the run whose parts come; -1: the next part needs a `begin`. */
  #init = -1;

  constructor(io: TakeIo) {
    this.#io = io;
    this.#scan = scanTake(io);
    const { walk } = this.#scan;
    const { end, extent, moov } = walk;
    this.#end = end;
    this.#isFinished = moov !== undefined && end > 0 && moov.at === end && moov.at + moov.size === io.size;
    const kept = this.#isFinished ? io.size : end;
    const reason = this.#scan.reason ?? (moov ? 'half a moov' : 'a note about nothing');
    if (io.size > kept) {
      this.cut = { at: kept, bytes: io.size - kept, reason };
      io.truncate(kept);
    }
    for (const { at, size } of walk.wrong) io.write(at, extentHeader(size));
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

  get sealed(): number {
    return this.#sealed;
  }

  get size(): number {
    return this.#isFinished ? this.#io.size : this.#end;
  }

  get inits(): readonly IndexedInit[] {
    return this.#scan.inits.list;
  }

  get count(): number {
    return this.#scan.segments.count - Number(this.#isOpen);
  }

  segment(number: number): IndexedSegment {
    if (!(number < this.count)) throw new RangeError(`there is no segment ${number}`);
    return this.#scan.segments.get(number);
  }

  begin(init: FedInit): void {
    this.#mustGrow();
    const tracks = readInit(init.bytes);
    if (tracks === undefined)
      throw new RangeError('an init that is begun with is ftyp and moov, as the packager writes it');
    this.pause();
    this.#next = { init: { ...init, bytes: init.bytes.slice() }, tracks };
  }

  part(bytes: Uint8Array, part: FedPart): void {
    this.#mustGrow();
    const { inits, segments } = this.#scan;
    const tracks = this.#next?.tracks ?? inits.tracks[this.#init];
    if (tracks === undefined) throw new RangeError('a part comes behind a `begin`');
    const duration = this.#measure(bytes, tracks);
    if (!Number.isFinite(part.wallStart)) throw new RangeError(`a part begins at no time: ${part.wallStart}`);
    const isFull = this.#isOpen && segments.get(segments.count - 1).size + bytes.length > LARGEST;
    const isJoined = part.startsSegment && this.#joins(part);
    if ((part.startsSegment && !isJoined) || isFull) this.#closeSegment();
    this.#mend();
    if (this.#isOpen) {
      this.#append(bytes);
      this.#hasJoined ||= isJoined;
      segments.extend(bytes.length, duration);
      return;
    }
    this.#openSegment(bytes, { duration, wallStart: part.wallStart });
  }

  pause(): void {
    this.#closeSegment();
    this.#next = undefined;
    this.#init = -1;
  }

  finish(): FinishedFile | undefined {
    this.pause();
    if (this.#end === 0) return undefined;
    if (this.#extent > 0) this.#seal();
    if (!this.#isFinished) this.#mend();
    const { inits, segments } = this.#scan;
    const finished = finishTake(this.#io, { end: this.#end, inits, segments });
    this.#isFinished = finished !== undefined;
    return finished;
  }

  /**
   * Live, the second segment of a publish goes on where the first was cut short, without a key frame. Who seeks into a
   * recording begins with any segment, and browsers show nothing of one without: there the two are one.
   */
  #joins(part: FedPart): boolean {
    if (!this.#isOpen || this.#hasJoined || part.isIndependent) return false;
    const { segments } = this.#scan;
    return segments.count === 1 || segments.get(segments.count - 1).isDiscontinuity;
  }

  /** Writes what stands before a segment, and its first part. */
  #openSegment(bytes: Uint8Array, options: { duration: number; wallStart: number }): void {
    const { inits, segments } = this.#scan;
    const next = this.#next;
    const described = next && describe(next.init);
    const known = next && described && inits.numberOf({ bytes: next.init.bytes, described });
    const init = next === undefined ? this.#init : (known ?? inits.list.length);
    const isDiscontinuity = next !== undefined && segments.count > 0;
    const parts: Uint8Array[] = [];
    if (this.#end === 0) parts.push(FILE_TYPE);
    const extent = this.#extent > 0 ? this.#extent : this.#end + sizeOf(parts);
    if (this.#extent === 0) parts.push(extentHeader(0));
    if (described !== undefined) parts.push(writeRunMarker({ init, described }));
    const initAt = this.#end + sizeOf(parts);
    if (next !== undefined && known === undefined) parts.push(next.init.bytes);
    const { duration, wallStart } = options;
    parts.push(writeSegmentMarker({ number: segments.count, isDiscontinuity, wallStart }));
    const at = this.#end + sizeOf(parts);
    this.#append(join(parts), bytes);
    if (next !== undefined && described !== undefined && known === undefined)
      inits.add({ at: initAt, bytes: next.init.bytes, tracks: next.tracks, described });
    segments.push({ at, size: bytes.length, duration, wallStart, init, isDiscontinuity });
    this.#extent = extent;
    this.#init = init;
    this.#next = undefined;
    this.#isOpen = true;
    this.#hasJoined = false;
  }

  /** Seconds that the fragments of a part last. RangeError: it would not be read again as what it is. */
  #measure(bytes: Uint8Array, tracks: readonly InitTrack[]): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = bytes.length >= 8 ? view.getUint32(0) : 0;
    const isMoof = size >= 8 && size <= takeFileLimits.takeFragmentIndex.value && size + 8 <= bytes.length;
    const reader = this.#reader;
    if (!isMoof || !reader.read(view, 0, size) || size + reader.dataSize !== bytes.length)
      throw new RangeError('a part is one moof and its mdat, as the packager writes them');
    return durationOf(reader, tracks);
  }

  #closeSegment(): void {
    this.#isOpen = false;
    this.#sealIfLarge();
  }

  #sealIfLarge(): void {
    if (this.#extent > 0 && this.#end - this.#extent >= takeFileLimits.takeExtent.value) this.#seal();
  }

  /** The open extent is never changed again. */
  #seal(): void {
    this.#io.write(this.#extent, extentHeader(this.#end - this.#extent));
    this.#sealed = this.#end;
    this.#extent = 0;
  }

  /** All of it, or nothing: what a failed write has left is cut off before the next. */
  #append(...pieces: Uint8Array[]): void {
    let at = this.#end;
    this.#isTorn = true;
    for (const piece of pieces) {
      this.#io.write(at, piece);
      at += piece.length;
    }
    this.#isTorn = false;
    this.#end = at;
  }

  #mend(): void {
    if (!this.#isTorn) return;
    this.#io.truncate(this.#end);
    this.#isTorn = false;
  }

  #mustGrow(): void {
    if (this.#isFinished) throw new RangeError('nothing is added to a take that is finished');
  }
}

const LARGEST = takeFileLimits.takeSegment.value;

function describe({ codecs, width, height, frameRate }: FedInit) {
  return { codecs, width, height, frameRate };
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((size, part) => size + part.length, 0);
}
