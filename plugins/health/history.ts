import type { Point } from './contract.ts';
import { textsOf } from './issues.ts';
import type { Verdict } from './judge.ts';

/** One point of the history, ms. */
const pointLength = 5000;
/** 720 × 5 s = 1 h, 29 KB for each session. */
export const maxPoints = 720;
/** Issue texts of the media itself in one history; further ones only make their point unhealthy. */
const maxTexts = 12;

/** The last hour of one session, in a ring of fixed size: as objects it would take five times the memory. */
export class History {
  readonly #slots = new Float64Array(maxPoints).fill(-1);
  readonly #values = new Float32Array(maxPoints * COLUMNS);
  readonly #issues = new Uint32Array(maxPoints);
  /** Issues of the media itself: the bits above those of this plugin. */
  readonly #texts: string[] = [];
  #newest = -1;

  add(
    look: Verdict & { ingestRate: number; viewers: number; reported: readonly string[] },
    now: number,
  ): void {
    const slot = Math.floor(now / pointLength);
    // When the clock was set back, the newest point continues.
    if (slot > this.#newest) this.#begin(slot);
    const place = this.#newest % maxPoints;
    const at = place * COLUMNS;
    const values = this.#values;
    values[at] = look.ingestRate;
    values[at + 1] = look.fps;
    values[at + 2] = Math.max(values[at + 2], look.keyFrameInterval);
    values[at + 3] = Math.max(values[at + 3], look.jitter);
    values[at + 4] += look.dropped;
    values[at + 5] += look.late;
    values[at + 6] = look.viewers;
    this.#issues[place] |= look.issues;
    for (const text of look.reported) this.#issues[place] |= this.#bitOf(text);
  }

  /** Oldest first. */
  points(): Point[] {
    const points: Point[] = [];
    const first = Math.max(0, this.#newest - maxPoints + 1);
    const order = [...this.#slots.keys()].filter((place) => this.#slots[place] >= first);
    order.sort((a, b) => this.#slots[a] - this.#slots[b]);
    for (const place of order) points.push(this.#point(place));
    return points;
  }

  #begin(slot: number): void {
    this.#newest = slot;
    const place = slot % maxPoints;
    this.#slots[place] = slot;
    this.#values.fill(0, place * COLUMNS, (place + 1) * COLUMNS);
    this.#issues[place] = 0;
  }

  #point(place: number): Point {
    const at = place * COLUMNS;
    const bits = this.#issues[place];
    const [ingestRate, fps, keyFrameInterval, jitter, dropped, late, viewerCount] = this.#values.subarray(
      at,
      at + COLUMNS,
    );
    return {
      time: this.#slots[place] * pointLength,
      ingestRate: Math.round(ingestRate),
      fps: rounded(fps, 10),
      keyFrameInterval: rounded(keyFrameInterval, 1000),
      jitter: Math.round(jitter),
      dropped: Math.round(dropped),
      late,
      viewerCount,
      isHealthy: bits === 0,
      issues: [...this.#texts.filter((_, index) => bits & (1 << (FIRST_TEXT + index))), ...textsOf(bits)],
    };
  }

  #bitOf(text: string): number {
    let index = this.#texts.indexOf(text);
    if (index < 0 && this.#texts.length < maxTexts) index = this.#texts.push(text) - 1;
    return index < 0 ? OTHER : 1 << (FIRST_TEXT + index);
  }
}

const COLUMNS = 7;
/** The bits below are those of issueNames: 17, with 2 to spare. */
const FIRST_TEXT = 20;
/** An issue whose text had no room. */
const OTHER = 1 << 19;

function rounded(value: number, by: number): number {
  return Math.round(value * by) / by;
}
