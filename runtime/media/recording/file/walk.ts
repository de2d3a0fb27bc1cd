import { MDAT, MOOF, MOOV } from '../../mp4/fragment.ts';
import { type FragmentRun, readOwnFragment } from '../../mp4/fragment-reader.ts';
import { type InitTrack, initBytes, readInit } from '../../mp4/read-init.ts';
import type { FileIo } from '../thread/file-io.ts';
import {
  FILE_TYPE,
  markerBytes,
  RUN,
  type RunMarker,
  readRunMarker,
  readSegmentMarker,
  SEGMENT,
  type SegmentMarker,
} from './layout.ts';
import type { Steps } from './steps.ts';

/** Bytes of the `moof` of one part: room for some 60,000 samples. */
export const indexBytes = 1_048_576;

/** An init segment as it lies in a file. */
export interface FileInit {
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly tracks: readonly InitTrack[];
  readonly described: RunMarker['described'];
}

export interface Visitor {
  /** Segments of the init of this number follow. `init` when it is there for the first time. */
  run(number: number, init: FileInit | undefined): void;
  /** A whole fragment; its runs are good during the call. `segment`: this fragment begins it. */
  fragment(
    runs: readonly FragmentRun[],
    place: { at: number; size: number; segment: SegmentMarker | undefined },
  ): void;
}

export interface Walk {
  /** Where the last whole fragment ends; 0: there is none. */
  readonly end: number;
  /** Where that fragment begins. */
  readonly last: number;
  /** The extent it lies in, and what its header says. */
  readonly extent: { readonly at: number; readonly declared: number };
  /** Extents before it whose headers say something else than their size. */
  readonly wrong: readonly { readonly at: number; readonly size: number }[];
  /** The moov behind the extents, if its header is there. */
  readonly moov: { readonly at: number; readonly size: number } | undefined;
  /** Why it stopped at `at`; undefined: the file ends there. */
  readonly broken: { readonly at: number; readonly reason: string } | undefined;
}

/**
 * Reads a recording file from the front, up to the first damage and before `until`. It does not need the sizes of extents: an
 * `mdat` that follows no `moof` is the next extent. Throws only what the disk says.
 */
export function walkFile(io: FileIo, options: { visitor: Visitor; until?: number }): Steps<Walk> {
  return new FileWalk(io, options).steps();
}

class FileWalk {
  readonly #visitor: Visitor;
  readonly #until: number;
  readonly #window: FileWindow;
  readonly #wrong: { at: number; size: number }[] = [];
  #extent = { at: 0, declared: 0 };
  #whole = { end: 0, last: 0, extent: this.#extent };
  #moov: Walk['moov'];
  #inits = 0;
  #segments = 0;
  #isBegun = false;
  #next: { number: number; init: FileInit | undefined } | undefined;
  #marker: SegmentMarker | undefined;
  #isOpen = false;
  #at = 0;
  /** Bytes read in this step. */
  #looked = 0;

  constructor(io: FileIo, { visitor, until = io.size }: { visitor: Visitor; until?: number }) {
    this.#visitor = visitor;
    this.#until = until;
    this.#window = new FileWindow(io);
  }

  *steps(): Steps<Walk> {
    let reason = this.#isRecording() ? undefined : 'no ftyp of a recording';
    if (reason === undefined) {
      this.#at = FILE_TYPE.length;
      while (this.#at < this.#until && this.#moov === undefined && reason === undefined) {
        reason = this.#step();
        if (this.#looked < TURN) continue;
        this.#looked = 0;
        yield;
      }
    }
    const whole = this.#whole;
    return {
      ...whole,
      wrong: this.#wrong.filter((header) => header.at < whole.extent.at),
      moov: this.#moov,
      broken: reason === undefined ? undefined : { at: this.#at, reason },
    };
  }

  #isRecording(): boolean {
    const here = this.#load(0, FILE_TYPE.length);
    return here >= 0 && FILE_TYPE.every((byte, index) => this.#window.bytes[here + index] === byte);
  }

  #load(from: number, size: number): number {
    this.#looked += size;
    return from + size <= this.#until ? this.#window.load(from, size) : -1;
  }

  #sizeAt(here: number): number {
    return this.#window.view.getUint32(here);
  }

