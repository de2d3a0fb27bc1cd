import { cuePayload, type VttCue, webVtt } from '../../../../core/hls/web-vtt.ts';
import type { TextCue } from '../../../../core/plugin/media.ts';
import type { PlaylistFiles } from '../media-playlist.ts';
import { textNames } from '../names.ts';
import type { LiveWindow } from '../window.ts';

export interface TextTrackOptions {
  /** Of the source, whose segments and parts are those of the track. */
  readonly window: LiveWindow;
  /** What the names of the files of the broadcast begin with. */
  readonly prefix: string;
  /** Counted from 1. */
  readonly number: number;
  readonly name: string;
  readonly language: string;
}

/** A part of the source that is finished. Times on the timeline, ms. */
export interface FinishedPart {
  readonly sequence: number;
  readonly start: number;
  readonly end: number;
}

/**
 * A text track of a live playlist. What a part of it says is fixed when the part of the source is finished, because viewers fetch
 * it from then on. A cue that comes later is in the part that follows.
 */
export class TextTrack {
  readonly number: number;
  readonly name: string;
  readonly language: string;
  isDefault = false;
  /** Viewers who come now are offered it. */
  isListed = false;
  readonly files: PlaylistFiles;
  readonly #window: LiveWindow;
  /** Cues for parts that are not finished. */
  #pending: Cue[] = [];
  /** By the number of a segment: the cues of its parts. */
  readonly #segments = new Map<number, Cue[][]>();
  #held = 0;

  constructor({ window, prefix, number, name, language }: TextTrackOptions) {
    this.#window = window;
    this.number = number;
    this.name = name;
    this.language = language;
    this.files = {
      names: textNames(prefix, number),
      segment: (sequence) => this.#segment(sequence),
      part: (sequence, part) => this.#part(sequence, part),
    };
  }

  /** False: it is not one that can be shown, or there are too many. */
  add({ start, end, text }: TextCue): boolean {
    if (this.#held >= mostCues || typeof text !== 'string' || Buffer.byteLength(text) > mostText)
      return false;
    if (!Number.isFinite(start) || start < 0) return false;
    if (!Number.isFinite(end) || end <= start || end - start > longestCue) return false;
    const { end: newest, listed } = this.#window;
    // Before the first part of a broadcast nobody knows where it begins.
    if (newest > 0 && start > newest + farthestCue) return false;
    if (end <= (listed[0]?.time ?? 0)) return false;
    const payload = cuePayload(text);
    if (payload === '') return false;
    this.#pending.push({ start, end, payload, isPlaced: false, uses: 1 });
    this.#held += 1;
    return true;
  }

  /** A part of the source is finished; they come in order. */
  finish({ sequence, start, end }: FinishedPart): void {
    const parts = this.#segments.get(sequence) ?? [];
    this.#segments.set(sequence, parts);
    const cues = this.#pending.filter((cue) => cue.start < end && (cue.end > start || !cue.isPlaced));
    parts.push(cues);
    for (const cue of cues) {
      cue.isPlaced = true;
      cue.uses += 1;
    }
    this.#keep((cue) => cue.end > end);
  }

  /** Cues of which no part follows are let go. */
  drop(): void {
    this.#keep(() => false);
  }

  /** Lets go of the segments that have left the window. */
  trim(): void {
    for (const [sequence, parts] of this.#segments) {
      if (this.#window.segment(sequence) !== undefined) return;
      this.#segments.delete(sequence);
      for (const cues of parts) for (const cue of cues) this.#release(cue);
    }
  }

  #keep(isWanted: (cue: Cue) => boolean): void {
    if (this.#pending.length === 0) return;
    const kept = this.#pending.filter(isWanted);
    for (const cue of this.#pending) if (!isWanted(cue)) this.#release(cue);
    this.#pending = kept;
  }

  #release(cue: Cue): void {
    cue.uses -= 1;
    if (cue.uses === 0) this.#held -= 1;
  }

  #segment(sequence: number): Blob | undefined {
    const segment = this.#window.segment(sequence);
    if (segment === undefined || segment.isOpen || segment.isGap) return undefined;
    return fileOf(new Set(this.#segments.get(sequence)?.flat()));
  }

  #part(sequence: number, part: number): Blob | undefined {
    const segment = this.#window.segment(sequence);
    if (segment?.parts[part] === undefined) return undefined;
    return fileOf(this.#partOf(sequence, part));
  }

  /** A track that was added within a segment has no cues of the parts before it. */
  #partOf(sequence: number, part: number): readonly Cue[] {
    const parts = this.#segments.get(sequence) ?? [];
    const missing = (this.#window.segment(sequence)?.parts.length ?? 0) - parts.length;
    return parts[part - missing] ?? [];
  }
}

interface Cue extends VttCue {
  /** It is in a part. */
  isPlaced: boolean;
  /** How often it is kept here. */
  uses: number;
}

function fileOf(cues: Iterable<Cue>): Blob {
  return new Blob([webVtt([...cues])], { type: textType });
}

const textType = 'text/vtt; charset=utf-8';
/** Bytes of a cue's text. */
const mostText = 1024;
/** Cues that one track keeps; a window of 12 s has room for 16 a second. */
const mostCues = 200;
/** ms for which one cue is shown, and by which it may be ahead. */
const longestCue = 600_000;
const farthestCue = 600_000;
