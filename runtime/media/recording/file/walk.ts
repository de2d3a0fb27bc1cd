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
export function* walkFile(io: FileIo, options: { visitor: Visitor; until?: number }): Steps<Walk> {
  const { visitor, until = io.size } = options;
  const window = new FileWindow(io);
  const wrong: { at: number; size: number }[] = [];
  let extent = { at: 0, declared: 0 };
  let whole = { end: 0, last: 0, extent };
  let moov: Walk['moov'];
  let inits = 0;
  let segments = 0;
  let isBegun = false;
  let next: { number: number; init: FileInit | undefined } | undefined;
  let marker: SegmentMarker | undefined;
  let isOpen = false;
  let at = 0;
  /** Bytes read in this step. */
  let looked = 0;

  const load = (from: number, size: number) => {
    looked += size;
    return from + size <= until ? window.load(from, size) : -1;
  };
  const sizeAt = (here: number) => window.view.getUint32(here);
  const typeAt = (here: number) => window.view.getUint32(here + 4);

  /** Reads the box at `at`. Returns why it cannot. */
  function step(): string | undefined {
    const here = load(at, 8);
    if (here < 0) return 'half a box';
    const size = sizeAt(here);
    const type = typeAt(here);
    if (type === MDAT) return enterExtent(size);
    if (extent.at === 0) return 'no extent';
    if (type === MOOF) return readFragment(size);
    if (type === RUN) return readMarker(size, readRun);
    if (type === SEGMENT) return readMarker(size, readSegment);
    if (type === MOOV) {
      moov = { at, size };
      return undefined;
    }
    return 'an unknown box';
  }

  function enterExtent(declared: number): string | undefined {
    if (extent.at > 0 && extent.declared !== at - extent.at)
      wrong.push({ at: extent.at, size: at - extent.at });
    if (next !== undefined || marker !== undefined) return 'a marker about nothing';
    extent = { at, declared };
    isOpen = false;
    at += 8;
    return undefined;
  }

  function readMarker(size: number, read: typeof readRun): string | undefined {
    if (size > markerBytes) return 'a marker that is too long';
    const here = load(at, size);
    return here < 0 ? 'half a marker' : read(size, window.bytes.subarray(here, here + size));
  }

  function readRun(size: number, bytes: Uint8Array): string | undefined {
    const run = readRunMarker(bytes);
    if (run === undefined || run.init > inits || next !== undefined) return 'a damaged marker';
    const init = run.init === inits ? loadInit(at + size, run) : undefined;
    if (typeof init === 'string') return init;
    at += size + (init?.bytes.length ?? 0);
    next = { number: run.init, init };
    isOpen = false;
    return undefined;
  }

  function loadInit(from: number, { described }: RunMarker): FileInit | string {
    let size = 0;
    for (let boxes = 0; boxes < 2; boxes += 1) {
      const here = load(from + size, 8);
      if (here < 0) return 'half an init';
      size += sizeAt(here);
      if (size > initBytes) return 'an init that is too long';
    }
    const here = load(from, size);
    if (here < 0) return 'half an init';
    const bytes = window.bytes.slice(here, here + size);
    const tracks = readInit(bytes);
    return tracks === undefined ? 'a damaged init' : { at: from, bytes, tracks, described };
  }

  function readSegment(size: number, bytes: Uint8Array): string | undefined {
    if (marker !== undefined || (next === undefined && !isBegun)) return 'a marker about nothing';
    marker = readSegmentMarker(bytes);
    if (marker?.number !== segments) return 'a damaged marker';
    at += size;
    return undefined;
  }

  function readFragment(size: number): string | undefined {
    if (size > indexBytes) return 'an index that is too long';
    if (marker === undefined && !isOpen) return 'a part of no segment';
    const here = load(at, size + 8);
    if (here < 0) return 'half a part';
    const fragment = readOwnFragment(window.view, here, size);
    const data = here + size;
    if (fragment === undefined || typeAt(data) !== MDAT || sizeAt(data) !== fragment.dataSize)
      return 'a damaged part';
    const length = size + fragment.dataSize;
    if (at + length > until) return 'half a part';
    if (next !== undefined) {
      visitor.run(next.number, next.init);
      if (next.init !== undefined) inits += 1;
      next = undefined;
      isBegun = true;
    }
    visitor.fragment(fragment.runs, { at, size: length, segment: marker });
    if (marker !== undefined) segments += 1;
    marker = undefined;
    isOpen = true;
    whole = { end: at + length, last: at, extent };
    at += length;
    return undefined;
  }

  let reason = isRecording() ? undefined : 'no ftyp of a recording';
  if (reason === undefined) {
    at = FILE_TYPE.length;
    while (at < until && moov === undefined && reason === undefined) {
      reason = step();
      if (looked < TURN) continue;
      looked = 0;
      yield;
    }
  }
  return {
    ...whole,
    wrong: wrong.filter((header) => header.at < whole.extent.at),
    moov,
    broken: reason === undefined ? undefined : { at, reason },
  };

  function isRecording(): boolean {
    const here = load(0, FILE_TYPE.length);
    return here >= 0 && FILE_TYPE.every((byte, index) => window.bytes[here + index] === byte);
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
