import { beginningOf } from '../dvr.js';

/** How often the bar and the figure are written, ms. */
const REFRESH = 500;
/** The playlist of the whole broadcast ends so many seconds before live: nearer than that is live. */
const DVR_BEHIND = 15;
/** Seconds behind what the playlist asks for that still count as live. */
const LATE = 3;
/** A pause of so many seconds leaves the live playlist: then it goes on where it stood, if it can. */
const SHORT_PAUSE = 8;
/** Of a broadcast that just began nothing may be written yet, ms. */
const UNWRITTEN = 15_000;

/** The LIVE button, and the bar that goes back in a recorded broadcast. */
export class Broadcast {
  #playback;
  #token;
  #live = document.getElementById('live');
  #behind = document.getElementById('behind');
  #bar = document.getElementById('dvr-bar');
  /** Epoch ms by the encoder's clock; undefined where it is not recorded. */
  #beginning;
  /** When to ask for it, ms of the page. */
  #askAt = 0;
  /** The clock here minus that of the live edge, ms. */
  #offset;
  #pausedAt;
  #isDragging = false;

  constructor({ playback, token }) {
    this.#playback = playback;
    this.#token = token;
    setInterval(() => this.#refresh(), REFRESH);
    this.#live.addEventListener('click', () => playback.goLive());
    this.#bar.addEventListener('input', () => {
      this.#isDragging = true;
      this.#describe(Number(this.#bar.value));
    });
    this.#bar.addEventListener('change', () => {
      this.#isDragging = false;
      this.seek(Number(this.#bar.value));
    });
  }

  get isSeekable() {
    return this.#beginning !== undefined && this.#offset !== undefined;
  }

  /** Seconds since its beginning: of what is live now, and of the picture. */
  get length() {
    return (Date.now() - this.#offset - this.#beginning) / 1000;
  }

  get place() {
    const shown = this.#playback.hls?.playingDate;
    return shown ? (Number(shown) - this.#beginning) / 1000 : this.length;
  }

  seek(seconds) {
    if (!this.isSeekable) return;
    const newest = Math.max(0, this.length - DVR_BEHIND);
    // A step back from live goes to the newest second that lies behind it.
    if (seconds > newest && seconds > this.place - 1) this.#playback.goLive();
    else this.#playback.goBack(this.#beginning + Math.max(0, Math.min(seconds, newest)) * 1000);
  }

  pause() {
    this.#pausedAt = { place: this.isSeekable ? this.place : undefined, at: performance.now() };
    this.#playback.isPausedByUser = true;
  }

  resume() {
    const { place, at } = this.#pausedAt ?? {};
    this.#pausedAt = undefined;
    const isLong = performance.now() - at > SHORT_PAUSE * 1000;
    if (place !== undefined && isLong && !this.#playback.isDvr && this.isSeekable) this.seek(place);
    else this.#playback.play();
  }

  #refresh() {
    const { state, hls, isDvr } = this.#playback;
    if (state !== 'playing' && state !== 'stalled') {
      this.#bar.hidden = true;
      if (state === 'waiting') this.#askAt = 0;
      return;
    }
    if (!isDvr) this.#noteEdge();
    void this.#askForBeginning();
    const behind = this.isSeekable ? this.length - this.place : hls?.latency;
    this.#showBehind(behind);
    this.#bar.hidden = !this.isSeekable;
    if (!this.isSeekable || this.#isDragging) return;
    this.#bar.max = String(Math.max(1, Math.round(this.length)));
    this.#bar.value = String(Math.round(isDvr ? this.place : this.length));
    this.#describe(Number(this.#bar.value));
  }

  #noteEdge() {
    const { hls } = this.#playback;
    const shown = hls?.playingDate;
    if (shown && hls.latency > 0) this.#offset = Date.now() - Number(shown) - hls.latency * 1000;
  }

  /** Again after each break, and once more where nothing of it was written yet. */
  async #askForBeginning() {
    const { source, hls } = this.#playback;
    if (!hls || performance.now() < this.#askAt) return;
    this.#askAt = this.#askAt === 0 ? performance.now() + UNWRITTEN : Number.POSITIVE_INFINITY;
    this.#beginning = await beginningOf(source, { token: this.#token });
    if (this.#beginning !== undefined) this.#askAt = Number.POSITIVE_INFINITY;
  }

  #showBehind(seconds) {
    const isLive = !this.#playback.isDvr && seconds <= (this.#playback.hls?.targetLatency ?? 2) + LATE;
    this.#live.classList.toggle('is-live', isLive);
    const known = Number.isFinite(seconds) && seconds > 0;
    this.#behind.textContent = known ? `−${seconds < 10 ? `${seconds.toFixed(1)} s` : clockOf(seconds)}` : '';
    const words = known ? `${Math.round(seconds)} s behind live` : 'live';
    this.#live.setAttribute('aria-label', isLive ? `LIVE, ${words}` : `LIVE, ${words}. Go to live`);
  }

  #describe(seconds) {
    const behind = Math.max(0, this.length - seconds);
    const words = behind < DVR_BEHIND ? 'live' : `${clockOf(behind)} behind live`;
    this.#bar.setAttribute('aria-valuetext', words);
    this.#bar.title = words;
  }
}

/** 75 → 1:15 */
function clockOf(seconds) {
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (parts[0] === 0) parts.shift();
  return parts.map((part, index) => (index ? String(part).padStart(2, '0') : String(part))).join(':');
}
