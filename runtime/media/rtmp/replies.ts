import { type AmfValue, encodeAmf0 } from './amf0.ts';
import { encodeMessage, type Message, messageType } from './message-writer.ts';

/**
 * Everything the server says after the handshake, as bytes ready to send (RTMP 1.0, sections 5.4 and 7.2).
 * It speaks in chunks of 60,000 bytes from `connected` on: ffmpeg sets its own size to whatever it hears,
 * and one copy per message beats hundreds.
 */
export const replies = {
  /** What a server says before it answers `connect`: windows, then its chunk size. */
  settings(): Uint8Array {
    return Buffer.concat([
      control(messageType.windowAckSize, uint32(windowAckSize)),
      control(messageType.setPeerBandwidth, [...uint32(windowAckSize), DYNAMIC]),
      control(messageType.setChunkSize, uint32(chunkSize)),
    ]);
  },

  /** Window Acknowledgement Size, when the peer asked for another (5.4.5). */
  window(size: number): Uint8Array {
    return control(messageType.windowAckSize, uint32(size));
  },

  /** `capabilities`: further properties of the answer. */
  connected(transaction: number, capabilities: { readonly [key: string]: AmfValue } = {}): Uint8Array {
    return command(0, [
      '_result',
      transaction,
      { fmsVer: 'FMS/3,0,1,123', capabilities: 31, ...capabilities },
      { ...statusInfo('status', 'NetConnection.Connect.Success', 'Connected.'), objectEncoding: 0 },
    ]);
  },

  result(transaction: number, value: AmfValue): Uint8Array {
    return command(0, ['_result', transaction, null, value]);
  },

  /** Stream Begin, and the answers an encoder waits for. `fcPublish`: it asked by FCPublish too. */
  published(streamId: number, fcPublish: boolean): Uint8Array {
    const info = statusInfo('status', 'NetStream.Publish.Start', 'Publishing.');
    return Buffer.concat([
      control(messageType.userControl, [0, STREAM_BEGIN, ...uint32(streamId)]),
      ...(fcPublish ? [command(0, ['onFCPublish', 0, null, info])] : []),
      command(streamId, ['onStatus', 0, null, info]),
    ]);
  },

  unpublished(streamId: number): Uint8Array {
    const info = statusInfo('status', 'NetStream.Unpublish.Success', 'The publish has ended.');
    return Buffer.concat([
      command(0, ['onFCUnpublish', 0, null, info]),
      command(streamId, ['onStatus', 0, null, info]),
    ]);
  },

  /** An onStatus of level error. */
  failed(streamId: number, code: string, description: string): Uint8Array {
    return command(streamId, ['onStatus', 0, null, statusInfo('error', code, description)]);
  },

  /** `received`: bytes since the connection began; the peer sees them modulo 2^32. */
  acknowledgement(received: number): Uint8Array {
    return control(messageType.acknowledgement, uint32(received));
  },

  /** Answer to a ping: its own four bytes (7.1.7). */
  pong(bytes: Uint8Array): Uint8Array {
    return control(messageType.userControl, [0, PING_RESPONSE, ...bytes]);
  },
};

/** How many bytes the peer may send between acknowledgements, until it says otherwise. */
export const windowAckSize = 2_500_000;

const chunkSize = 60_000;
const STREAM_BEGIN = 0;
const PING_RESPONSE = 7;
/** Limit type of Set Peer Bandwidth (5.4.5). */
const DYNAMIC = 2;

function control(type: number, body: readonly number[]): Uint8Array {
  return say({ type, chunkStream: 2, streamId: 0, body: Uint8Array.from(body) });
}

function command(streamId: number, values: readonly AmfValue[]): Uint8Array {
  const chunkStream = streamId === 0 ? 3 : 5;
  return say({ type: messageType.commandAmf0, chunkStream, streamId, body: encodeAmf0(values) });
}

function say(message: Omit<Message, 'timestamp' | 'chunkSize'>): Uint8Array {
  return encodeMessage({ ...message, timestamp: 0, chunkSize });
}

function statusInfo(level: string, code: string, description: string) {
  return { level, code, description };
}

function uint32(value: number): number[] {
  return [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
}
