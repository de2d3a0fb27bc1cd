import { MDAT, MOOF, MOOV } from '../../mp4/fragment-boxes.ts';
import type { Steps } from '../steps.ts';
import type { TakeIo } from '../take-file.ts';
import { FileWindow } from './file-window.ts';
import { FragmentReader } from './fragment-reader.ts';
import { FILE_TYPE } from './layout.ts';
import { takeFileLimits } from './limits.ts';
import {
  RUN,
  type RunMarker,
  readRunMarker,
  readSegmentMarker,
  SEGMENT,
  type SegmentMarker,
} from './marker.ts';
import { type InitTrack, readInit } from './read-init.ts';

/** An init segment as it lies in a file. */
export interface TakeInit {
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly tracks: readonly InitTrack[];
  readonly described: RunMarker['described'];
}

export interface Visitor {
  /** Segments of the init of this number follow. `init` when it is there for the first time. */
  run(number: number, init: TakeInit | undefined): void;
  /** A whole fragment. It is used again for the next one. `segment`: it is the first of this. */
  fragment(fragment: FragmentReader, place: { at: number; size: number; segment?: SegmentMarker }): void;
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
  /** The moov behind the extents, as far as its header is there. */
  readonly moov: { readonly at: number; readonly size: number } | undefined;
  /** Why it went no further than `at`; undefined: the file ends there. */
  readonly broken: { readonly at: number; readonly reason: string } | undefined;
}

/**
 * Reads a take from the front, as far as all is as it was written and before `until`. Sizes of extents are not needed for
 * that: an `mdat` that follows no `moof` is the next one. Throws what the disk says, and nothing else. A step of it looks at
 * `takeTurn`, and at the one box more with which that is reached.
 */
export function* walkTake(io: TakeIo, options: { visitor: Visitor; until?: number }): Steps<Walk> {
  const { visitor, until = io.size } = options;
  const window = new FileWindow(io);
  const reader = new FragmentReader();
  const wrong: { at: number; size: number }[] = [];
  let extent = { at: 0, declared: 0 };
  let whole = { end: 0, last: 0, extent };
  let moov: Walk['moov'];
  let inits = 0;
  let segments = 0;
  let isBegun = false;
  let next: { number: number; init: TakeInit | undefined } | undefined;
  let marker: SegmentMarker | undefined;
  let isOpen = false;
  let at = 0;
  /** Bytes looked at in this step. */
  let looked = 0;

  const load = (from: number, size: number) => {
    looked += size;
    return from + size <= until ? window.load(from, size) : -1;
  };
  const sizeAt = (here: number) => window.view.getUint32(here);
  const typeAt = (here: number) => window.view.getUint32(here + 4);

  /** The box at `at` is taken in; or why not. */
  function step(): string | undefined {
    const here = load(at, 8);
    if (here < 0) return 'half a box';
    const size = sizeAt(here);
    const type = typeAt(here);
    if (type === MDAT) return enterExtent(size);
    if (extent.at === 0) return 'no extent';
    if (type === MOOF) return takeFragment(size);
    if (type === RUN) return takeRun(size);
    if (type === SEGMENT) return takeSegment(size);
    if (type === MOOV) {
      moov = { at, size };
      return undefined;
    }
    return 'no box of a take';
  }

  function enterExtent(declared: number): string | undefined {
    if (extent.at > 0 && extent.declared !== at - extent.at)
      wrong.push({ at: extent.at, size: at - extent.at });
    if (next !== undefined || marker !== undefined) return 'a note about nothing';
    extent = { at, declared };
    isOpen = false;
    at += 8;
    return undefined;
  }

  function takeRun(size: number): string | undefined {
    if (size > takeFileLimits.takeMarker.value) return 'a note that is too long';
    const here = load(at, size);
    if (here < 0) return 'half a note';
    const run = readRunMarker(window.bytes.subarray(here, here + size));
    if (run === undefined || run.init > inits || next !== undefined) return 'a damaged note';
    const init = run.init === inits ? takeInit(at + size, run) : undefined;
    if (typeof init === 'string') return init;
    at += size + (init?.bytes.length ?? 0);
    next = { number: run.init, init };
    isOpen = false;
    return undefined;
  }

  function takeInit(from: number, { described }: RunMarker): TakeInit | string {
    let size = 0;
    for (let boxes = 0; boxes < 2; boxes += 1) {
      const here = load(from + size, 8);
      if (here < 0) return 'half an init';
      size += sizeAt(here);
      if (size > takeFileLimits.takeInit.value) return 'an init that is too long';
    }
    const here = load(from, size);
    if (here < 0) return 'half an init';
    const bytes = window.bytes.slice(here, here + size);
    const tracks = readInit(bytes);
    return tracks === undefined ? 'a damaged init' : { at: from, bytes, tracks, described };
  }

  function takeSegment(size: number): string | undefined {
    if (size > takeFileLimits.takeMarker.value) return 'a note that is too long';
    const here = load(at, size);
    if (here < 0) return 'half a note';
    if (marker !== undefined || (next === undefined && !isBegun)) return 'a note about nothing';
    marker = readSegmentMarker(window.bytes.subarray(here, here + size));
    if (marker?.number !== segments) return 'a damaged note';
    at += size;
    return undefined;
  }

  function takeFragment(size: number): string | undefined {
    if (size > takeFileLimits.takeFragmentIndex.value) return 'an index that is too long';
    if (marker === undefined && !isOpen) return 'a part of no segment';
    const here = load(at, size + 8);
    if (here < 0) return 'half a part';
    if (!reader.read(window.view, here, size)) return 'a damaged part';
    const data = here + size;
    if (typeAt(data) !== MDAT || sizeAt(data) !== reader.dataSize) return 'a damaged part';
    const length = size + reader.dataSize;
    if (at + length > until) return 'half a part';
    if (next !== undefined) {
      visitor.run(next.number, next.init);
      if (next.init !== undefined) inits += 1;
      next = undefined;
      isBegun = true;
    }
    visitor.fragment(reader, { at, size: length, segment: marker });
    if (marker !== undefined) segments += 1;
    marker = undefined;
    isOpen = true;
    whole = { end: at + length, last: at, extent };
    at += length;
    return undefined;
  }

  let reason = isTake() ? undefined : 'no beginning of a take';
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

  function isTake(): boolean {
    const here = load(0, FILE_TYPE.length);
    return here >= 0 && FILE_TYPE.every((byte, index) => window.bytes[here + index] === byte);
  }
}

const TURN = takeFileLimits.takeTurn.value;
