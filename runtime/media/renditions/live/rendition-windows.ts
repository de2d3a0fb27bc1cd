import type { RenditionProfile } from '../../../../core/ports/transcoder.ts';
import type { MediaPlaylist } from '../../live/media-playlist.ts';
import type { Init } from '../../live/segment.ts';
import { VIDEO_TRACK } from '../../live/track.ts';
import type { LiveWindow } from '../../live/window.ts';
import { writeInit } from '../../mp4/init.ts';
import type { RenditionRelay } from '../../push/rendition-relay.ts';
import { RecordingTap } from '../../recording/recording-tap.ts';
import { renditionRate } from '../plan.ts';
import type { LiveRun } from './live-run.ts';
import type { OutputTrack } from './output-reader.ts';
import { isMade, type KnownPublish, type Place } from './publishes.ts';
import type { SourcePart } from './source-part.ts';

/** The outputs of the renditions of one playlist: for each a window, a recording if there is one, and the relay of its pushes. */
export class RenditionWindows {
  readonly #profiles: readonly RenditionProfile[];
  readonly #playlists: readonly MediaPlaylist[];
  readonly #windows: readonly LiveWindow[];
  readonly #relays: readonly RenditionRelay[];
  /** The init of the source, and the encoders, of what the windows hold now. */
  #begun: { readonly init: Init; readonly tracks: readonly OutputTrack[] } | undefined;
  /** Whose takes are fed. */
  #recorded: KnownPublish | undefined;

  /** @param options `playlists`: one for each profile; `relays`: one for each profile, or none */
  constructor(options: {
    profiles: readonly RenditionProfile[];
    playlists: readonly MediaPlaylist[];
    relays: readonly RenditionRelay[];
  }) {
    this.#profiles = options.profiles;
    this.#playlists = options.playlists;
    this.#windows = options.playlists.map(({ window }) => window);
    this.#relays = options.relays;
  }

  /** There is something of them to be gone on with. */
  get hasMedia(): boolean {
    return this.#windows.some((window) => window.hasListed || window.open !== undefined);
  }

  get isHolding(): boolean {
    return this.#windows.some(({ bytes }) => bytes > 0);
  }

  /** The playlists hint at a part that is to come. */
  get isHinting(): boolean {
    return this.#windows[0].hint !== undefined;
  }

  get isPushed(): boolean {
    return this.#relays.some(({ isActive }) => isActive);
  }

  /** No segment from here on was begun. */
  get nextSequence(): number {
    return Math.max(...this.#windows.map(({ nextSequence }) => nextSequence));
  }

  at(index: number): LiveWindow | undefined {
    return this.#windows[index];
  }

  /** Whether what these encoders make of this init can follow what is there. */
  fits(init: Init, tracks: readonly OutputTrack[]): boolean {
    const begun = this.#begun;
    if (begun?.init.id !== init.id || !this.hasMedia) return true;
    return tracks.every(({ record }, i) => Buffer.compare(record, begun.tracks[i].record) === 0);
  }

  /**
   * What follows is of this run, from segment `sequence` on: an init is written where it has another than what is there.
   * `isReturn`: the source has a gap in front of that segment, and so have they.
   */
  begin(
    run: LiveRun,
    options: {
      sequence: number;
      targetDuration: number;
      isReturn: boolean;
      publish: KnownPublish | undefined;
    },
  ): void {
    if (this.#begun?.init.id === run.init.id) return;
    const { sequence, targetDuration, isReturn, publish } = options;
    const mediaSequence = isReturn ? sequence - 1 : sequence;
    const { init, discontinuities } = run;
    const tracks = run.tracks as readonly OutputTrack[];
    const isOther = publish !== this.#recorded;
    if (isOther) this.endTakes();
    for (const [index, window] of this.#windows.entries()) {
      const profile = this.#profiles[index];
      const { config, record } = tracks[index];
      if (isOther && publish?.recording) {
        const { open, onTrouble } = publish.recording;
        window.subscribers = [new RecordingTap({ open: () => open(profile.name), onTrouble })];
      }
      window.number({ mediaSequence, discontinuitySequence: discontinuities, targetDuration, isReturn });
      const video = { id: VIDEO_TRACK, timescale: 90_000, config, record };
      const { audio } = init;
      // Counted in slots of a clock that ticks faster, it says nothing in the header of what is encoded live.
      const frameRate = config.frameRate ?? renditionRate(profile, init.frameRate);
      window.begin({
        bytes: writeInit(audio === undefined ? { video } : { video, audio }),
        codecs: [config.codec, ...init.codecs.slice(1)],
        width: config.width,
        height: config.height,
        frameRate,
        audio,
      });
      const relay = this.#relays[index];
      relay?.begin(
        { video: { config, record }, audio, frameRate, bitrate: profile.bitrate },
        { isPublish: isOther },
      );
      // What is left of a publish that is over: nobody is connected to for it.
      if (isOther && publish?.end !== undefined) relay?.hold();
    }
    this.#recorded = publish;
    this.#begun = { init, tracks };
  }

  /** False: there is no room for them. */
  write(run: LiveRun, parts: readonly SourcePart[]): boolean {
    for (const [index, queue] of run.queues.entries())
      if (!queue.write(parts, { window: this.#windows[index], relay: this.#relays[index] })) return false;
    return true;
  }

  closeSegment(): void {
    for (const window of this.#windows) window.closeSegment();
  }

  commit(options: { readonly isLive: boolean }): void {
    for (const window of this.#windows) window.commit(options);
  }

  /** Nothing is listed any more; what comes has an init of its own. */
  clear(): void {
    this.#begun = undefined;
    for (const window of this.#windows) window.clear();
  }

  /** Answers the requests that wait for something of them. */
  wake(): void {
    for (const playlist of this.#playlists) playlist.wake();
  }

  /** The publish is over. */
  hold(): void {
    for (const relay of this.#relays) relay.hold();
  }

  /** Ends the takes of a publish of which nothing more comes, when `place` is what is made next. */
  settleTakes(place: Place | undefined): void {
    if (this.#recorded !== undefined && isMade(this.#recorded, place)) this.endTakes();
  }

  endTakes(): void {
    this.#recorded = undefined;
    for (const window of this.#windows) {
      for (const subscriber of window.subscribers) subscriber.end?.();
      window.subscribers = [];
    }
  }

  /** They are not pushed any more. */
  end(): void {
    for (const relay of this.#relays) relay.end();
  }
}
