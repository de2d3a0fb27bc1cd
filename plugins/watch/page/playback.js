/**
 * Plays what is behind an id, and keeps at it. A live stream, `/hls/{playbackId}/index.m3u8`: nothing on, the server gone,
 * the broadcast back after a break, a broken buffer. One hls.js instance lives as long as the page does. An asset or a
 * recording is handed over to `film.js` for good.
 *
 * States: `waiting` (nothing to play, asking now and then), `ready` (there is a broadcast, and nobody pressed play yet),
 * `loading`, `playing`, `stalled` (the picture stands still although something should be on), `film`.
 */
import { placeOf } from './dvr.js';
import { playFilm } from './film.js';
import { liveConfig } from './live-config.js';
import { INTERRUPTED, lookUp, statusOf, withToken } from './look-up.js';
import { bufferedEnd, Pace } from './pace.js';

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 5000;
/** Seconds without a new picture, while the playlist moves on, after which the next remedy is tried. */
const REMEDIES = [
  { after: 0.75, cure: 'stepForward' },
  { after: 3, cure: 'seekToLive' },
  { after: 10, cure: 'rebuildBuffers' },
  { after: 20, cure: 'loadAnew' },
];
/** A playlist that did not move for so long says that nobody sends: no remedy helps, waiting does. */
const FRESH = 5000;
/** Without a stall for so long, the delay goes back to what the playlist asks for. */
const CALM = 20_000;
/** From here on after the first picture a stall makes the delay longer, by this many seconds. */
const SETTLED = 5000;
const STALL_INCREASE = 0.25;
/** How often the server is asked why the picture stands still. */
const EXPLAIN = 2000;
/** Seconds behind the wanted delay from which catching up by speed would take too long. */
const TOO_FAR = 6;
/** A DVR picture that stands still for so long is loaded anew, seconds. */
const DVR_PATIENCE = 10;

export class Playback {
  /** For tests and for whoever looks into a problem. `log` keeps the last 200 events. */
  hls = null;
  state = 'loading';
  fatalErrors = 0;
  log = [];
  isPausedByUser = false;
  /** The playlist of the whole broadcast so far is played, in place of that of the last seconds. */
  isDvr = false;
  /** Path of the playlist of the live stream: of a session that is on the air, that of its stream. */
  source;
  /** What `lookUp` said last. */
  found = null;

  #id;
  #Hls;
  #show;
  #token;
  #isWanted;
  #start;
  #dvrAt;
  #waiting = 0;
  #advancedAt = 0;
  #stalledAt = 0;
  #rebuiltAt = 0;
  #explainedAt = 0;
  #pace = new Pace();
  #still = { since: performance.now(), at: -1, freshSince: 0, tried: 0 };

