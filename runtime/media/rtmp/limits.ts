import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

const perPublish = 'Closed; the publish, if one runs, ends uncleanly.';

/** What one listener allows. */
export const rtmpLimitTable = limitTable('rtmp', {
  connections: {
    value: 10_000,
    unit: 'connections',
    meaning: 'Open connections.',
    beyond: 'Further ones are closed at once.',
    key: 'rtmp.connections',
  },
  connectionsPerAddress: {
    value: 500,
    unit: 'connections',
    meaning: 'Open connections of one address, or of one /64 of IPv6.',
    beyond: 'Further ones are closed at once.',
    key: 'rtmp.connectionsPerAddress',
  },
  publishTimeout: {
    value: 10_000,
    unit: 'ms',
    key: 'rtmp.publishTimeout',
    meaning: 'From accept, or from the end of a publish, to the next publish command.',
    beyond: 'Closed.',
  },
  authoriseTimeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long the check of a stream key may take.',
    beyond: 'Refused with `NetStream.Failed`, then closed; the encoder may come again.',
  },
  idleTimeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Silence during a publish.',
    beyond: 'Closed, before that is over; the publish ends uncleanly.',
    key: 'rtmp.idleTimeout',
  },
  closeGrace: {
    value: 2_000,
    unit: 'ms',
    meaning: 'How long a refused or ended encoder has to read why.',
    beyond: 'The socket is closed.',
  },
  sweepInterval: {
    value: 250,
    unit: 'ms',
    meaning: 'How often deadlines are looked at.',
    beyond: 'Every deadline of a connection but `rtmp.idleTimeout` may be late by this much.',
  },
  messageBytes: {
    value: 10 * 1024 * 1024,
    unit: 'bytes',
    meaning: 'One message of any type.',
    beyond: perPublish,
    key: 'rtmp.messageSize',
  },
  controlBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'One command, data or protocol control message.',
    beyond: perPublish,
  },
  strangerBytes: {
    value: 16 * 1024,
    unit: 'bytes',
    meaning: 'Unfinished messages kept while no publish runs.',
    beyond: 'Closed.',
  },
  chunkStreams: {
    value: 64,
    unit: 'chunk streams',
    meaning: 'Chunk streams in one connection.',
    beyond: perPublish,
  },
  messageStreams: {
    value: 8,
    unit: 'message streams',
    meaning: 'Message streams (`createStream`) open in one connection.',
    beyond: perPublish,
  },
  commands: {
    value: 50,
    unit: 'commands',
    meaning: 'Commands and pings within `commandWindow`.',
    beyond: `${perPublish} Metadata beyond it is dropped.`,
  },
  commandWindow: {
    value: 10_000,
    unit: 'ms',
    meaning: 'The time in which `commands` are counted.',
    beyond: 'Counting begins again.',
  },
  queuedBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Input kept while a stream key is checked.',
    beyond: 'Closed.',
  },
  unpublishedBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    meaning: 'Received without a publish running.',
    beyond: 'Closed.',
  },
  unsentBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'Waiting to be sent to a peer that does not read.',
    beyond: perPublish,
  },
  logLines: {
    value: 20,
    unit: 'lines',
    meaning: 'Log lines about connections within `logWindow`.',
    beyond: 'They are counted, and the next line says how many: `unsaid`.',
  },
  logLinesPerAddress: {
    value: 5,
    unit: 'lines',
    meaning: 'Of these, lines about one address, or one /64 of IPv6.',
    beyond: 'They are counted, and the next line says how many: `unsaid`.',
  },
  logWindow: {
    value: 10_000,
    unit: 'ms',
    meaning: 'The time in which `logLines` are counted.',
    beyond: 'Counting begins again.',
  },
  ackWindow: {
    value: 2_500_000,
    unit: 'bytes',
    meaning: 'What a peer may send before we acknowledge it, until it says otherwise.',
    beyond: 'It is acknowledged.',
  },
  ackWindowLeast: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'The smallest such window a peer may ask for.',
    beyond: 'A smaller one counts as this: it would have us acknowledge every few bytes.',
  },
  ackWindowPatient: {
    value: 1_000_000,
    unit: 'bytes',
    meaning: 'The window from which acknowledging may wait for the next look at the deadlines.',
    beyond: 'A peer that stopped for it would still reach 4 MB/s.',
  },
  chunkBytes: {
    value: 60_000,
    unit: 'bytes',
    meaning: 'Payload of one chunk that we send.',
    beyond: 'The message goes on in the next chunk.',
  },
  keyLength: {
    value: 256,
    unit: 'characters',
    meaning: 'A stream key.',
    beyond: 'Refused with `NetStream.Publish.Unauthorized` without a look at the store.',
  },
});

