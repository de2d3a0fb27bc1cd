import type { Point } from './point.ts';

/** One point of the history, ms. */
const pointLength = 5000;
/** 1 h: about 90 KB for each session. */
export const maxPoints = 720;

/** The last hour of one session, oldest first. */
export class History {
  readonly #points: Point[] = [];

  get points(): readonly Point[] {
    return this.#points;
  }

  /** Adds a second to the newest point: its worst values, and all its issues. */
  add(look: Omit<Point, 'time' | 'isHealthy'>, now: number): void {
    const points = this.#points;
    const time = Math.floor(now / pointLength) * pointLength;
    const newest = points.at(-1);
    // When the clock was set back, the newest point continues.
    const isNew = newest === undefined || time > newest.time;
    const before = isNew ? { time, ...nothing } : newest;
    // The text of the point before: an issue lasts for minutes, and its text should be in memory once.
    const known = (text: string) => newest?.issues.find((one) => one === text) ?? text;
    const all = new Set([...before.issues, ...look.issues.map(known)]);
    const issues = all.size === 0 ? nothing.issues : [...all].slice(0, maxIssues);
    if (!isNew) points.pop();
    points.push({
      time: before.time,
      ingestRate: Math.round(look.ingestRate),
      fps: rounded(look.fps, 10),
      keyFrameInterval: Math.max(before.keyFrameInterval, rounded(look.keyFrameInterval, 1000)),
      jitter: Math.max(before.jitter, Math.round(look.jitter)),
      dropped: before.dropped + Math.round(look.dropped),
      late: before.late + look.late,
      viewerCount: look.viewerCount,
      isHealthy: issues.length === 0,
      issues,
    });
    while (points[0].time <= before.time - maxPoints * pointLength) points.shift();
  }
}

/** Of one point; further ones are left out. */
const maxIssues = 20;
const nothing = { keyFrameInterval: 0, jitter: 0, dropped: 0, late: 0, issues: [] };

function rounded(value: number, by: number): number {
  return Math.round(value * by) / by;
}
