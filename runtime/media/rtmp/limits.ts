/** What one listener allows. Durations in milliseconds, sizes in bytes. */
export interface RtmpLimits {
  /** Open connections. One more is closed at once. */
  readonly connections: number;
  /** Open connections of one address, or of one /64 of IPv6. One more is closed at once. */
  readonly connectionsPerAddress: number;
  /** From accept, or from the end of a publish, to the next publish command. Then closed. */
  readonly publishTimeout: number;
  /** How long the owner may take to authorise. Then refused as `rejected`. */
  readonly authoriseTimeout: number;
  /** Longest silence during a publish. It is closed before that is over, and the publish ends uncleanly. */
  readonly idleTimeout: number;
  /** How long a refused or ended encoder has to read why, before the socket closes. */
  readonly closeGrace: number;
  /** How often deadlines are looked at; all but `idleTimeout` may be late by this much. */
  readonly sweepInterval: number;
  /** One message of any type. Larger: closed. */
  readonly messageBytes: number;
  /** One command, data or protocol control message. Larger: closed. */
  readonly controlBytes: number;
  /** Bytes of unfinished messages kept while no publish runs. Beyond: closed. */
  readonly strangerBytes: number;
  /** Chunk streams in one connection. One more: closed. */
  readonly chunkStreams: number;
  /** Message streams (`createStream`) open in one connection. One more: closed. */
  readonly messageStreams: number;
  /** Commands and pings within `commandWindow`. One more: closed. Metadata beyond it is dropped. */
  readonly commands: number;
  readonly commandWindow: number;
  /** Bytes kept while a publish is being authorised. Beyond: closed. */
  readonly queuedBytes: number;
  /** Bytes received without a publish running. Beyond: closed. */
  readonly unpublishedBytes: number;
  /** Bytes waiting to be sent to a peer that does not read. Beyond: closed. */
  readonly unsentBytes: number;
  /** Lines of log about connections within `logWindow`, of all addresses and of one. More are counted only. */
  readonly logLines: number;
  readonly logLinesPerAddress: number;
  readonly logWindow: number;
  /** Length of a stream key. Longer: refused as `unauthorized` without asking. */
  readonly keyLength: number;
}

export const rtmpLimits: RtmpLimits = {
  connections: 10_000,
  connectionsPerAddress: 500,
  publishTimeout: 10_000,
  authoriseTimeout: 10_000,
  idleTimeout: 10_000,
  closeGrace: 2_000,
  sweepInterval: 250,
  messageBytes: 10 * 1024 * 1024,
  controlBytes: 64 * 1024,
  strangerBytes: 16 * 1024,
  chunkStreams: 64,
  messageStreams: 8,
  commands: 50,
  commandWindow: 10_000,
  queuedBytes: 256 * 1024,
  unpublishedBytes: 1024 * 1024,
  unsentBytes: 64 * 1024,
  logLines: 20,
  logLinesPerAddress: 5,
  logWindow: 10_000,
  keyLength: 256,
};

/** How much one AMF0 message may hold before it is refused; in bytes it is bounded by `controlBytes`. */
export interface AmfLimits {
  /** Objects and arrays inside each other. */
  readonly depth: number;
  /** Values in the whole message, those in objects and arrays included. */
  readonly values: number;
  /** Bytes of one string or one key. */
  readonly stringBytes: number;
}

export const amfLimits: AmfLimits = { depth: 16, values: 1000, stringBytes: 65_535 };
