/** What an operator sets, by the keys `rtmp.*`. Milliseconds and bytes. */
export interface RtmpConfig {
  /** Open connections; further ones are closed at once. */
  readonly connections: number;
  /** The same for one address, or one /64 of IPv6. */
  readonly connectionsPerAddress: number;
  /** From accept, or from the end of a publish, to the next publish command. */
  readonly publishTimeout: number;
  /** Silence during a publish, before it is closed. */
  readonly idleTimeout: number;
  /** One message of any type. */
  readonly messageBytes: number;
}

export const rtmpDefaults: RtmpConfig = {
  connections: 10_000,
  connectionsPerAddress: 500,
  publishTimeout: 10_000,
  idleTimeout: 10_000,
  messageBytes: 10 * 1024 * 1024,
};