  #typeAt(here: number): number {
    return this.#window.view.getUint32(here + 4);
  }

  /** Reads the box at `at`. Returns why it cannot. */
  #step(): string | undefined {
    const here = this.#load(this.#at, 8);
    if (here < 0) return 'half a box';
    const size = this.#sizeAt(here);
    const type = this.#typeAt(here);
    if (type === MDAT) return this.#enterExtent(size);
    if (this.#extent.at === 0) return 'no extent';
    if (type === MOOF) return this.#readFragment(size);
    if (type === RUN) return this.#readRun(size);
    if (type === SEGMENT) return this.#readSegment(size);
    if (type === MOOV) {
      this.#moov = { at: this.#at, size };
      return undefined;
    }
    return 'an unknown box';
  }

  #enterExtent(declared: number): string | undefined {
    if (this.#extent.at > 0 && this.#extent.declared !== this.#at - this.#extent.at)
      this.#wrong.push({ at: this.#extent.at, size: this.#at - this.#extent.at });
    if (this.#next !== undefined || this.#marker !== undefined) return 'a marker about nothing';
    this.#extent = { at: this.#at, declared };
    this.#isOpen = false;
    this.#at += 8;
    return undefined;
  }

  /** The bytes of the marker at `at`, or why they cannot be read. */
  #readMarker(size: number): Uint8Array | string {
    if (size > markerBytes) return 'a marker that is too long';
    const here = this.#load(this.#at, size);
    return here < 0 ? 'half a marker' : this.#window.bytes.subarray(here, here + size);
  }

  #readRun(size: number): string | undefined {
    const bytes = this.#readMarker(size);
    if (typeof bytes === 'string') return bytes;
    const run = readRunMarker(bytes);
    if (run === undefined || run.init > this.#inits || this.#next !== undefined) return 'a damaged marker';
    const init = run.init === this.#inits ? this.#loadInit(this.#at + size, run) : undefined;
    if (typeof init === 'string') return init;
    this.#at += size + (init?.bytes.length ?? 0);
    this.#next = { number: run.init, init };
    this.#isOpen = false;
    return undefined;
  }

  #loadInit(from: number, { described }: RunMarker): FileInit | string {
    let size = 0;
    for (let boxes = 0; boxes < 2; boxes += 1) {
      const here = this.#load(from + size, 8);
      if (here < 0) return 'half an init';
      size += this.#sizeAt(here);
      if (size > initBytes) return 'an init that is too long';
    }
    const here = this.#load(from, size);
    if (here < 0) return 'half an init';
    const bytes = this.#window.bytes.slice(here, here + size);
    const tracks = readInit(bytes);
    return tracks === undefined ? 'a damaged init' : { at: from, bytes, tracks, described };
  }

  #readSegment(size: number): string | undefined {
    const bytes = this.#readMarker(size);
    if (typeof bytes === 'string') return bytes;
    if (this.#marker !== undefined || (this.#next === undefined && !this.#isBegun))
      return 'a marker about nothing';
    this.#marker = readSegmentMarker(bytes);
    if (this.#marker?.number !== this.#segments) return 'a damaged marker';
    this.#at += size;
    return undefined;
  }

  #readFragment(size: number): string | undefined {
    if (size > indexBytes) return 'an index that is too long';
    if (this.#marker === undefined && !this.#isOpen) return 'a part of no segment';
    const here = this.#load(this.#at, size + 8);
    if (here < 0) return 'half a part';
    const fragment = readOwnFragment(this.#window.view, here, size);
    const data = here + size;
    if (fragment === undefined || this.#typeAt(data) !== MDAT || this.#sizeAt(data) !== fragment.dataSize)
      return 'a damaged part';
    const length = size + fragment.dataSize;
    if (this.#at + length > this.#until) return 'half a part';
    if (this.#next !== undefined) {
      this.#visitor.run(this.#next.number, this.#next.init);
      if (this.#next.init !== undefined) this.#inits += 1;
      this.#next = undefined;
      this.#isBegun = true;
    }
    this.#visitor.fragment(fragment.runs, { at: this.#at, size: length, segment: this.#marker });
    if (this.#marker !== undefined) this.#segments += 1;
    this.#marker = undefined;
    this.#isOpen = true;
    this.#whole = { end: this.#at + length, last: this.#at, extent: this.#extent };
    this.#at += length;
    return undefined;
  }
}

/** Bytes of indexes that one step looks at, some 2 ms of work. */
const TURN = 65_536;

/** Reads a file through a buffer that is reused: a small read brings what lies near with it. */
class FileWindow {
  bytes = new Uint8Array(LARGE);
  view = new DataView(this.bytes.buffer);
  readonly #io: FileIo;
  #from = 0;
  #length = 0;

  constructor(io: FileIo) {
    this.#io = io;
  }

  /** Where in `bytes` the `size` bytes of the file from `at` on lie, until the next call; -1: the file is shorter. */
  load(at: number, size: number): number {
    if (at >= this.#from && at + size <= this.#from + this.#length) return at - this.#from;
    if (size > this.bytes.length) {
      this.bytes = new Uint8Array(size);
      this.view = new DataView(this.bytes.buffer);
    }
    // After a large part only the next few boxes are read.
    const isNear = at >= this.#from && at - this.#from <= LARGE;
    const wanted = Math.max(size, isNear ? LARGE : SMALL);
    this.#from = at;
    this.#length = 0;
    this.#length = this.#io.read(at, this.bytes.subarray(0, wanted));
    return size <= this.#length ? 0 : -1;
  }
}

const LARGE = 65_536;
const SMALL = 4096;
