import type { AudioConfig, Malformed } from './config.ts';

/**
 * Reads the header that begins with `OpusHead` (RFC 7845 5.1). The clock is 48 kHz, whatever was recorded; packets last
 * `frameLength` as a rule, and each tells its own by `opusDuration`. Malformed input gives `{malformed}`.
 */
export function parseOpus(header: Uint8Array): Omit<AudioConfig, 'entry'> | Malformed {
  if (header.length < 19) return { malformed: 'it is too short' };
  for (let i = 0; i < 8; i += 1)
    if (header[i] !== 'OpusHead'.charCodeAt(i)) return { malformed: 'it does not begin with OpusHead' };
  // RFC 7845: only the upper four bits of the version make it another format.
  if (header[8] > 15) return { malformed: `its version is ${header[8]}` };
  const channels = header[9];
  const family = header[18];
  if (channels === 0 || (family === 0 && channels > 2)) return { malformed: `it has ${channels} channels` };
  if (family !== 0 && header.length < 21 + channels) return { malformed: 'its channel mapping is cut short' };
  return { codec: 'opus', sampleRate: 48_000, channels, frameLength: 960 };
}

/**
 * The body of a dOps box (Encapsulation of Opus in ISO Base Media File Format 4.3.2) from a header that
 * `parseOpus` has read: the same fields, but big-endian, and version 0.
 */
export function opusSpecific(header: Uint8Array): Uint8Array {
  const from = new DataView(header.buffer, header.byteOffset, header.length);
  const channels = header[9];
  const mapping = header[18] === 0 ? 0 : 2 + channels;
  const body = new Uint8Array(11 + mapping);
  const to = new DataView(body.buffer);
  body[1] = channels;
  to.setUint16(2, from.getUint16(10, true));
  to.setUint32(4, from.getUint32(12, true));
  to.setInt16(8, from.getInt16(16, true));
  body.set(header.subarray(18, 19 + mapping), 10);
  return body;
}

/** How long a packet in `bytes[at, end)` plays, samples at 48 kHz (RFC 6716 3.1); 0 when it cannot be told. */
export function opusDuration(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return 0;
  const config = bytes[at] >> 3;
  const code = bytes[at] & 3;
  const size = config & 3;
  let frame = 120 << size;
  if (config < 12) frame = size === 3 ? 2880 : 480 << size;
  else if (config < 16) frame = 480 << (config & 1);
  let count = code === 0 ? 1 : 2;
  if (code === 3) count = at + 1 < end ? bytes[at + 1] & 63 : 0;
  const duration = frame * count;
  // A packet lasts at most 120 ms (3.2.5).
  return duration <= 5760 ? duration : 0;
}
