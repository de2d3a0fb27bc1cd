import type { LiveAnswer } from '../../../core/ports/media.ts';
import { Dvr } from '../dvr/dvr.ts';
import { DVR_PLAYLIST } from '../dvr/event-playlist.ts';
import { missing } from '../live/answers.ts';
import type { Ingest } from '../live/ingest.ts';
import { type Attachment, LiveOutput, type LiveOutputOptions } from '../live/output.ts';
import type { PluginMedia } from '../plugins/plugin-media.ts';
import { fanOf } from '../publish/sample-fan.ts';
import type { SampleSubscriber, Subscriber } from '../publish/subscriber.ts';
import type { PushRelay } from '../push/relay.ts';
import { RenditionRelay } from '../push/rendition-relay.ts';
import type { RecordingFeed } from '../recording/feed.ts';
import { RecordingTap } from '../recording/recording-tap.ts';
import type { RenditionMaker } from '../renditions/ladder.ts';
import { LiveLadder } from '../renditions/live/live-ladder.ts';
import { OfferedRenditions } from '../renditions/offered-renditions.ts';

export interface BroadcastOptions extends LiveOutputOptions {
  /** Where it is pushed from; ends with it. */
  readonly relay?: PushRelay | undefined;
  /** The same for its rendition of this name; asked for once for each that it begins. */
  readonly relayOf?: ((profile: string) => PushRelay) | undefined;
  /** Makes the renditions that a grant wants; without one there are none. */
  readonly transcoder?: RenditionMaker | undefined;
  /** Plugins that see what is published. */
  readonly plugins?: PluginMedia | undefined;
  /** One line for the operator; no secrets. */
  readonly log?: (line: string) => void;
}

export interface BroadcastAttachment extends Omit<Attachment, 'subscribers' | 'samples'> {
  /** Where it is recorded; undefined: it is not. */
  readonly recording?: {
    /**
     * Its feed; undefined when it cannot be recorded. Called once, when a former publish is over; and once for each rendition, by
     * the name of its profile, when there is something of it.
     */
    open(rendition?: string): RecordingFeed | undefined;
    /** The recorder threw; the broadcast continues. */
    onTrouble(error: unknown): void;
  };
}

/** One playbackId on the air: its live playlist, and what subscribes to its publishes: recorder, pushes, renditions, DVR. */
export class Broadcast {
  readonly output: LiveOutput;
  readonly #options: BroadcastOptions;
  readonly #relay: PushRelay | undefined;
  readonly #dvr: Dvr;
  #ladder: LiveLadder | undefined;
  /** Still encodes the end of the publish, for recordings and pushes. */
  #draining: LiveLadder | undefined;
  /** Renditions that plugins make. */
  #offered: OfferedRenditions | undefined;
  #hasEnded = false;

  constructor(options: BroadcastOptions) {
    const { clock, memory, relay } = options;
    this.#options = options;
    this.#relay = relay;
    this.output = new LiveOutput(options);
    const { prefix } = this.output;
    if (memory !== undefined)
      memory.onShort = () => {
        const hasGiven = this.#ladder?.giveWay() ?? false;
        return this.#offered?.giveWay() || hasGiven;
      };
    this.#dvr = new Dvr({ clock, prefix, memory: memory?.hold({ isExpendable: true }) });
  }