  /**
   * @param options `video`: the element. `Hls`: its class, undefined where the browser plays HLS by itself. `show` is called
   * with each change, `{ state, message, recording }`; `recording` is the id of what a stream showed last. `token`: sent
   * with each request. `isWanted`: false waits for `play` where there is something to play at once. `start`: seconds into
   * a film
   */
  constructor(id, { video, Hls, show, token = '', isWanted = true, start = 0 }) {
    this.#id = id;
    this.video = video;
    this.#Hls = Hls;
    this.#show = show;
    this.#token = token;
    this.#isWanted = isWanted;
    this.#start = start;
    this.source = `/hls/${encodeURIComponent(id)}/index.m3u8`;
    setInterval(() => this.#watchPicture(), 500);
    setInterval(() => this.#keepPace(), 100);
    video.addEventListener('playing', () => this.#become(this.state === 'film' ? 'film' : 'playing', ''));
    video.addEventListener('playing', () => setTimeout(() => this.#countStalls(), SETTLED), { once: true });
    video.addEventListener('ended', () => this.state === 'film' || this.#waitForBroadcast(''));
    if (Hls) this.hls = this.#createPlayer();
    else video.addEventListener('error', () => this.state === 'film' || this.#waitForBroadcast(''));
    void this.#begin();
  }

  get isFilm() {
    return this.state === 'film';
  }

  play() {
    this.#want();
    if (this.state === 'ready') this.#load();
    else this.#play();
  }

  pause() {
    this.isPausedByUser = true;
    this.video.pause();
  }

  /** Nearest to live, however the picture is now. */
  goLive() {
    this.#want();
    if (this.isDvr || this.state === 'ready') this.#load();
    else this.seekToLive();
  }

  /** Plays the broadcast from a moment of its past on, epoch ms. Only where it is recorded and hls.js plays. */
  goBack(to) {
    this.#want();
    this.#dvrAt = to;
    if (this.isDvr) this.#seekInDvr(this.hls.latestLevelDetails);
    else this.#load({ isDvr: true });
  }

  #want() {
    this.isPausedByUser = false;
    this.#isWanted = true;
  }

  seekToLive() {
    const { hls, video } = this;
    const edge = hls ? hls.liveSyncPosition : video.seekable.length > 0 ? video.seekable.end(0) - 3 : null;
    // Never back: while nobody sends, the wanted place lies behind the last picture.
    if (edge === null || edge < video.currentTime + 0.5) {
      this.#play();
      return;
    }
    this.note(`seek from ${video.currentTime.toFixed(1)} to ${edge.toFixed(1)}`);
    video.currentTime = edge;
    this.#play();
  }

  note(text) {
    this.log.push({ at: Date.now(), text });
    if (this.log.length > 200) this.log.shift();
  }

  #createPlayer() {
    const { Events, ErrorDetails, ErrorTypes } = this.#Hls;
    const hls = new this.#Hls({ ...liveConfig(), ...withToken(this.#token).hls });
    hls.on(Events.MANIFEST_PARSED, () => this.#play());
    hls.on(Events.LEVEL_UPDATED, (_, { details }) => this.#noteLevel(details));
    hls.on(Events.ERROR, (_, data) => {
      this.note(
        `${data.fatal ? 'fatal ' : ''}${data.details} ${data.response?.code ?? data.error?.message ?? ''}`,
      );
      if (data.details === ErrorDetails.BUFFER_STALLED_ERROR) this.#stalledAt = performance.now();
      const isGone = data.response?.code === 404 || data.response?.code === 410;
      if (data.fatal) {
        this.fatalErrors += 1;
        // After the handlers of hls.js itself, which still see this error.
        if (data.type === ErrorTypes.MEDIA_ERROR) setTimeout(() => this.rebuildBuffers());
        else setTimeout(() => this.loadAnew());
      } else if (isGone && /^(level|manifest)Load/.test(data.details)) {
        setTimeout(() => this.#waitForBroadcast('', 0));
      }
    });
    hls.attachMedia(this.video);
    return hls;
  }

  #noteLevel(details) {
    const { hls } = this;
    if (details.advanced) this.#noteAdvance();
    if (this.isDvr) {
      if (this.#dvrAt !== undefined) this.#seekInDvr(details);
      return;
    }
    // hls.js adds to the delay with each stall, but never takes that back.
    const wanted = details.partHoldBack;
    const isCalm = performance.now() - this.#stalledAt > CALM && hls.targetLatency > wanted;
    if (details.partHoldBack > 0 && (isCalm || hls.config.liveSyncDuration !== wanted))
      hls.targetLatency = wanted;
  }

  #seekInDvr(details) {
    const target = placeOf(this.#dvrAt, details?.fragments ?? []);
    if (target === undefined) return;
    this.#dvrAt = undefined;
    this.note(`back to ${target.toFixed(1)}`);
    if (this.video.readyState > 0) this.video.currentTime = target;
    // After hls.js itself has chosen where to begin.
    else setTimeout(() => this.hls.startLoad(target));
    this.#play();
  }

  #countStalls() {
    if (this.hls) this.hls.config.liveSyncOnStallIncrease = STALL_INCREASE;
  }

  async #begin() {
    this.#become('loading', 'Looking for the video …');
    const turn = ++this.#waiting;
    const found = await this.#find();
    if (turn !== this.#waiting) return;
    if (found.is === 'film') return this.#showFilm();
    const isReady = !this.#isWanted && (await statusOf(this.source, { token: this.#token })) === 200;
    if (turn !== this.#waiting) return;
    if (isReady) this.#become('ready', '');
    else void this.#waitForBroadcast(found.message, 0);
  }

  /**
   * Asks what there is to play, first after `firstWait` ms and then less and less often, and plays once it is there. Says
   * why there is nothing.
   */
  async #waitForBroadcast(message, firstWait = FIRST_WAIT) {
    if (this.state === 'waiting' || this.state === 'film') return;
    this.#become('waiting', message);
    this.hls?.stopLoad();
    const turn = ++this.#waiting;
    for (let wait = firstWait; ; wait = Math.min(Math.max(wait * 1.4, FIRST_WAIT), LONGEST_WAIT)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (turn !== this.#waiting) return;
      const { is, isOn, message, recording } = await this.#find();
      if (turn !== this.#waiting) return;
      if (is === 'film') return this.#showFilm();
      this.#become('waiting', message, recording);
      // A browser complains of each 404. Where nobody knows, the playlist does.
      const answer = isOn === false ? 404 : await statusOf(this.source, { token: this.#token });
      if (turn !== this.#waiting) return;
      if (answer === 200) break;
    }
    // Whoever waited for it wants to see it, and nobody asked for its sound.
    if (!this.#isWanted) this.video.muted = true;
    this.#isWanted = true;
    this.#load();
  }

  async #find() {
    const found = await lookUp(this.#id, { token: this.#token });
    this.found = found;
    // A session is found by its own id, and played by its stream's.
    this.source = found.source ?? this.source;
    return found;
  }

  /** An asset or a recording stays one: what watches over a live picture ends. */
  #showFilm() {
    this.#waiting += 1;
    this.hls?.destroy();
    this.video.playbackRate = 1;
    this.#become('film', '');
    const isThere = async () => {
      const { is, message = '' } = await lookUp(this.#id, { token: this.#token });
      this.#become('film', message);
      return is === 'film';
    };
    this.hls = playFilm(this.found.sources, {
      ...{ video: this.video, Hls: this.#Hls, isThere, note: (text) => this.note(text) },
      ...{ token: this.#token, start: this.#start, isWanted: () => this.#isWanted && !this.isPausedByUser },
    });
  }

  /** While the picture stands still: whether the broadcaster's connection dropped. */
  async #explain() {
    if (performance.now() - this.#explainedAt < EXPLAIN) return;
    this.#explainedAt = performance.now();
    const { is, message } = await lookUp(this.#id, { token: this.#token });
    // What starts was never gone: the fault is elsewhere.
    if (this.state === 'stalled' && (is === 'unreachable' || message === INTERRUPTED))
      this.#become('stalled', message);
  }

  #load({ isDvr = false } = {}) {
    this.#waiting += 1;
    this.isDvr = isDvr;
    this.#become('loading', isDvr ? '' : 'The broadcast is starting …');
    this.#restartClock();
    const source = isDvr ? `${this.source}?dvr=1` : this.source;
    this.video.playbackRate = 1;
    if (this.hls) this.hls.loadSource(source);
    else {
      this.video.src = withToken(this.#token).url(source);
      this.#play();
    }
  }

  #play() {
    if (this.isPausedByUser || !this.#isWanted) return;
    this.video.play().catch((error) => {
      // An interrupted attempt is followed by another; a forbidden one needs a press of the button.
      if (error.name === 'NotAllowedError') this.isPausedByUser = true;
      this.#show({ state: this.state, isForbidden: error.name === 'NotAllowedError' });
    });
  }

  /** Twice a second: is the picture moving, and if not, what helps? */
  #watchPicture() {
    const now = performance.now();
    const { hls, state, video } = this;
    const still = this.#still;
    if (state === 'film') return;
    const hasMoved = video.currentTime !== still.at;
    if (hasMoved || this.isPausedByUser || document.hidden || state === 'waiting' || state === 'ready') {
      this.#restartClock();
      if (hasMoved && state === 'stalled') this.#become('playing', '');
      if (this.isDvr || state !== 'playing' || !hls || this.isPausedByUser) return;
      if (hls.latency > (hls.targetLatency ?? 2) + TOO_FAR) this.seekToLive();
      return;
    }
    const seconds = (now - still.since) / 1000;
    if (seconds > 1.5 && state === 'playing')
      this.#become('stalled', 'The picture stands still. It goes on here by itself …');
    if (this.state === 'stalled') void this.#explain();
    if (this.isDvr) {
      if (seconds > DVR_PATIENCE) this.loadAnew();
      return;
    }
    const remedy = REMEDIES[still.tried];
    if (!hls || still.freshSince === 0 || now - this.#advancedAt > FRESH) return;
    const waited = (now - still.freshSince) / 1000;
    if (waited < remedy.after) return;
    still.tried = (still.tried + 1) % REMEDIES.length;
    if (still.tried === 0) still.freshSince = now;
    this.note(`still for ${seconds.toFixed(1)} s: ${remedy.cure}`);
    this[remedy.cure]();
    // The step itself is no picture that moves.
    still.at = video.currentTime;
  }

  /** Ten times a second: nearer to live, or no further from it, by the speed of playing. */
  #keepPace() {
    const { hls, state, video } = this;
    if (state === 'film' || this.isDvr) return;
    const details = hls?.latestLevelDetails;
    if (!details || state !== 'playing' || video.paused || video.seeking || !hls.targetLatency) {
      this.#pace.reset();
      return;
    }
    const rate = this.#pace.next({
      behind: details.edge + details.age - video.currentTime,
      wanted: hls.targetLatency,
      ahead: bufferedEnd(video) - video.currentTime,
      now: performance.now(),
    });
    if (video.playbackRate !== rate) video.playbackRate = rate;
  }

  #restartClock() {
    Object.assign(this.#still, {
      since: performance.now(),
      at: this.video.currentTime,
      freshSince: 0,
      tried: 0,
    });
  }

  /** After a break the remedies begin anew: what was tried while nobody sent could not help. */
  #noteAdvance() {
    const now = performance.now();
    const still = this.#still;
    if (still.freshSince === 0 || now - this.#advancedAt > FRESH) {
      still.freshSince = now;
      still.tried = 0;
    }
    this.#advancedAt = now;
  }

  /**
   * Where audio ends before the pictures of its segment do, hls.js takes the next segment for loaded and waits
   * for ever. Over the seam it goes on.
   */
  stepForward() {
    const { hls, video } = this;
    const edge = hls.latestLevelDetails?.edge ?? 0;
    const target = Math.max(bufferedEnd(video) + 0.15, hls.liveSyncPosition ?? 0);
    if (this.state === 'loading' || edge < target + 0.3) return;
    this.note(`step from ${video.currentTime.toFixed(2)} to ${target.toFixed(2)}`);
    video.currentTime = target;
  }

  /** A second failure right after the first one needs more than new buffers. */
  rebuildBuffers() {
    const now = performance.now();
    if (now - this.#rebuiltAt < 8000) return this.loadAnew();
    this.#rebuiltAt = now;
    this.hls.recoverMediaError();
    this.#play();
  }

  loadAnew() {
    void this.#waitForBroadcast('The broadcast is starting again …', 250);
  }

  #become(state, message, recording) {
    if (this.state !== state) this.note(`${this.state} → ${state}`);
    this.state = state;
    this.#show({ state, message, recording });
  }
}
