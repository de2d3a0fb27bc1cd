import type { LiveReading, Vitals } from '../../core/ports/media.ts';

/** What is too much or too little; times in ms. */
const at = {
  /** How long a problem is shown after it was last seen. */
  clearAfter: 5000,
  /** Readings, one a second, that rates are computed from. */
  readings: 5,
  /** No media received at all. */
  stall: 2000,
  /** Media time between key frames: 4 s, and what rounding adds. */
  keyFrames: 4050,
  /** No media of a track that was there or announced. */
  missing: 3000,
  /** Age of a publish before its rates are judged: encoders begin with a burst. Also after a delay of the server itself. */
  settled: 4000,
  /** Of the usual bitrate: a bitrate below has collapsed. */
  collapse: 0.15,
  /** Usual bitrate below which no collapse is reported, bit/s. */
  collapseFrom: 300_000,
  /** Age of a publish before a collapse is reported. Usual is an average over about 30 s. */
  usualFrom: 15_000,
  /** Of the announced frame rate. */
  fewFrames: 0.7,
  manyFrames: 1.5,
  /** Standard deviation of the steps between frames, of their mean. */
  irregular: 0.6,
  /** Difference of the delay with which media arrives, within 5 s. */
  jitter: 1000,
  /** Media missing within 5 s. */
  dropped: 300,
  /** Sound ahead of or behind the picture. */
  drift: 1000,
};

/** Health of a publish over the last seconds. */
export interface Verdict {
  /** In plain words. */
  readonly issues: readonly string[];
  /** Frames per second as they arrive. */
  readonly fps: number;
  /** Seconds between key frames, including the awaited one. */
  readonly keyFrameInterval: number;
  /** ms */
  readonly jitter: number;
  /** Media missing since the last look, ms. */
  readonly dropped: number;
  /** Messages since the last look that came 2 s late or more. */
  readonly late: number;
}

/** Judges one publish by readings of about once a second. It has no clock of its own. */
export class Judge {
  readonly #maxBitrate: number;
  readonly #shownUntil = new Map<IssueName, number>();
  #looks: Look[] = [];
  #beganAt = 0;
  #usualRate = 0;
  /** Rates are judged `settled` after this, epoch ms. */
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

    if (isPublishing) {
      const quiet = now - Math.max(figures.lastMediaAt, this.#beganAt);
      // After a delay of this process media may have arrived unseen.
      if (!isDelayed && quiet > at.stall) this.#see('stall', now);
      // During a stall all other flow issues follow from it.
      else if (!isDelayed) this.#watchFlow(vitals, { now, age, window, rate: figures.ingestRate });
      if (interval > at.keyFrames) this.#see('keyFrames', now);
      if (vitals.jitter > at.jitter) this.#see('jitter', now);
      if (window.late > 0) this.#see('late', now);
      if (window.dropped > at.dropped) this.#see('dropped', now);
      if (vitals.codecs.some((codec) => !isVideoForAll(codec))) this.#see('videoCodec', now);
      if (vitals.codecs.some((codec) => !isAudioForAll(codec))) this.#see('audioCodec', now);
    }
    return {
      // While the connection is lost, that is the only issue.
      issues: isPublishing ? this.#shown(now) : [issueTexts.held],
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

  /** While nothing could be seen, issues neither begin nor end. */
  #suspend(now: number): void {
    this.#unsettledAt = now;
    for (const [name, until] of this.#shownUntil)
      if (now < until) this.#shownUntil.set(name, now + at.settled + at.clearAfter);
  }

  #see(name: IssueName, now: number): void {
    this.#shownUntil.set(name, now + at.clearAfter);
  }

  #shown(now: number): string[] {
    return issueNames
      .filter((name) => now < (this.#shownUntil.get(name) ?? 0))
      .map((name) => issueTexts[name]);
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
  /** By their timestamps, as delayed frames arrive in a burst. 0 when there are too few. */
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

/** H.264 profiles (`profile_idc`) that every browser decodes: Baseline, Main, Extended as Baseline, High. */
const profiles = new Set(['42', '4d', '58', '64']);
const videoNames = new Set(['avc1', 'avc3', 'hvc1', 'hev1', 'av01', 'vp08', 'vp09', 'dvh1', 'dvhe']);

/** By RFC 6381 name; true for anything but video. HEVC, AV1 and VP9 play on some devices only. */
export function isVideoForAll(codec: string): boolean {
  const [name, rest = ''] = codec.split('.');
  if (!videoNames.has(name)) return true;
  return name.startsWith('avc') && profiles.has(rest.slice(0, 2).toLowerCase());
}

/** The same for audio: AAC in all its profiles (`mp4a.40.*`) plays everywhere. */
export function isAudioForAll(codec: string): boolean {
  const [name, type] = codec.split('.');
  return videoNames.has(name) || (name === 'mp4a' && type === '40');
}

/** All issues, in plain words with what to do. */
export const issueTexts = {
  stall:
    'No media arrives. Check the network between encoder and server, and whether the encoder still runs.',
  keyFrames:
    'Key frames are more than 4 s apart. Set the key-frame interval of the encoder to 2 s (ffmpeg: -g, OBS: Keyframe Interval).',
  noKeyFrame:
    'The video has no key frame, so no player can start it. Set the key-frame interval of the encoder to 2 s.',
  bitrateLow:
    'The bitrate fell below a sixth of the usual one. Check the upload of the encoder; with a still picture this is harmless.',
  bitrateHigh: 'The bitrate is so high that many players will stall. Lower the video bitrate of the encoder.',
  framesIrregular:
    'Frames come at irregular times, so the picture stutters. Use a constant frame rate, and check whether the encoder is overloaded.',
  framesFew:
    'There are fewer frames than the encoder announced. Check whether it is overloaded or drops frames.',
  framesMany: 'There are far more frames than the encoder announced. Set its frame rate to what it sends.',
  jitter:
    'Media arrives unevenly, by more than a second. Use a wired network or a lower bitrate at the encoder.',
  late: 'Media arrives 2 s or more late, so players run out of it. Lower the bitrate or improve the upload of the encoder.',
  dropped:
    'Parts of the media are missing. The encoder drops them, mostly because its upload is too slow: lower its bitrate.',
  drift:
    'Sound and picture are more than a second apart. Check the audio source and its delay at the encoder.',
  videoMissing: 'The picture is missing. Check the video source of the encoder.',
  audioMissing: 'The sound is missing. Check the audio source of the encoder, or switch its audio off.',
  videoCodec:
    'Not all browsers can play this video codec. Use H.264 with 8 bits and 4:2:0 (Baseline, Main or High), which plays everywhere.',
  audioCodec: 'Not all browsers can play this audio codec. Use AAC, which plays everywhere.',
  held: 'The connection of the encoder was lost; the broadcast continues if it reconnects in time. Check its network, and start it again if it does not reconnect by itself.',
} as const;

export type IssueName = keyof typeof issueTexts;

export const issueNames = Object.keys(issueTexts) as IssueName[];
