import { type Figures, noVitals, type Vitals } from '../../../core/ports/media.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import { AUDIO, VIDEO } from './timeline.ts';

/**
 * Counts one publish, and how its media comes: a few additions per message, no allocation, no decision. The judge of
 * health reads the totals once a second and looks at their differences.
 */
export class Meter {
  readonly #delay: OwnDelay | undefined;
  readonly #issues = new Map<string, number>();
  readonly #totals: { -readonly [name in keyof Vitals]: Vitals[name] } = { ...noVitals };
  /** Per second: bytes, and how long the quickest and the slowest message took, ms. */
  readonly #bytesIn = new Float64Array(SECONDS);
  readonly #soonest = new Float64Array(SECONDS);
  readonly #latest = new Float64Array(SECONDS);
  #second = -1;
  #since = 0;
  #bytes = 0;
  #lastAt = 0;
  /** First and greatest media time, ms. */
  #from = -1;
  #until = 0;
  #usualTransit = Number.POSITIVE_INFINITY;
  #usualStep = 0;

  /** @param options.delay arrivals are not judged while this process was held up */
  constructor(options: { delay?: OwnDelay | undefined } = {}) {
    this.#delay = options.delay;
  }

  /** What the encoder says it will send; `frameRate` 0 when it does not say. */
  expect(expected: { hasVideo: boolean; hasAudio: boolean; frameRate: number }): void {
    this.#totals.expectsVideo ||= expected.hasVideo;
    this.#totals.expectsAudio ||= expected.hasAudio;
    this.#totals.frameRate = expected.frameRate;
  }

  /** A message of `bytes` has come, at `now` in epoch milliseconds. */
  count(bytes: number, now: number): void {
    this.#bytes += bytes;
    this.#lastAt = now;
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#turn(second);
    this.#bytesIn[second % SECONDS] += bytes;
  }

  /** It is a sample of `track` at `time`, ms of the mended timeline. */
  pass(track: number, time: number, now: number): void {
    if (this.#from < 0) this.#from = this.#until = time;
    else if (time > this.#until) this.#until = time;
    // By the picture, when there is one: the two tracks may be apart.
    const isJudged = track === VIDEO || this.#totals.frames === 0;
    if (isJudged && !this.#delay?.isRecent(now)) this.#arrive(now - time);
    if (track === AUDIO) this.#passAudio(time, now);
    else this.#passVideo(time, now);
  }

  /** The frame that passed last is a key frame. */
  key(): void {
    const totals = this.#totals;
    if (totals.keyTime >= 0) totals.keyInterval = totals.videoTime - totals.keyTime;
    totals.keyTime = totals.videoTime;
    totals.keyFrames += 1;
  }

  /** Something is wrong, at `now`; it is shown for a minute after it last happened. */
  issue(text: string, now: number): void {
    this.#issues.set(text, now);
    if (this.#issues.size <= MOST_ISSUES) return;
    const [oldest] = [...this.#issues].reduce((one, other) => (other[1] < one[1] ? other : one));
    this.#issues.delete(oldest);
  }

  figures(now: number): Omit<Figures, 'segments' | 'targetDuration'> {
    const second = Math.floor(now / 1000);
    if (this.#second >= 0) this.#turn(second);
    let recent = 0;
    for (let i = 0; i < SECONDS; i += 1) if (i !== second % SECONDS) recent += this.#bytesIn[i];
    const span = Math.min(SECONDS - 1, second - this.#since);
    if (span < 1) recent = this.#bytes;
    return {
      bytes: this.#bytes,
      duration: this.#from < 0 ? 0 : (this.#until - this.#from) / 1000,
      ingestRate: Math.round((recent * 8) / Math.max(1, span)),
      lastMediaAt: this.#lastAt,
      issues: [...this.#issues].filter(([, at]) => now - at < SHOWN).map(([text]) => text),
    };
  }

  vitals(codecs: readonly string[], now: number): Vitals {
    const second = Math.floor(now / 1000);
    if (this.#second >= 0) this.#turn(second);
    let soonest = Number.POSITIVE_INFINITY;
    let latest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < SECONDS - 1; i += 1) {
      soonest = Math.min(soonest, this.#soonest[(second - i) % SECONDS]);
      latest = Math.max(latest, this.#latest[(second - i) % SECONDS]);
    }
    return { ...this.#totals, jitter: latest > soonest ? latest - soonest : 0, codecs };
  }

  /** The message took `transit` ms, and an unknown constant. */
  #arrive(transit: number): void {
    const place = this.#second % SECONDS;
    if (transit < this.#soonest[place]) this.#soonest[place] = transit;
    if (transit > this.#latest[place]) this.#latest[place] = transit;
    // What comes sooner is what the way can do; the clock of an encoder may run a little slower than ours.
    if (transit < this.#usualTransit) this.#usualTransit = transit;
    else this.#usualTransit += (transit - this.#usualTransit) / CREEP;
    if (transit - this.#usualTransit > LATE) this.#totals.late += 1;
  }

  #passVideo(time: number, now: number): void {
    const totals = this.#totals;
    const step = time - totals.videoTime;
    if (totals.frames > 0) {
      if (this.#usualStep > 0 && step > VIDEO_GAP && step > this.#usualStep * 4) {
        totals.gapTime += step - this.#usualStep;
        // When all are so far apart from now on, that becomes usual.
        this.#usualStep += (Math.min(step, LONGEST_STEP) - this.#usualStep) / 16;
      } else if (step > 0) {
        totals.stepTime += step;
        totals.stepSquares += step * step;
        this.#usualStep += this.#usualStep === 0 ? step : (step - this.#usualStep) / 16;
      }
    }
    totals.frames += 1;
    totals.videoTime = time;
    totals.videoAt = now;
  }

  #passAudio(time: number, now: number): void {
    const totals = this.#totals;
    const step = time - totals.audioTime;
    if (totals.audioTime >= 0 && step > AUDIO_GAP) totals.gapTime += step;
    totals.audioTime = time;
    totals.audioAt = now;
    if (totals.videoTime >= 0) totals.soundLead += (time - totals.videoTime - totals.soundLead) / 64;
  }

  /** Empties the seconds in which nothing came. */
  #turn(second: number): void {
    if (this.#second < 0) this.#since = second;
    const passed = this.#second < 0 ? SECONDS : Math.min(SECONDS, Math.max(0, second - this.#second));
    for (let i = 0; i < passed; i += 1) {
      const place = (second - i) % SECONDS;
      this.#bytesIn[place] = 0;
      this.#soonest[place] = Number.POSITIVE_INFINITY;
      this.#latest[place] = Number.NEGATIVE_INFINITY;
    }
    this.#second = second;
  }
}

/** The running second and the five before it; jitter leaves out the oldest. */
const SECONDS = 6;
/** How long an issue is shown after it last happened, ms. */
const SHOWN = 60_000;
/** Beyond, the one that happened longest ago is forgotten. */
const MOST_ISSUES = 16;
/** Pictures further apart than this, and than four usual steps, are missing some between them; ms. */
const VIDEO_GAP = 400;
/** Nobody sends pictures further apart than this on purpose, ms. */
const LONGEST_STEP = 2000;
/** A message of sound holds some 20 ms of it, at most a tenth of a second; ms. */
const AUDIO_GAP = 200;
/** Later than the quickest by this many ms: a player near the edge has run out by then. */
const LATE = 2000;
/** Messages after which a lasting delay counts as usual by two thirds: about a minute of picture and sound. */
const CREEP = 4096;
