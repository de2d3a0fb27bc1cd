import { outboundLimits } from '../../../drivers/outbound/limits.ts';
import { type Place, target } from '../../../drivers/outbound/target.ts';
import type { SrtLimits } from './limits.ts';

/** What an `srt://` URL asks for. All of it is a secret. */
export interface SrtUrl {
  readonly ok: true;
  /** Host and port, for the guarded resolver. */
  readonly to: Place;
  readonly streamId?: string;
  readonly passphrase?: string;
  /** Bytes: 16, 24 or 32. */
  readonly keyLength?: number;
  /** ms. */
  readonly latency?: number;
  /** Bytes. */
  readonly payload?: number;
}

/** Why it cannot be used, without any part of it. */
export interface BadSrtUrl {
  readonly ok: false;
  readonly message: string;
}

/**
 * Reads `srt://host:port?mode=caller&streamid=…&passphrase=…&pbkeylen=16&latency=200&pkt_size=1316&transtype=live` (the SRT
 * project's docs/apps/srt-live-transmit.md, ffmpeg's libsrt). The list is closed: others would choose a network interface, a
 * file or the part of who is called. A `#` begins no fragment: `streamid=#!::r=…` is how stream ids are written.
 */
export function srtUrl(text: string, { limits }: { limits: SrtLimits }): SrtUrl | BadSrtUrl {
  const match = /^srt:\/\/([^/?#\s]+)\/?(?:\?(.*))?$/is.exec(text);
  if (!match) return bad('The URL must be srt://host:port, with a query and without a path.');
  const [, authority, query = ''] = match;
  if (authority.includes('@')) return bad('An srt:// URL has no user or password; use passphrase.');
  if (!/:\d{1,5}$/.test(authority)) return bad('An srt:// URL must name a port.');
  const to = target(`http://${authority}/`, { limits: outboundLimits });
  if (!to.ok) return bad('The host or port of the URL cannot be used.');
  const values = parametersOf(query, limits);
  if (!(values instanceof Map)) return values;
  const { isSecure, host, isAddress, port } = to;
  return checked({ isSecure, host, isAddress, port, origin: 'the server' }, values, limits);
}

const known = ['mode', 'transtype', 'streamid', 'passphrase', 'pbkeylen', 'latency', 'pkt_size'];

function parametersOf(query: string, limits: SrtLimits): Map<string, string> | BadSrtUrl {
  const values = new Map<string, string>();
  const parts = query === '' ? [] : query.split('&');
  if (parts.length > limits.parameters)
    return bad(`An srt:// URL has at most ${limits.parameters} parameters.`);
  for (const part of parts) {
    const at = part.indexOf('=');
    const name = at < 0 ? part : part.slice(0, at);
    if (!known.includes(name))
      return bad(`Parameters of an srt:// URL are ${known.join(', ')}; it has another one.`);
    if (values.has(name)) return bad(`The URL has ${name} twice.`);
    const value = decoded(part.slice(at + 1));
    // A line break would be another option to ffmpeg.
    if (at < 0 || value === undefined || value === '' || control.test(value)) {
      return bad(`${name} of the URL is empty or malformed.`);
    }
    values.set(name, value);
  }
  return values;
}

function checked(to: Place, values: ReadonlyMap<string, string>, limits: SrtLimits): SrtUrl | BadSrtUrl {
  const mode = values.get('mode') ?? 'caller';
  if (mode !== 'caller') return bad('mode of the URL must be caller: this server calls.');
  if ((values.get('transtype') ?? 'live') !== 'live') return bad('transtype of the URL must be live.');
  const streamId = values.get('streamid');
  if (streamId !== undefined && Buffer.byteLength(streamId) > limits.streamId) {
    return bad(`streamid of the URL may have at most ${limits.streamId} bytes.`);
  }
  const passphrase = values.get('passphrase');
  const length = passphrase === undefined ? limits.passphrase : Buffer.byteLength(passphrase);
  if (length < limits.shortestPassphrase || length > limits.passphrase) {
    return bad(`passphrase of the URL must have ${limits.shortestPassphrase} to ${limits.passphrase} bytes.`);
  }
  const keyLength = values.get('pbkeylen');
  if (keyLength !== undefined && !['16', '24', '32'].includes(keyLength)) {
    return bad('pbkeylen of the URL must be 16, 24 or 32.');
  }
  const latency = latencyOf(values.get('latency'), limits);
  if (latency === 'bad') return bad(`latency of the URL must be 0 to ${limits.latency} ms.`);
  const payload = values.get('pkt_size');
  const bytes = /^\d{1,4}$/.test(payload ?? '188') ? Number(payload ?? 188) : 0;
  if (bytes === 0 || bytes > limits.payload || (bytes % 188 !== 0 && bytes !== limits.payload)) {
    return bad(`pkt_size of the URL must be a multiple of 188 up to ${limits.payload}.`);
  }
  return {
    ...{ ok: true, to },
    ...(streamId !== undefined && { streamId }),
    ...(passphrase !== undefined && { passphrase }),
    ...(keyLength !== undefined && { keyLength: Number(keyLength) }),
    ...(latency !== undefined && { latency }),
    ...(payload !== undefined && { payload: bytes }),
  };
}

/** Milliseconds as the SRT project writes it, or, of a number that could not be that, microseconds as ffmpeg does. */
function latencyOf(text: string | undefined, limits: SrtLimits): number | undefined | 'bad' {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) return 'bad';
  const value = Number(text);
  const ms = value > limits.latency ? Math.round(value / 1000) : value;
  return ms > limits.latency ? 'bad' : ms;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const control = /[\0-\x1f\x7f]/;

function bad(message: string): BadSrtUrl {
  return { ok: false, message };
}
