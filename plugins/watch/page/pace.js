/**
 * How fast to play so that the picture comes to stand `wanted` seconds behind live, and no nearer than what
 * arrives allows. hls.js has a control of its own, but it speeds up only with more than a second in the
 * buffer, so that with parts of 250 ms it never gets to the hold-back that the playlist asks for.
 */
export class Pace {
  /** Least seconds in the buffer during the last SPAN, as pairs of time and seconds. */
  #lows = [];
  #rate = 1;

  /** Seconds: `behind` live, `wanted` behind live, `ahead` in the buffer; `now` ms. Answers the rate. */
  next({ behind, wanted, ahead, now }) {
    this.#lows = this.#lows.filter(({ at, low }) => now - at < SPAN && low < ahead);
    this.#lows.push({ at: now, low: ahead });
    const low = this.#lows[0].low;
    const excess = behind - wanted;
    if (low < EMPTY) this.#rate = SLOW;
    else if (low < RESERVE) this.#rate = Math.min(this.#rate, 1);
    else if (excess > START) this.#rate = 1 + Math.min(FASTEST, STEP * Math.ceil(excess / 0.5));
    else if (excess < STOP || this.#rate < 1) this.#rate = 1;
    return this.#rate;
  }

  /** After a seek or a stall what was in the buffer says nothing. */
  reset() {
    this.#lows = [];
    this.#rate = 1;
  }
}

/** Where the media that a video element plays ends, seconds. */
export function bufferedEnd({ buffered, currentTime }) {
  for (let i = 0; i < buffered.length; i++) {
    if (buffered.start(i) <= currentTime + 0.1 && currentTime <= buffered.end(i)) return buffered.end(i);
  }
  return currentTime;
}

/** The buffer rises and falls with each part: its least over some of them counts, ms. */
const SPAN = 1500;
/** With less than this in the buffer it does not get nearer to live, seconds. */
const RESERVE = 0.2;
/** With less than this it falls back, slowly, rather than stand still. */
const EMPTY = 0.08;
const SLOW = 0.95;
/** Catching up begins and ends with so much too much, seconds. */
const START = 0.08;
const STOP = 0.02;
/** Speed for each half second too much, and at most. */
const STEP = 0.05;
const FASTEST = 0.2;