/** What our own publisher does to servers, and what they may make it read. */
export const publisherLimits = limitTable('publisher', {
  messageBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'One message of a server that we publish to; its status messages are far below.',
    beyond: 'The publish fails.',
  },
  unfinishedBytes: {
    value: 128 * 1024,
    unit: 'bytes',
    meaning: 'Messages of such a server that are not whole yet.',
    beyond: 'The publish fails.',
  },
  chunkStreams: {
    value: 16,
    unit: 'chunk streams',
    meaning: 'Chunk streams of such a server.',
    beyond: 'The publish fails.',
  },
  ackWindowLeast: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'The smallest window such a server may want acknowledged.',
    beyond: 'A smaller one counts as this: it would have us acknowledge every few bytes.',
  },
  orders: {
    value: 200,
    unit: 'messages',
    meaning: 'Commands, pings and control messages of a server that is pushed to, within `orderWindow`.',
    beyond: 'The push fails with `protocol`.',
  },
  receivedBytes: {
    value: 512 * 1024,
    unit: 'bytes',
    meaning: 'Whatever such a server sends within `orderWindow`; acknowledgements are far below.',
    beyond: 'The push fails with `protocol`.',
  },
  orderWindow: {
    value: 10_000,
    unit: 'ms',
    meaning: 'The time in which these are counted.',
    beyond: 'Counting begins again.',
  },
  connectTimeout: {
    value: 5_000,
    unit: 'ms',
    meaning: 'TCP and TLS to a server that is pushed to.',
    beyond: 'The attempt fails with `connect`.',
  },
  answerTimeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'From the beginning of that to `NetStream.Publish.Start`.',
    beyond: 'The attempt fails with `timeout`.',
  },
  leaveTimeout: {
    value: 1_000,
    unit: 'ms',
    meaning: 'How long such a server may take to read the goodbye and close.',
    beyond: 'The socket is closed.',
  },
  socketBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'What a socket keeps of a push beside the buffers of the system.',
    beyond: 'It takes nothing more, and says when it does.',
  },
  unsentBytes: {
    value: 128 * 1024,
    unit: 'bytes',
    meaning: 'The same with answers to a server that reads nothing.',
    beyond: 'The push fails with `stalled`.',
  },
  chunkBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning:
      'Payload of one chunk of a push: the most that SRS takes, and nginx-rtmp sets so much aside for each chunk stream.',
    beyond: 'The message goes on in the next chunk.',
  },
});

/** Durations in milliseconds, sizes in bytes. */
export type PublisherLimits = Readonly<Record<keyof typeof publisherLimits & string, number>>;

/** Durations in milliseconds, sizes in bytes. */
export type RtmpLimits = Readonly<Record<keyof typeof rtmpLimitTable & string, number>>;

export const rtmpLimits: RtmpLimits = valuesOf(rtmpLimitTable);

/** What one AMF0 message may hold; in bytes it is bounded by `controlBytes`. */
export const amfLimitTable = limitTable('amf', {
  depth: {
    value: 16,
    unit: 'levels',
    meaning: 'Nesting of an AMF value.',
    beyond: perPublish,
  },
  values: {
    value: 1000,
    unit: 'values',
    meaning: 'Values in one AMF message.',
    beyond: perPublish,
  },
  stringBytes: {
    value: 65_535,
    unit: 'bytes',
    meaning: 'One AMF string.',
    beyond: perPublish,
  },
});

export type AmfLimits = Readonly<Record<keyof typeof amfLimitTable & string, number>>;

export const amfLimits: AmfLimits = valuesOf(amfLimitTable);
