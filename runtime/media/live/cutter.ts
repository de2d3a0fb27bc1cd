import { OUT_OF_MEMORY } from '../publish/memory-budget.ts';
import type { Arena } from '../publish/sink.ts';
import { type OutputConfig, segmentLimit } from './config.ts';
import { CutRule, NOTHING, SEGMENT, SHORTEST } from './cut-rule.ts';
import { issues } from './issues.ts';
import { AUDIO, type Timeline } from './timeline.ts';
import { AUDIO_TRACK, Track, VIDEO_TRACK } from './track.ts';
import { type AudioHeader, initOf, TrackSelection, type VideoHeader } from './track-selection.ts';
import type { LiveWindow } from './window.ts';

export interface CutterOptions {
  readonly arenas: { readonly video: Arena; readonly audio: Arena };
  readonly config: OutputConfig;
  readonly window: LiveWindow;
  readonly timeline: Timeline;
  onPlayable(): void;
  onIssue(text: string): void;
  onFatal(reason: string): void;
}

/**
 * Decides where parts and segments of a publish begin and end. Video leads; audio does when there is no video.
 *
 * It waits until it knows which tracks there are, begins at a key frame, and begins anew (another init behind
 * a discontinuity) whenever the set of tracks or a header changes.
 */
export class Cutter {
  readonly selection = new TrackSelection({ patience: segmentLimit * 1000 });
  readonly #options: CutterOptions;
  readonly #video: Track;
  readonly #audio: Track;
  readonly #rule: CutRule;
  #lead: Track;
  #isRunning = false;
  #hasVideo = false;
  #hasAudio = false;
  /** How far media had come when a message of the track last came: one that lags is not gone. */
  #videoSeen = 0;
  #audioSeen = 0;
  /** Media time since which pictures come that nothing can begin with, milliseconds; -1: none do. */
  #keylessSince = -1;
  #arrival = 0;
  /** Epoch milliseconds of the media time 0 of the output's timeline. */
  #epoch: number | undefined;
  #cursor = 0;
  /** By how much pictures are shown later than they are decoded, ticks of the lead. */
  #delay = 0;
  #end = 0;
  #begins = 0;
  #beginsSince = 0;

  constructor(options: CutterOptions) {
    this.#options = options;
    const limit = options.config.sampleLimit;
    const { video, audio } = options.arenas;
    this.#video = new Track({ id: VIDEO_TRACK, isVideo: true, arena: video, timescale: 90_000, limit });
    this.#audio = new Track({ id: AUDIO_TRACK, isVideo: false, arena: audio, timescale: 48_000, limit });
    this.#lead = this.#video;
    this.#rule = new CutRule(options.config);
  }

  get segments(): number {
    return this.#rule.segments;
  }

  /** Where the media cut so far ends, milliseconds on the output's timeline. */
  get end(): number {
    return this.#end;
  }

