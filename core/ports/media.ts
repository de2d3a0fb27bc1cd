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
   * First media sequence number when no earlier segments are listed: 4 × the whole seconds since the stream
   * was created. Segments are never shorter than 0.25 s, so it cannot go back in any process or node.
   */
  readonly mediaSequence: number;
  /**
   * First discontinuity sequence number in that case: how often the stream has been published before. Of two
   * publishes with one playbackId the one with the greater number is the newer.
   */
  readonly discontinuitySequence: number;
  /** EXT-X-TARGETDURATION is never below this many seconds. */
  readonly targetDuration: number;
}

/** No. `unauthorized`: no such key. `rejected`: the key is right, but not now (suspended, busy). */
export interface PublishRefusal {
  readonly granted: false;
  readonly reason: 'unauthorized' | 'rejected';
  /** One plain sentence for the person at the encoder. */
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
  report(fact: MediaFact): void;
}

/** One GET below /hls/{playbackId}/. */
export interface ViewerRequest {
  readonly playbackId: string;
  /** The rest of the path: `index.m3u8`, `source.m3u8`, a part, a segment, an init. */
  readonly file: string;
  readonly query: URLSearchParams;
  /** Aborted when the viewer has gone. */
  readonly signal: AbortSignal;
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
   * somebody publishes to it the order is late and nothing happens: close that publish first.
   */
  retire(playbackId: string): void;
  /** Figures of a running publish. */
  figures(token: string): Figures | undefined;
  /** Of everything together, for metrics. */
  totals(): MediaTotals;
  /**
   * Answers a viewer, or undefined when there is no output of that id on this node. Asking for what is
   * not there allocates nothing.
   */
  serve(request: ViewerRequest): Response | Promise<Response> | undefined;
  /** Resolves true when an output of that id has its first segment, false after `timeout` ms. */
  appears(playbackId: string, options: { timeout: number; signal: AbortSignal }): Promise<boolean>;
}
