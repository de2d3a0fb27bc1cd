import type { Fault } from '../base/fault.ts';
import type { RenditionProfile } from './transcoder.ts';

/**
 * The live media of one node: an ingest listener, a packager per stream, and what viewers fetch.
 * It decides nothing about streams. It asks before it accepts a publish, reports facts, obeys orders.
 */

/** A publish that wants in. `key` is a secret: it goes into no log. */
export interface PublishRequest {
  readonly connection: string;
  readonly app: string;
  readonly key: string;
  /** Address of the peer, without port. */
  readonly address: string;
  /** It says that it is a push of a Millrace, this or another: it never takes over from a running broadcast. */
  readonly isPush: boolean;
  /** What the encoder calls itself, in one line; absent if it does not. */
  readonly encoder?: string;
}

/** Yes, with what the packager must know to go on where an earlier connection stopped. */
export interface PublishGrant {
  readonly granted: true;
  /** Fencing token of this publish, unique for ever. Facts and orders carry it. */
  readonly token: string;
  readonly streamId: string;
  readonly sessionId: string;
  readonly playbackId: string;
  /**
   * First media sequence number when no earlier segments are listed: the age of the stream in quarters of a second,
   * rounded down. Segments are never shorter, so it cannot go back in any process or node. Decode times begin at that
   * age too where another process may have gone on with them, and go forward as long as media comes at the speed of time.
   */
  readonly mediaSequence: number;
  /**
   * First discontinuity sequence number in that case: how often the stream has been published before. Of two
   * publishes with one playbackId the one with the greater number is the newer.
   */
  readonly discontinuitySequence: number;
  /** EXT-X-TARGETDURATION is never below this many seconds. */
  readonly targetDuration: number;
  /** The stream is on the air: viewers come from what an earlier publish listed, here or in another process. */
  readonly isReturn?: boolean;
  /** It is recorded; absent, it is not. */
  readonly recording?: {
    /** Where the blobs of the recording go, without a slash at the end. */
    readonly folder: string;
  };
  /** Renditions that are to be made of it; absent, none are. */
  readonly profiles?: readonly RenditionProfile[];
  /** Bytes of live memory that all broadcasts of its account may hold on one node. Absent: no more than its share of all. */
  readonly liveBytes?: number;
  /** Of the stream, for plugins that subscribe to the publish: its account, and the fields that plugins add to it. */
  readonly account?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * No. `unauthorized`: no such key. `rejected`: the key is right, but not now (suspended, busy). `unavailable`: nobody can
 * tell at the moment; the encoder should come again.
 */
export interface PublishRefusal {
  readonly granted: false;
  readonly reason: 'unauthorized' | 'rejected' | 'unavailable';
  /** One plain sentence for the person at the encoder. */
  readonly message: string;
}

/** A publish that was refused for what its URL says, before anybody was asked. */
export interface UrlRefusal {
  readonly cause: 'unknown_app' | 'missing_key' | 'unknown_key';
  /** What the encoder is told. */
  readonly message: string;
}

/** Figures of one publish, counted from its first byte. */
export interface Figures {
  /** Media payload received, bytes. */
  readonly bytes: number;
  /** Segments finished. */
  readonly segments: number;
  /** Media time received, seconds. */
  readonly duration: number;
  /** Current rate, bit/s, over about the last 5 seconds. */
  readonly ingestRate: number;
  /** When the last media arrived, epoch milliseconds; 0 before any. */
  readonly lastMediaAt: number;
  /** EXT-X-TARGETDURATION as it stands, seconds. */
  readonly targetDuration: number;
  /** What is wrong, in plain words; empty when nothing is. */
  readonly issues: readonly string[];
}

/**
 * How the media of one publish comes, counted since its first message. Totals only grow, so whoever looks twice
 * knows what was between. Media times are milliseconds of the mended timeline.
 */
export interface Vitals {
  /** Frames per second by the encoder's own word; 0 when it gave none. */
  readonly frameRate: number;
  /** The encoder said that it sends such a track. */
  readonly expectsVideo: boolean;
  readonly expectsAudio: boolean;
  /** Media time of the newest message of the track; -1 before any. */
  readonly videoTime: number;
  readonly audioTime: number;
  /** When it came, epoch ms; 0 before any. */
  readonly videoAt: number;
  readonly audioAt: number;
  readonly frames: number;
  /** Sum of the steps from frame to frame, ms, and of their squares; gaps are not among them. */
  readonly stepTime: number;
  readonly stepSquares: number;
  readonly keyFrames: number;
  /** Media time of the newest key frame; -1 before any. */
  readonly keyTime: number;
  /** Media time between the newest two key frames, ms; 0 before there are two. */
  readonly keyInterval: number;
  /** By how much the delay of messages differed over the last 4 to 5 s, ms: what a player must hold to bridge it. */
  readonly jitter: number;
  /** Messages that came 2 s or more later than the quickest. */
  readonly late: number;
  /** How much media the holes in tracks lack together, ms. */
  readonly gapTime: number;
  /** By how much sound is ahead of the picture as they arrive, ms, over about a second. */
  readonly soundLead: number;
  /** RFC 6381 names of what is served now; empty before anything is. */
  readonly codecs: readonly string[];
}

/** Of a publish that has brought nothing. */
export const noVitals: Vitals = {
  frameRate: 0,
  expectsVideo: false,
  expectsAudio: false,
  videoTime: -1,
  audioTime: -1,
  videoAt: 0,
  audioAt: 0,
  frames: 0,
  stepTime: 0,
  stepSquares: 0,
  keyFrames: 0,
  keyTime: -1,
  keyInterval: 0,
  jitter: 0,
  late: 0,
  gapTime: 0,
  soundLead: 0,
  codecs: [],
};

/** A playlist that this node keeps, as it is now. */
export interface LiveReading {
  /** Of the publish that came last; while the playlist is held it is over. */
  readonly grant: PublishGrant;
  readonly isPublishing: boolean;
  /** The node itself was held up just now: when it saw things says nothing of when they came. */
  readonly isDelayed: boolean;
  /** Of that publish. */
  readonly figures: Figures;
  readonly vitals: Vitals;
  /** Different viewers within the last 16 to 24 s, an estimate. */
  readonly viewers: number;
  /** Bytes of live memory that it holds. */
  readonly memory?: number;
}

/** Of a publish that has brought nothing. */
export const noFigures: Figures = {
  bytes: 0,
  segments: 0,
  duration: 0,
  ingestRate: 0,
  lastMediaAt: 0,
  targetDuration: 0,
  issues: [],
};

/** What a node receives and serves, all streams together. */
export interface MediaTotals {
  /** Publishes that are running. */
  readonly publishes: number;
  /** Playlists kept, with a publish or without. */
  readonly outputs: number;
  /** Media payload received since the process began. */
  readonly bytes: number;
  /** Requests of viewers that wait for something to be made. */
  readonly waitingViewers: number;
  /** Sum of the viewers of every playlist, an estimate. */
  readonly viewers: number;
}

/** What the media reports. All facts of one token arrive in order; nothing follows `closed`. */
export type MediaFact =
  /** The playlist of this publish works: its first segment is listed. */
  | { readonly type: 'playable'; readonly grant: PublishGrant; readonly figures: Figures }
  /** Every 30 s while media flows, and at once when `targetDuration` has grown: it must outlive the process. */
  | { readonly type: 'progress'; readonly grant: PublishGrant; readonly figures: Figures }
  /** The publish is over. `clean`: the encoder said so (FCUnpublish, deleteStream, closeStream). */
  | {
      readonly type: 'closed';
      readonly grant: PublishGrant;
      readonly figures: Figures;
      readonly clean: boolean;
    };

export interface MediaHandlers {
  /** May this publish begin? Nothing it sends is parsed as media before the answer. */
  authorise(request: PublishRequest): Promise<PublishGrant | PublishRefusal>;
  /** One was refused without that question. */
  refused?(request: PublishRequest, refusal: UrlRefusal): void;
  report(fact: MediaFact): void;
}

/** One GET below /hls/{playbackId}/. */
export interface ViewerRequest {
  readonly playbackId: string;
  /** The rest of the path: a playlist such as `index.m3u8`, a part, a segment, an init. */
  readonly file: string;
  readonly query: URLSearchParams;
  /** Aborted when the viewer has gone. */
  readonly signal: AbortSignal;
  /** What tells those on whose behalf it is asked from others, for their number alone; it is not kept. */
  readonly viewers?: readonly string[];
}

/**
 * What a viewer asked for, or why there is none: `playback.not_live`, `.not_recorded`, `.not_soon`, `.too_many_waiting`. A stream is
 * to be read to its end or cancelled: it holds on to memory until then.
 */
export type LiveAnswer =
  | {
      readonly type: 'playlist';
      readonly body: string | Blob | ReadableStream<Uint8Array>;
      /** How long a cache may answer with it, seconds. */
      readonly maxAge: number;
    }
  | {
      readonly type: 'media';
      readonly body: Blob | ReadableStream<Uint8Array>;
      readonly size: number;
      /** Default: `video/mp4`. */
      readonly contentType?: string;
    }
  | Fault;

/** The newest place where a decoder can begin in a live playlist. */
export interface LiveKeyFrame {
  /** Another one, another version; of no other playlist, before or after. */
  readonly version: string;
  readonly init: { readonly id: string; readonly bytes: Blob };
  /** Fragmented mp4: the part that holds the key frame, not necessarily in front. */
  readonly part: Blob;
}

export interface Media {
  /** Opens the listeners. Resolves when they are open. Called at most once; returns its stop. */
  accept(handlers: MediaHandlers): Promise<() => Promise<void>>;
  /**
   * Ends the publish that holds this token, with a reason the encoder is told. Its playlist goes on
   * answering until `retire`. A publish whose grant is still on its way does not begin. Unknown token:
   * nothing happens.
   */
  close(token: string, reason: string): void;
  /**
   * The playlist answers 404 from now on and its memory is let go. Unknown id: nothing happens. While
   * somebody publishes to it the order is late and nothing happens: close that publish first. So it is when the publish
   * that came last has a greater `discontinuitySequence` than `upTo`.
   */
  retire(playbackId: string, options?: { readonly upTo?: number }): void;
  /** Figures of a running publish. */
  figures(token: string): Figures | undefined;
  /** Of every playlist on this node, as it is now: for whoever looks about once a second. */
  readings(): LiveReading[];
  /** Of everything together, for metrics. */
  totals(): MediaTotals;
  /**
   * Answers a viewer, or undefined when there is no output of that id on this node. Asking for what is
   * not there allocates nothing.
   */
  serve(request: ViewerRequest): LiveAnswer | Promise<LiveAnswer> | undefined;
  /**
   * For a picture of what is on the air, or held. `none`: there is no picture in it. Undefined: no output of that id plays on this
   * node.
   */
  keyFrame(playbackId: string): LiveKeyFrame | 'none' | undefined;
  /** Resolves true when an output of that id has its first segment, false after `timeout` ms. */
  appears(playbackId: string, options: { timeout: number; signal: AbortSignal }): Promise<boolean>;
}
