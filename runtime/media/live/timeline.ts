import { issues } from './issues.ts';

/** Which clock of the sender a stamp is from. */
export const VIDEO = 0;
export const AUDIO = 1;

/**
 * Puts the stamps of one publish, 32 bit and often senseless, on the steady timeline of the output.
 *
 * Lines tie the sender's clock to the output's. Both tracks share them, so that they stay in step. A stamp that
 * fits no line begins a new one, on which its track goes on where it was. The former lines are kept, because the
 * other track, or the same one after a stray stamp, still counts by them; a line that its track leaves with the
 * very next stamp was such a stray and is forgotten. A clock that stands still is replaced by the time of arrival.
 */
export class Timeline {
  readonly #onIssue: (issue: string) => void;
  readonly #origin: number;
  readonly #tracks = [new Stamps(), new Stamps()];
  /** At most `MOST_LINES`, the one used last first. */
  #lines: Line[] = [];
  /** The greatest time given so far. */
  #latest: number;

  /** @param origin milliseconds on the output's timeline at which the first stamp lands. */
  constructor(options: { origin: number; onIssue: (issue: string) => void }) {
    this.#origin = options.origin;
    this.#latest = options.origin;
    this.#onIssue = options.onIssue;
  }

  get latest(): number {
    return this.#latest;
  }

  /** True once the stamps of this track were found to stand still. */
  isByArrival(track: number): boolean {
    return this.#tracks[track].isByArrival;
  }

  /** True when the newest stamp of this track is that of the one before, and says nothing. */
  isStill(track: number): boolean {
    return this.#tracks[track].same > 0 && !this.#tracks[track].isByArrival;
  }

  /**
   * The time on the output's timeline, milliseconds, of the next message of a track. May be up to 0.1 s, after
   * equal stamps 1 s, before the track's former one: the caller mends what its format does not allow.
   */
  place(track: number, stamp: number, now: number): number {
    const stamps = this.#tracks[track];
    if (!stamps.isByArrival) this.#watch(stamps, stamp, now);
    const time = this.#timeOf(stamps, stamp, now);
    // Only what the clock itself says is a measure for the stamps that follow.
    if (stamps.same === 0) {
      const step = time - stamps.last;
      if (stamps.count > 0 && step > 0) {
        // One long step is a pause and no coarse clock.
        stamps.stride = Math.min(step, stamps.formerStep);
        stamps.formerStep = step;
        // Nor is a gap a rhythm: what comes after it is not expected to be as late.
        if (step <= 1000) stamps.step = step;
      }
      stamps.last = stamps.stillTime = time;
    }
    stamps.count += 1;
    if (time > this.#latest) this.#latest = time;
    return time;
  }

  /** More equal stamps than this clock ever gave: it may stand, and what follows is not to fall on one moment. */
  #isDead(stamps: Stamps): boolean {
    return stamps.isByArrival || stamps.same >= stamps.mostSame + STILL;
  }

  #timeOf(stamps: Stamps, stamp: number, now: number): number {
    if (this.#isDead(stamps)) return stamps.stillTime + now - stamps.since;
    const time = this.#timeByLine(stamps, stamp);
    const { same, mostSame } = stamps;
    if (same === 0) return time;
    // A coarse clock: what shares a stamp is spread over the time to the next one, once that is known.
    if (same <= mostSame) return stamps.stillTime + (stamps.stride * same) / (mostSame + 1);
    return stamps.stillTime + Math.min(now - stamps.since, stamps.step * same);
  }

  #timeByLine(stamps: Stamps, stamp: number): number {
    // A track that begins or comes back is measured by the other one.
    const isFirst = stamps.count === 0 || stamps.last < this.#latest - 1000;
    const last = isFirst ? this.#latest : stamps.last;
    const expected = this.#lines.length === 0 ? this.#origin : last + stamps.step;
    const earliest = last - (isFirst ? FORWARD : BACK);
    const { unproven } = stamps;
    // A pause is believed where the clock did not jump just before, else each stray stamp would add its distance.
    const line =
      this.#nearest(stamp, expected) ??
      [stamps.line ?? this.#lines[0], unproven].find((own) => {
        const time = own === undefined ? Number.NaN : timeOn(own, stamp);
        return time >= earliest && time <= last + FORWARD;
      });
    stamps.unproven = undefined;
    if (line === undefined || line !== unproven) this.#drop(unproven);
    if (line === undefined) return this.#beginLine(stamps, { stamp, time: expected, isProven: false });
    line.time = timeOn(line, stamp);
    line.stamp = stamp;
    line.isProven = true;
    this.#use(line);
    stamps.line = line;
    return line.time;
  }

  /** The line that gives the stamp the time nearest to the expected one, when it is near enough. */
  #nearest(stamp: number, expected: number): Line | undefined {
    let nearest: Line | undefined;
    let least = BACK;
    for (const line of this.#lines) {
      const distance = Math.abs(timeOn(line, stamp) - expected);
      // The one used last goes first among equals.
      if (distance > least || (distance === least && nearest !== undefined)) continue;
      nearest = line;
      least = distance;
    }
    return nearest;
  }

  #beginLine(stamps: Stamps, line: Line): number {
    if (this.#lines.length > 0 || stamps.count > 0) this.#onIssue(issues.jumped);
    this.#use(line);
    stamps.unproven = line;
    return line.time;
  }

  #use(line: Line): void {
    if (line === this.#lines[0]) return;
    this.#lines = [line, ...this.#lines.filter((other) => other !== line)].slice(0, MOST_LINES);
  }

  #drop(stray: Line | undefined): void {
    if (stray !== undefined && !stray.isProven) this.#lines = this.#lines.filter((line) => line !== stray);
  }

  #watch(stamps: Stamps, stamp: number, now: number): void {
    if (stamps.count === 0 || stamp !== stamps.stamp) {
      stamps.mostSame = Math.max(stamps.mostSame, stamps.same);
      stamps.stamp = stamp;
      stamps.same = 0;
      stamps.since = now;
      return;
    }
    stamps.same += 1;
    if (stamps.same < 8 || now - stamps.since < STANDS) return;
    stamps.isByArrival = true;
    this.#onIssue(issues.still);
  }
}

/** A stamp of the sender, and the time on the output's timeline that it stands for. */
interface Line {
  stamp: number;
  time: number;
  /** A second message counted by it. */
  isProven: boolean;
}

/** Modulo 2^32, so that a wrap is a small step ahead. */
function timeOn(line: Line, stamp: number): number {
  return line.time + ((stamp - line.stamp) | 0);
}

/** One for each track, one that a track just left, and one for a burst of stray stamps. */
const MOST_LINES = 4;

/** So many more equal stamps in a row than ever before are not believed. */
const STILL = 3;
/** At least 8 messages of one track with the same timestamp for so long: the clock stands still, ms. */
const STANDS = 1000;
/** How far timestamps of one track may go back, or ahead, before they count as a jump, ms. */
const BACK = 100;
const FORWARD = 10_000;

class Stamps {
  count = 0;
  last = 0;
  step = 20;
  stamp = -1;
  /** Messages whose stamp was that of the one before, in a row. */
  same = 0;
  mostSame = 0;
  /** The lesser of the two steps before the newest stamp, milliseconds: how far those of a coarse clock are apart. */
  stride = 0;
  formerStep = BACK;
  /** When the first message of the newest stamp came, and the time that it was given. */
  since = 0;
  stillTime = 0;
  isByArrival = false;
  /** The line of the newest stamp that fitted one. */
  line: Line | undefined;
  /** The line that the newest stamp began. */
  unproven: Line | undefined;
}
