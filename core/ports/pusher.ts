/**
 * Sends what is broadcast on this node to servers that clients chose (multistream), from the packets in memory. It is given the
 * whole list of targets, again and again; it connects, reconnects, and leaves out what a slow server cannot take. Whatever a
 * server does, the broadcast and the other pushes do not notice.
 *
 * A push lives as long as its playlist on this node: its connection is kept while the encoder reconnects, and in hold. Nothing
 * here throws. Secrets (`url`) come in and never go out: no fact, reading, log line or message holds any part of one, not even
 * the name of the host.
 */
export interface Pusher {
  /** Reports facts from now on, those of one push in order. Called at most once. */
  tell(report: (fact: PushFact) => void): void;
  /**
   * From now on the broadcast of `playbackId` is pushed to exactly these targets. New ones begin, missing ones end, one whose
   * `url`, `videoOnly` or `profile` differs ends and begins again, the others continue. Ignored for an unknown playlist or
   * profile. When the playlist ends, its pushes end.
   */
  want(playbackId: string, wanted: readonly PushOrder[]): void;
  /** Every push on this node as it is now. May be called about once a second. */
  readings(): readonly PushReading[];
  /** Of all pushes, for metrics. Counts only grow. */
  totals(): PushTotals;
  /** Ends all of them. */
  close(): void;
}

export interface PushOrder {
  /** Names the push among those of its playlist, in facts and readings. No secret. */
  readonly id: string;
  /** `rtmp:`, `rtmps:` or `srt:`. A secret as a whole. */
  readonly url: string;
  /** Sound is left out. */
  readonly videoOnly: boolean;
  /**
   * Name of the rendition that is sent; absent or `source`: what the encoder sends. While the rendition is not made the push has
   * nothing to send; it connects when there is something.
   */
  readonly profile?: string;
  /**
   * Such as an account: beyond three quarters of the slots and of the memory one owner gets no more than an equal share, however
   * many pushes it has. Absent: each playlist is an owner.
   */
  readonly owner?: string;
}

/** What happens to a push. `connected` and `lost` alternate; `ended` is the last, comes once, and replaces `lost`. */
export type PushFact = {
  readonly playbackId: string;
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
} & Happening;

type Happening =
  /** The server accepted, and the first picture (of sound alone the first sound) was handed to the network. */
  | { readonly type: 'connected' }
  /** An attempt to connect failed; the next one comes by itself. */
  | { readonly type: 'failed'; readonly trouble: PushTrouble }
  /** It takes less than is broadcast: pictures are left out. Once until it has kept up for 10 s. */
  | { readonly type: 'slow'; readonly trouble: PushTrouble }
  /** The connection broke; it is made again by itself. */
  | { readonly type: 'lost'; readonly trouble: PushTrouble }
  /** It is no longer wanted, or its broadcast is over. */
  | { readonly type: 'ended' };

/** What is wrong, for people: one sentence without any part of the URL, and of the server's words only known codes. */
export interface PushTrouble {
  readonly reason: PushReason;
  readonly message: string;
}

/**
 * - `url`: nothing can be sent to such a URL. `unsupported`: this server lacks what it takes (SRT without ffmpeg).
 * - `forbidden`: its address is not allowed here (`outbound.allow`).
 * - `dns`, `connect`, `tls`: it could not be reached.
 * - `timeout`: it did not answer. `rejected`: it refused. `protocol`: its answer was not understood.
 * - `closed`: it closed the connection. `slow`: it takes less than is broadcast. `stalled`: it took nothing for too long.
 * - `full`: this node pushes to as many servers as it may.
 */
export const pushReasons = [
  'url',
  'unsupported',
  'forbidden',
  'dns',
  'connect',
  'tls',
  'timeout',
  'rejected',
  'protocol',
  'closed',
  'slow',
  'stalled',
  'full',
] as const;

export type PushReason = (typeof pushReasons)[number];

export interface PushReading {
  readonly playbackId: string;
  readonly id: string;
  /** `connecting`: also between attempts. `waiting`: the server accepted, but no key frame was sent yet. */
  readonly state: 'connecting' | 'waiting' | 'connected';
  /** The latest trouble, until it is over. */
  readonly trouble?: PushTrouble;
  /** Epoch ms of the next attempt, while there is none. */
  readonly retryAt?: number;
  /** Bytes handed to the network, all connections of this push together. */
  readonly sentBytes: number;
  /** Bytes that wait for the network. */
  readonly queuedBytes: number;
  /** Pictures left out because it was slow. */
  readonly droppedFrames: number;
}

export interface PushTotals {
  readonly connected: number;
  /** Connecting, waiting or between attempts. */
  readonly connecting: number;
  readonly sentBytes: number;
  readonly droppedFrames: number;
  /** `failed` and `lost`, by reason. */
  readonly troubles: Readonly<Partial<Record<PushReason, number>>>;
}