  /** Takes a new publish; a former one that is still here is over at once. */
  attach(attachment: BroadcastAttachment): Ingest {
    const { grant, recording } = attachment;
    this.output.release();
    const subscribers: Subscriber[] = [];
    const tap = recording && new RecordingTap({ ...recording, open: () => recording.open() });
    if (tap) subscribers.push(tap);
    const ladder = this.#attachLadder(attachment);
    if (ladder) subscribers.push({ changed: () => ladder.notify(), end: () => ladder.release() });
    this.#dvr.follow(grant.sessionId, tap?.written);
    this.#relay?.begin();
    const samples = fanOf(this.#relay, this.#attachPlugins(attachment, subscribers));
    return this.output.attach({ ...attachment, subscribers, samples });
  }

  /** The publisher that holds this token has gone. What is whole is listed, then the playlist is held. */
  detach(token: string): void {
    if (this.output.detach(token)) this.#relay?.hold();
  }

  /**
   * Ends it: all its files are 404, and its memory is released. Renditions that are recorded or pushed are encoded to their end
   * first, within `drainTimeout`; a second call releases their memory at once.
   *
   * @returns resolves when the memory is released; undefined: it already is
   */
  end(): Promise<void> | undefined {
    if (this.#hasEnded) {
      this.#draining?.end();
      return undefined;
    }
    this.#hasEnded = true;
    this.output.end();
    this.#relay?.end();
    this.#dvr.end();
    this.#offered?.end();
    const ladder = this.#ladder;
    this.#ladder = undefined;
    const drained = ladder?.drain();
    if (drained === undefined) {
      this.output.clear();
      return undefined;
    }
    this.#draining = ladder;
    return drained.then(() => {
      this.#draining = undefined;
      this.output.clear();
    });
  }

  /** Whether it is a media playlist that is there: players keep asking for that. */
  isWatched(file: string): boolean {
    return file === DVR_PLAYLIST || this.output.isWatched(file);
  }

  /** Answers a GET for one file. `query` counts for playlists only. */
  serve(file: string, query?: URLSearchParams, signal?: AbortSignal): LiveAnswer | Promise<LiveAnswer> {
    if (!this.output.isPlayable) return missing;
    const target = this.output.window.targetDuration;
    return this.#dvr.serve(file, { query, target, signal }) ?? this.output.serve(file, query, signal);
  }

  /** Asks plugins what they want of a publish, and adds what they offer. */
  #attachPlugins({ grant }: BroadcastAttachment, subscribers: Subscriber[]): SampleSubscriber | undefined {
    const { plugins, clock, memory } = this.#options;
    if (plugins === undefined) return undefined;
    const { textTracks } = this.output;
    const { playbackId, streamId } = grant;
    this.#offered ??= new OfferedRenditions({
      ...{ clock, log: plugins.log, output: this.output, memory, playbackId, streamId },
    });
    const offered = this.#offered;
    textTracks.unlist();
    offered.begin();
    const taps = plugins.attach(grant, {
      textTracks,
      rendition: (options, source) => offered.offer(options, source),
    });
    offered.settle();
    if (taps === undefined) return undefined;
    subscribers.push({ changed: () => offered.notify(), end: () => offered.release() }, taps);
    return taps;
  }

  /** Renditions go on across publishes that want the same ones. */
  #attachLadder(attachment: BroadcastAttachment): LiveLadder | undefined {
    const { grant } = attachment;
    const { output } = this;
    const { transcoder, relayOf, clock, pool, memory, log = () => {} } = this.#options;
    const profiles = (grant.profiles ?? []).slice(0, MOST_RENDITIONS);
    if (this.#ladder?.isOf(profiles)) {
      this.#ladder.attach(attachment);
      return this.#ladder;
    }
    const former = this.#ladder;
    this.#ladder = undefined;
    output.offer(undefined);
    former?.end();
    if (transcoder === undefined || profiles.length === 0) return undefined;
    const relay = (name: string, relays: NonNullable<typeof relayOf>) =>
      new RenditionRelay({ clock, pool, relay: relays(name) });
    const ladder = new LiveLadder({
      ...{ playbackId: grant.playbackId, streamId: grant.streamId, profiles },
      clock,
      source: output.window,
      playlists: output.variants(profiles.length),
      ...(relayOf && { relays: profiles.map(({ name }) => relay(name, relayOf)) }),
      config: output.config,
      memory,
      maker: transcoder,
      log,
    });
    this.#ladder = ladder;
    output.offer(ladder);
    ladder.attach(attachment);
    ladder.begin();
    return ladder;
  }
}

/** Renditions of one broadcast; further profiles are not made. */
const MOST_RENDITIONS = 16;
