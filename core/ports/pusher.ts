/**
 * Sends what is broadcast on this node on to servers that clients chose (multistream), from the packets in memory. It is
 * told what should be sent where, again and again and as a whole; connecting, connecting again and leaving out what a slow
 * server cannot take are its own affair. Whatever a server does, the broadcast and the other pushes do not notice.
 *
 * A push lives as long as its playlist on this node: across a reconnect of the encoder, and in hold, its connection is kept.
 * Nothing here throws. Secrets (`url`) come in and never go out: no fact, reading, log line or message holds a part of one,
 * not even the name of the host.
 */
export interface Pusher {
  /** Facts go to `report` from now on, those of one push in order. Called at most once. */
  tell(report: (fact: PushFact) => void): void;
  /**
   * What is broadcast under `playbackId` here is to be pushed to exactly these from now on. Those that are new begin, those
   * that are missing end, one whose `url`, `videoOnly` or `profile` differs ends and begins anew, all others go on untouched. An
   * unknown playlist, or a profile that it has not: nothing happens. When the playlist ends, its pushes do.
   */
  want(playbackId: string, wanted: readonly PushOrder[]): void;
  /** Every push on this node as it is now: for whoever looks about once a second. */
  readings(): readonly PushReading[];
  /** Of all of them, for metrics. Counts only grow. */
  totals(): PushTotals;
  /** Ends all of them, as when their playlists end. */
  close(): void;
}

export interface PushOrder {
  /** Names the push among those of its playlist: what facts and readings say. No secret. */
  readonly id: string;
  /** `rtmp:`, `rtmps:` or `srt:`. A secret as a whole. */
  readonly url: string;
  /** Sound is left out. */
  readonly videoOnly: boolean;
  /**
   * Name of the rendition that is sent, of those that the broadcast is to have; absent or `source`: what the encoder sends. While
   * it is not made the push has nothing to send: it connects when there is something, and then stays as it is.
   */
  readonly profile?: string;
  /**
   * Whose it is, such as an account: beyond three quarters of the places and of the memory for what waits, one owner gets no more
   * than its part, however many pushes it has. Absent: each playlist is an owner.
   */
  readonly owner?: string;
}

/**
 * What happens to a push. `connected` and `lost` alternate; `ended` is the last of its push, comes once, and is the `lost` of
 * one that was connected.
 */
export type PushFact = {
  readonly playbackId: string;
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
} & Happening;

type Happening =
  /** The server said yes, and the first picture (of sound alone the first sound) was handed to the network. */
  | { readonly type: 'connected' }
  /** An attempt to connect failed; the next comes by itself. Told for each attempt. */
  | { readonly type: 'failed'; readonly trouble: PushTrouble }
  /** It is connected, but takes less than is broadcast: pictures are being left out. Told once until it has kept up for 10 s. */
  | { readonly type: 'slow'; readonly trouble: PushTrouble }
  /** The connection is gone and not by our wish; it is made anew by itself. */
  | { readonly type: 'lost'; readonly trouble: PushTrouble }
  /** It is not wanted any more, or its broadcast is over. */
  | { readonly type: 'ended' };

/** What is wrong, for people: one plain sentence without any part of the URL, and nothing in the server's own words but known codes. */
export interface PushTrouble {
  readonly reason: PushReason;
  readonly message: string;
}

/**
 * - `url`: nothing can be sent to such a URL. `unsupported`: this server lacks what it takes (SRT without ffmpeg).
 * - `forbidden`: its address is not allowed here (`outbound.allow`).
 * - `dns`, `connect`, `tls`: it could not be reached.
 * - `timeout`: it was reached and did not answer. `rejected`: it said no. `protocol`: it answered what nobody understands.
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
  /** `connecting`: also between attempts. `waiting`: the server said yes, but nothing was sent yet (no key frame came). */
  readonly state: 'connecting' | 'waiting' | 'connected';
  /** What was wrong last and is not over yet. */
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
