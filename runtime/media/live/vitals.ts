import type { Vitals } from '../../../core/ports/media.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import { AUDIO, VIDEO } from './timeline.ts';

/**
 * Counts how the media of one publish comes: a few additions per message, no allocation, no decision. Whoever
 * reads the counters once a second judges by their differences.
 */
export class VitalsMeter {
  readonly #delay: OwnDelay | undefined;
  #frameRate = 0;
  #expectsVideo = false;
  #expectsAudio = false;
  #videoTime = -1;
  #audioTime = -1;
  #videoAt = 0;
  #audioAt = 0;
  #frames = 0;
  #stepTime = 0;
  #stepSquares = 0;
  #usualStep = 0;
  #keyFrames = 0;
  #keyTime = -1;
  #keyInterval = 0;
  /** Of the running second and those before it, in turn. */
  readonly #soonest = new Float64Array(SECONDS);
  readonly #latest = new Float64Array(SECONDS);
  #second = -1;
  #usualTransit = 0;
  #late = 0;
  #gaps = 0;
  #gapTime = 0;
  #soundLead = 0;

  /** @param options.delay while there was one, times of arrival are not counted; none when undefined */
  constructor(options: { delay?: OwnDelay | undefined } = {}) {
    this.#delay = options.delay;
  }

  /** What the encoder says it will send; `frameRate` 0 when it does not say. */
  expect(expected: { hasVideo: boolean; hasAudio: boolean; frameRate: number }): void {
    this.#expectsVideo ||= expected.hasVideo;
    this.#expectsAudio ||= expected.hasAudio;
    this.#frameRate = expected.frameRate;
  }

  /** A message of a track is at `time` (ms of the mended timeline) and came at `now` (epoch ms). */
  pass(track: number, time: number, now: number): void {
    // By the picture, when there is one: the two tracks may be apart.
    const isTelling = track === VIDEO || this.#frames === 0;
    if (isTelling && !this.#delay?.isRecent(now)) this.#arrive(time, now);
    if (track === VIDEO) this.#passVideo(time, now);
    else if (track === AUDIO) this.#passAudio(time, now);
  }

  /** The frame that passed last is a key frame. */
  key(): void {
    if (this.#keyTime >= 0) this.#keyInterval = this.#videoTime - this.#keyTime;
    this.#keyTime = this.#videoTime;
    this.#keyFrames += 1;
  }

  read(codecs: readonly string[], now: number): Vitals {
    if (this.#second >= 0) this.#turn(Math.floor(now / 1000));
    return {
      frameRate: this.#frameRate,
      expectsVideo: this.#expectsVideo,
      expectsAudio: this.#expectsAudio,
      videoTime: this.#videoTime,
      audioTime: this.#audioTime,
      videoAt: this.#videoAt,
      audioAt: this.#audioAt,
      frames: this.#frames,
      stepTime: this.#stepTime,
      stepSquares: this.#stepSquares,
      keyFrames: this.#keyFrames,
      keyTime: this.#keyTime,
      keyInterval: this.#keyInterval,
      jitter: this.#jitter(),
      late: this.#late,
      gaps: this.#gaps,
      gapTime: this.#gapTime,
      soundLead: this.#soundLead,
      codecs,
    };
  }

  #arrive(time: number, now: number): void {
    const transit = now - time;
    if (this.#second < 0) this.#usualTransit = transit;
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#turn(second);
    const place = second % SECONDS;
    if (transit < this.#soonest[place]) this.#soonest[place] = transit;
    if (transit > this.#latest[place]) this.#latest[place] = transit;
    // What comes sooner is what the way can do; the clock of an encoder may run a little slower than ours.
    if (transit < this.#usualTransit) this.#usualTransit = transit;
    else this.#usualTransit += (transit - this.#usualTransit) / CREEP;
    if (transit - this.#usualTransit > LATE) this.#late += 1;
  }

  #passVideo(time: number, now: number): void {
    const step = time - this.#videoTime;
    if (this.#frames > 0) {
      if (this.#usualStep > 0 && step > VIDEO_GAP && step > this.#usualStep * 4) {
        this.#miss(step - this.#usualStep);
        // When all are so far apart from now on, that becomes usual.
        this.#usualStep += (Math.min(step, LONGEST_STEP) - this.#usualStep) / 16;
      } else if (step > 0) {
        this.#stepTime += step;
        this.#stepSquares += step * step;
        this.#usualStep += this.#usualStep === 0 ? step : (step - this.#usualStep) / 16;
      }
    }
    this.#frames += 1;
    this.#videoTime = time;
    this.#videoAt = now;
  }

  #passAudio(time: number, now: number): void {
    const step = time - this.#audioTime;
    if (this.#audioTime >= 0 && step > AUDIO_GAP) this.#miss(step);
    this.#audioTime = time;
    this.#audioAt = now;
    if (this.#videoTime >= 0) this.#soundLead += (time - this.#videoTime - this.#soundLead) / 64;
  }

  /** Empties the seconds in which nothing came. */
  #turn(second: number): void {
    const passed = this.#second < 0 ? SECONDS : Math.min(SECONDS, Math.max(0, second - this.#second));
    for (let i = 0; i < passed; i += 1) {
      this.#soonest[(second - i) % SECONDS] = Number.POSITIVE_INFINITY;
      this.#latest[(second - i) % SECONDS] = Number.NEGATIVE_INFINITY;
    }
    if (passed > 0) this.#second = second;
  }

  #jitter(): number {
    let soonest = Number.POSITIVE_INFINITY;
    let latest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < SECONDS; i += 1) {
      if (this.#soonest[i] < soonest) soonest = this.#soonest[i];
      if (this.#latest[i] > latest) latest = this.#latest[i];
    }
    return latest > soonest ? latest - soonest : 0;
  }

  #miss(length: number): void {
    this.#gaps += 1;
    this.#gapTime += length;
  }
}

/** Pictures further apart than this, and than four usual steps, are missing some between them; ms. */
const VIDEO_GAP = 400;
/** Nobody sends pictures further apart than this on purpose, ms. */
const LONGEST_STEP = 2000;
/** A message of sound holds some 20 ms of it, at most a tenth of a second; ms. */
const AUDIO_GAP = 200;
/** Later than the quickest by this many ms: a player near the edge has run out by then. */
const LATE = 2000;
/** Over so many, the running one among them, jitter is measured. */
const SECONDS = 5;
/** Messages after which a lasting delay counts as usual by two thirds: about a minute of picture and sound. */
const CREEP = 4096;
