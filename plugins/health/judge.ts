import type { LiveReading, Vitals } from '../../core/ports/media.ts';
import { isAudioForAll, isVideoForAll } from './codecs.ts';
import { bitOf, type IssueName, issueNames } from './issues.ts';
import { thresholds as at } from './limits.ts';

/** How a publish does, by what was read over the last seconds. */
export interface Verdict {
  /** Issues as bits, see `bitOf`. */
  readonly issues: number;
  /** Frames per second as they arrive. */
  readonly fps: number;
  /** Seconds between key frames, the one that is awaited included. */
  readonly keyFrameInterval: number;
  /** ms */
  readonly jitter: number;
  /** Media missing since the last look, ms. */
  readonly dropped: number;
  /** Messages since the last look that came 2 s late or more. */
  readonly late: number;
}

/** Judges one publish by readings of about once a second. It keeps a handful of them, and no time but theirs. */
export class Judge {
  readonly #maxBitrate: number;
  readonly #shownUntil = new Float64Array(issueNames.length);
  #looks: Look[] = [];
  #beganAt = 0;
  #usualRate = 0;
  /** Rates mean something from `settled` after this, epoch ms. */
  #unsettledAt = 0;

  /** @param options.maxBitrate bit/s beyond which players stall */
  constructor(options: { maxBitrate: number }) {
    this.#maxBitrate = options.maxBitrate;
  }

  look({ vitals, figures, isPublishing, isDelayed }: LiveReading, now: number): Verdict {
    if (this.#beganAt === 0) this.#beganAt = this.#unsettledAt = now;
    if (isDelayed) this.#suspend(now);
    const last = this.#looks.at(-1)?.vitals ?? vitals;
    this.#looks.push({ now, vitals });
    if (this.#looks.length > at.readings + 1) this.#looks.shift();
    const age = now - this.#beganAt;
    const window = over(this.#looks);
    const waiting = vitals.keyTime < 0 ? 0 : vitals.videoTime - vitals.keyTime;
    const interval = Math.max(vitals.keyInterval, waiting);

    if (!isPublishing) this.#see('held', now);
    else {
      const quiet = now - Math.max(figures.lastMediaAt, this.#beganAt);
      // What this process has not seen may have come all the same.
      if (!isDelayed && quiet > at.stall) this.#see('stall', now);
      // Of what does not come at all nothing more needs to be said.
      else if (!isDelayed) this.#watchFlow(vitals, { now, age, window, rate: figures.ingestRate });
      if (interval > at.keyFrames) this.#see('keyFrames', now);
      if (vitals.jitter > at.jitter) this.#see('jitter', now);
      if (window.late > 0) this.#see('late', now);
      if (window.dropped > at.dropped) this.#see('dropped', now);
      if (vitals.codecs.some((codec) => !isVideoForAll(codec))) this.#see('videoCodec', now);
      if (vitals.codecs.some((codec) => !isAudioForAll(codec))) this.#see('audioCodec', now);
    }
    return {
      issues: this.#shown(now, { isPublishing }),
      fps: isPublishing ? window.fps : 0,
      keyFrameInterval: interval / 1000,
      jitter: vitals.jitter,
      dropped: vitals.gapTime - last.gapTime,
      late: vitals.late - last.late,
    };
  }

  #watchFlow(vitals: Vitals, flow: { now: number; age: number; window: Window; rate: number }): void {
    const { now, age, window, rate } = flow;
    this.#watchTracks(vitals, { now, age });
    if (now - this.#unsettledAt < at.settled) return;
    if (rate > this.#maxBitrate) this.#see('bitrateHigh', now);
    const usual = this.#usualRate;
    if (age > at.usualFrom && usual > at.collapseFrom && rate < usual * at.collapse)
      this.#see('bitrateLow', now);
    this.#usualRate += usual === 0 ? rate : (rate - usual) / 30;
    if (vitals.frames === 0 || now - vitals.videoAt > at.missing) return;
    const { frameRate } = vitals;
    const { sentFps } = window;
    if (frameRate > 0 && sentFps > 0 && sentFps < frameRate * at.fewFrames) this.#see('framesFew', now);
    if (frameRate > 0 && sentFps > frameRate * at.manyFrames) this.#see('framesMany', now);
    if (window.frames >= 10 && window.unevenness > at.irregular) this.#see('framesIrregular', now);
  }

  #watchTracks(vitals: Vitals, { now, age }: { now: number; age: number }): void {
    const { videoAt, audioAt, videoTime, audioTime } = vitals;
    const videoSince = now - Math.max(videoAt, this.#beganAt);
    const audioSince = now - Math.max(audioAt, this.#beganAt);
    if ((vitals.expectsVideo || videoAt > 0) && videoSince > at.missing) this.#see('videoMissing', now);
    if ((vitals.expectsAudio || audioAt > 0) && audioSince > at.missing) this.#see('audioMissing', now);
    if (vitals.frames > 0 && vitals.keyFrames === 0 && age > at.missing) this.#see('noKeyFrame', now);
    const areBoth = videoTime >= 0 && audioTime >= 0 && videoSince < 1000 && audioSince < 1000;
    if (areBoth && Math.abs(vitals.soundLead) > at.drift) this.#see('drift', now);
  }

  /** Of what could not be seen nothing is known: neither that something is wrong, nor that it is over. */
  #suspend(now: number): void {
    this.#unsettledAt = now;
    for (const [index, until] of this.#shownUntil.entries())
      if (now < until) this.#shownUntil[index] = now + at.settled + at.clearAfter;
  }

  #see(name: IssueName, now: number): void {
    this.#shownUntil[issueNames.indexOf(name)] = now + at.clearAfter;
  }

  /** While the connection is lost that alone is to be said; when it is back it is said no more. */
  #shown(now: number, { isPublishing }: { isPublishing: boolean }): number {
    if (!isPublishing) return bitOf('held');
    let bits = 0;
    for (const [index, until] of this.#shownUntil.entries()) if (now < until) bits |= 1 << index;
    return bits & ~bitOf('held');
  }
}

interface Look {
  readonly now: number;
  readonly vitals: Vitals;
}

/** What happened between the oldest look and the newest. */
interface Window {
  readonly frames: number;
  /** As they arrived. */
  readonly fps: number;
  /** By their stamps: what was held up on its way comes in a burst later. 0 when there are too few to tell. */
  readonly sentFps: number;
  readonly unevenness: number;
  readonly dropped: number;
  readonly late: number;
}

function over(looks: readonly Look[]): Window {
  const [first, last] = [looks[0], looks[looks.length - 1]];
  const [a, b] = [first.vitals, last.vitals];
  const seconds = (last.now - first.now) / 1000;
  const frames = b.frames - a.frames;
  const mean = (b.stepTime - a.stepTime) / Math.max(1, frames);
  const variance = (b.stepSquares - a.stepSquares) / Math.max(1, frames) - mean * mean;
  return {
    frames,
    fps: seconds > 0 ? frames / seconds : 0,
    sentFps: b.stepTime - a.stepTime >= 1000 ? 1000 / mean : 0,
    unevenness: mean > 0 ? Math.sqrt(Math.max(0, variance)) / mean : 0,
    dropped: b.gapTime - a.gapTime,
    late: b.late - a.late,
  };
}
