import type { Clip } from './flv-file.ts';
import type { Pacer } from './pacer.ts';
import type { PublishEnd } from './publisher.ts';

export interface BroadcastOptions {
  /** `rtmp://host:port/app/key`. */
  url: string;
  clip: Clip;
  /** Default true. Otherwise it ends cleanly after the clip. */
  loop?: boolean;
  /** Where in the clip to begin, in milliseconds; the next key frame is taken. Default 0. */
  startAt?: number;
  /** RTMP timestamp of each connection's first tag. Default 0. */
  firstTimestamp?: number;
  /** 2 sends twice as fast as real time. Default 1. */
  speed?: number;
  /** Connect again after a lost connection, with growing waits. A refusal ends the broadcast all the same. */
  retry?: boolean | { firstMs?: number; maxMs?: number };
  chunkSize?: number;
  pacer?: Pacer;
  /** Plain lines for people, without the key. */
  log?: (line: string) => void;
  /**
   * For each picture as it is handed to the network, in decoding order: its number counted on over loops
   * (the picture shows it modulo `clip.frames`), its RTMP timestamp, and the wall clock in milliseconds.
   */
  onFrame?: (frame: number, timestamp: number, sentAtEpochMs: number) => void;
}

export interface Broadcast {
  /** The server accepted the first publish. Rejects when the broadcast ends without that. */
  readonly started: Promise<void>;
  /** Why it is over; never rejects. */
  readonly ended: Promise<PublishEnd>;
  /** Counts so far. `dropped`: tags the network was too slow for. */
  readonly stats: { tags: number; bytes: number; dropped: number; connections: number };
  stop(options: { clean: boolean }): Promise<void>;
}