  /** No sample of the track waits. */
  isEmpty(track: number): boolean {
    return (track === AUDIO ? this.#audio : this.#video).count === 0;
  }

  /** A new video header. Returns by how much the video arena moved. */
  configureVideo(header: VideoHeader): number {
    const isChange = this.#hasVideo;
    this.selection.video = header;
    this.selection.isVideoGone = this.selection.isVideoRefused = false;
    if (!isChange) return this.#isRunning ? 0 : this.#video.dropBefore(Number.POSITIVE_INFINITY);
    return this.#stop(this.#video.count, -1);
  }

  /** A new audio header. Returns by how much the audio arena moved. */
  configureAudio(header: AudioHeader): number {
    this.selection.isAudioRefused = false;
    if (this.#isRunning && this.#hasVideo) {
      this.selection.nextAudio = header;
      return 0;
    }
    const held = this.#audio.arena.length;
    if (this.#isRunning) this.#stop(0, -1);
    else if (this.selection.audio !== undefined) {
      this.#audio.dropBefore(Number.POSITIVE_INFINITY);
    }
    this.#useAudio(header);
    return held - this.#audio.arena.length;
  }

  /**
   * A frame lies in the video arena. `time` in milliseconds on the output's timeline, `cts` in milliseconds.
   * False when it is not needed. Numbers one by one, because this is called for every frame.
   */
  video(at: number, end: number, time: number, cts: number, isKey: boolean, now: number): boolean {
    const track = this.#video;
    this.#videoSeen = this.#options.timeline.latest;
    const isOpen = this.#isRunning ? this.#hasVideo : track.count > 0;
    if (!isOpen && !isKey) return this.#missKey();
    this.#keylessSince = -1;
    // Whole milliseconds, as they came. Putting them on the grid of the frame rate would be smoother, but
    // browsers keep buffered ranges in microseconds, each frame rounded down, and hls.js 1.7 never asks for
    // the part behind a segment whose end the range does not quite reach (tried: it stands still at 2.066999).
    const dts = Math.max(Math.round(time * 90), track.newest + 1);
    const wait = track.count > 0 ? dts - track.newest : 0;
    const isGap = wait > GAP * track.timescale && wait > track.usual * 3;
    if (wait > 0 && !isGap) track.usual = wait;
    if (track.count === 0 && !this.#isRunning) this.#arrival = now;
    let offset = cts * 90;
    if (Math.abs(offset) > CTS_LIMIT) {
      offset = 0;
      this.#options.onIssue(issues.compositionRange);
    }
    if (!track.push(dts, offset, at, end - at, isKey ? 1 : 0)) return this.#flood();
    if (!this.#isRunning) this.#consider(now);
    else if (!this.#hasVideo || (isKey && (isGap || this.#isTrackSetStale(time)))) {
      if (!this.#hasVideo) this.#arrival = now;
      this.selection.isVideoGone = false;
      // A gap is not stretched over: viewers go on with what is new, behind a discontinuity.
      this.#stop(track.count - 1, isGap ? dts - wait + Math.round(track.usual) : dts);
      this.#consider(now);
    } else this.#drain();
    return true;
  }

  /** The same for a frame in the audio arena, of `length` samples; 0: as its header says. */
  audio(at: number, end: number, time: number, length: number, now: number): boolean {
    const track = this.#audio;
    this.#audioSeen = this.#options.timeline.latest;
    if (this.#isRunning && !this.#hasAudio) {
      // It came late, or came back: the next key frame begins with it.
      this.selection.nextAudio ??= this.selection.audio;
      this.selection.isAudioGone = false;
      return false;
    }
    if (this.selection.nextAudio !== undefined) return false;
    if (track.count === 0 && !this.#isRunning && this.#video.count === 0) this.#arrival = now;
    const { timeline } = this.#options;
    const tolerance = timeline.isStill(AUDIO)
      ? Number.POSITIVE_INFINITY
      : timeline.isByArrival(AUDIO)
        ? 0.3
        : 0.05;
    const dts = track.nextDts(time, tolerance);
    let moved = 0;
    if (this.#isRunning && this.#lead === track && dts - track.newest > GAP * track.timescale) {
      const held = track.arena.length;
      this.#stop(0, -1);
      moved = held - track.arena.length;
    }
    if (!track.push(dts, 0, at - moved, end - at, 1)) return this.#flood();
    if (length > 0) track.usual = length;
    if (!this.#isRunning) {
      this.selection.isAudioGone = false;
      this.#consider(now);
    } else if (this.#lead === track || time <= this.#videoSeen + GONE) this.#drain();
    else {
      this.#options.onIssue(issues.videoGone);
      this.selection.isVideoGone = true;
      this.#stop(this.#video.count, -1);
    }
    return true;
  }

  /** Cuts what is whole as the last part of the last segment. */
  flush(): void {
    if (this.#isRunning) this.#stop(this.#video.count, -1);
  }

  /** Ends without touching what waits in the arenas; what is listed stays. */
  abandon(): void {
    this.#isRunning = false;
    this.#options.window.closeSegment();
    this.#options.window.commit({ isLive: false });
  }

  /** A picture that cannot be the first. After the time of the longest segment it is said that no key frame comes. */
  #missKey(): false {
    const { latest } = this.#options.timeline;
    if (this.#keylessSince < 0) this.#keylessSince = latest;
    if (latest - this.#keylessSince >= segmentLimit * 1000) this.#options.onIssue(issues.noKeyFrame);
    return false;
  }

  #isTrackSetStale(time: number): boolean {
    if (this.selection.nextAudio !== undefined) return true;
    if (!this.#hasAudio || time < this.#audioSeen + GONE) return false;
    this.#options.onIssue(issues.audioGone);
    this.selection.isAudioGone = true;
    return true;
  }

  /** While it is not running: begins when it is known what there is. */
  #consider(now: number): void {
    const { latest } = this.#options.timeline;
    const hasPicture = this.#video.count > 0;
    const isMissing = !hasPicture && this.selection.awaitsKeyFrame;
    if (this.selection.canBegin(hasPicture, latest)) {
      if (isMissing) {
        this.#options.onIssue(issues.noKeyFrame);
        this.selection.isVideoGone = true;
      }
      this.#begin(now);
      // The sound before the key frame will not be needed.
    } else if (isMissing) this.#audio.dropBefore(latest - 1000);
  }

  #begin(now: number): void {
    const { window } = this.#options;
    if (now - this.#beginsSince > BEGINNINGS_WINDOW) {
      this.#beginsSince = now;
      this.#begins = 0;
    }
    this.#begins += 1;
    if (this.#begins > MOST_BEGINNINGS) {
      this.#options.onFatal(issues.tooManyChanges);
      return;
    }
    const hasVideo = this.#video.count > 0;
    const videoHeader = hasVideo ? this.selection.video : undefined;
    const audioHeader = this.selection.isAudioGone ? undefined : this.selection.audio;
    this.#hasVideo = hasVideo;
    this.#hasAudio = audioHeader !== undefined;
    this.#lead = hasVideo ? this.#video : this.#audio;
    if (hasVideo) this.#audio.dropBefore(this.#hasAudio ? this.#video.dts(0) / 90 : Number.POSITIVE_INFINITY);
    const start = this.#lead.dts(0);
    const time = (start / this.#lead.timescale) * 1000;
    // Never before what is listed: the last sound may outlast the picture by some milliseconds.
    this.#epoch = Math.max(this.#epoch ?? this.#arrival - time, window.wallEnd - time);
    window.begin(initOf(videoHeader, audioHeader, this.selection.frameRate));
    this.#videoSeen = this.#audioSeen = this.#options.timeline.latest;
    this.#isRunning = true;
    this.selection.settle();
    this.#rule.begin(start, { isFresh: window.isFresh, isAwaited: !window.hasListed });
    this.#cursor = 1;
    this.#delay = this.#hasVideo && this.#hasAudio ? Math.max(0, this.#lead.cts(0)) : 0;
    this.#drain();
  }

  /**
   * Cuts wherever one of the samples not yet looked at demands it, but for the last `rest` of them. `isLast`:
   * nothing more comes, so no sound is waited for.
   */
  #drain(rest = 0, isLast = false): void {
    const lead = this.#lead;
    const { window } = this.#options;
    while (this.#isRunning && this.#cursor < lead.count - rest) {
      const openBytes = window.open?.length ?? 0;
      const ends = this.#rule.ends(lead, this.#cursor, openBytes);
      if (ends === NOTHING) {
        this.#cursor += 1;
        continue;
      }
      const end = lead.dts(this.#cursor);
      if (!isLast && !this.#isSoundThere(end)) return;
      if (lead.isVideo && !lead.isSync(this.#cursor) && this.#rule.isLong(lead, end, openBytes))
        this.#options.onIssue(issues.cutWithoutKeyFrame);
      this.#cut(end, ends === SEGMENT);
    }
  }

  /**
   * Whether a part may end at `end` ticks of the lead. Its sound must reach the end of its pictures, which may be
   * shown later than they are decoded: hls.js 1.7 goes no further where the buffered range ends before the
   * part does, even by one frame of sound. Sound that lags is waited for only so long.
   */
  #isSoundThere(end: number): boolean {
    if (!this.#hasVideo || !this.#hasAudio) return true;
    const lead = this.#lead;
    const sound = (this.#audio.newest / this.#audio.timescale) * lead.timescale;
    return sound >= end + this.#delay || lead.newest - end >= this.#delay + SOUND_PATIENCE * lead.timescale;
  }

  /** Cuts a part of the samples before the cursor, which `end` follows. */
  #cut(end: number, isEnd: boolean): void {
    const lead = this.#lead;
    const other = lead === this.#video ? this.#audio : this.#video;
    lead.taken = this.#cursor;
    lead.until = end;
    if (this.#hasVideo && this.#hasAudio)
      other.takeBefore(((end + this.#delay) / lead.timescale) * other.timescale);
    if (this.#addPart(end, isEnd)) this.#cursor = 1;
  }

  #addPart(end: number, isEnd: boolean): boolean {
    const { window } = this.#options;
    const lead = this.#lead;
    const { partStart } = this.#rule;
    const start = (partStart / lead.timescale) * 1000;
    const isKept = window.addPart({
      runs: [this.#video, this.#audio],
      duration: (end - partStart) / lead.timescale,
      isIndependent: !lead.isVideo || lead.isSyncTaken,
      time: start,
      wallStart: (this.#epoch ?? 0) + start,
    });
    this.#video.forget();
    this.#audio.forget();
    if (!isKept) {
      this.#options.onFatal(window.isOutOfMemory ? OUT_OF_MEMORY : issues.tooMuchData);
      return false;
    }
    this.#rule.ended(end, isEnd);
    this.#end = (end / lead.timescale) * 1000;
    if (isEnd) window.closeSegment();
    window.commit({ isLive: this.#isRunning });
    if (isEnd && this.#rule.segments === 1) this.#options.onPlayable();
    return true;
  }

  /**
   * Ends the run: the first `count` frames of video and all audio become the last part, which ends at `end`
   * (-1: after the usual duration). What would be shorter than a segment may be is let go.
   * Returns by how much the video arena moved.
   */
  #stop(count: number, end: number): number {
    const { window } = this.#options;
    const held = this.#video.arena.length;
    const lead = this.#lead;
    const rest = this.#video.count - count;
    // What only waited for its sound is a part of its own, or the last would be longer than a part may be.
    if (lead.isVideo) this.#drain(rest, true);
    // False when the window had no room for it.
    const wasRunning = this.#isRunning;
    this.#isRunning = false;
    this.#video.takeAll(-1);
    if (rest > 0) {
      this.#video.taken = this.#video.count - rest;
      this.#video.until = end;
    }
    this.#audio.takeAll(-1);
    const until = lead.until;
    const isLong = (until - this.#rule.partStart) / lead.timescale >= SHORTEST;
    if (wasRunning && lead.taken > 0 && (window.open !== undefined || isLong)) this.#addPart(until, true);
    else {
      this.#video.forget();
      this.#audio.forget();
      if (window.open !== undefined) {
        window.closeSegment();
        window.commit({ isLive: false });
        this.#rule.ended(this.#rule.partStart, true);
      }
    }
    this.#hasVideo = this.#hasAudio = false;
    if (this.selection.nextAudio !== undefined) this.#useAudio(this.selection.nextAudio);
    return held - this.#video.arena.length;
  }

  #useAudio(header: AudioHeader): void {
    this.selection.nextAudio = undefined;
    if (this.#audio.timescale !== header.config.sampleRate) this.#audio.newest = -1;
    this.selection.audio = header;
    this.#audio.timescale = header.config.sampleRate;
    this.#audio.usual = header.config.frameLength;
  }

  #flood(): boolean {
    this.#options.onFatal(issues.tooManyFrames);
    return true;
  }
}

/** Media without anything of one of its tracks, ms: it goes on without that track. */
export const GONE = 5000;
/** How much longer than its pictures a part waits for its sound, seconds. */
const SOUND_PATIENCE = 0.1;
/** A longer pause between two frames is a gap, over which nothing is stretched; seconds. */
const GAP = 1;
/** How far a picture may be shown from when it is decoded, ticks of the video track: 10 s. */
const CTS_LIMIT = 10_000 * 90;
/** Changes of headers or tracks within so many ms, before the broadcast ends. */
const MOST_BEGINNINGS = 60;
const BEGINNINGS_WINDOW = 60_000;
