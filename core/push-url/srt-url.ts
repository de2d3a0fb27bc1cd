import { type BadPushUrl, badUrl as bad, type Destination, destination } from './destination.ts';

/** What an `srt://` URL asks for. All of it is a secret. */
export interface SrtUrl {
  readonly ok: true;
  readonly scheme: 'srt';
  readonly to: Destination;
  readonly streamId?: string;
  readonly passphrase?: string;
  /** Bytes: 16, 24 or 32. */
  readonly keyLength?: number;
  /** ms. */
  readonly latency?: number;
  /** Bytes. */
  readonly payload?: number;
}

/** Bounds of the parameters, as libsrt has them; bytes and ms. */
const limits = {
  parameters: 16,
  streamId: 512,
  shortestPassphrase: 10,
  passphrase: 79,
  /** A greater number counts as microseconds, as ffmpeg and OBS write it. */
  latency: 10_000,
  /** A multiple of 188, or this. */
  payload: 1456,
};

/**
 * Reads `srt://host:port?mode=caller&streamid=…&passphrase=…&pbkeylen=16&latency=200&pkt_size=1316&transtype=live` (the SRT
 * project's docs/apps/srt-live-transmit.md, ffmpeg's libsrt). The list of parameters is closed: others would choose a network interface, a
 * file or the part of who is called. A `#` begins no fragment: `streamid=#!::r=…` is how stream ids are written.
 */
export function srtUrl(text: string): SrtUrl | BadPushUrl {
  const match = /^srt:\/\/([^/?#\s]+)\/?(?:\?(.*))?$/is.exec(text);
  if (!match) {
    return bad('expected a URL of srt://, a host, a colon and a port, with a query and without a path');
  }
  const [, authority, query = ''] = match;
  const to = destination(authority, { scheme: 'srt', port: undefined });
  if (!to.ok) return to;
  const values = parametersOf(query);
  if (!(values instanceof Map)) return values;
  const { ok: _, ...server } = to;
  return checked(server, values);
}

const known = ['mode', 'transtype', 'streamid', 'passphrase', 'pbkeylen', 'latency', 'pkt_size'];

function parametersOf(query: string): Map<string, string> | BadPushUrl {
  const values = new Map<string, string>();
  const parts = query === '' ? [] : query.split('&');
  if (parts.length > limits.parameters) {
    return bad(`the URL has more than ${limits.parameters} parameters`);
  }
  for (const [index, part] of parts.entries()) {
    const at = part.indexOf('=');
    const name = at < 0 ? part : part.slice(0, at);
    // Its name is not repeated: it may be a secret that was typed in the wrong place.
    if (!known.includes(name))
      return bad(`parameter ${index + 1} of the URL is not supported: expected only ${known.join(', ')}`);
    if (values.has(name)) return bad(`the parameter ${name} is there twice`);
    const value = decoded(part.slice(at + 1));
    // A line break would be another option to ffmpeg.
    if (at < 0 || value === undefined || value === '' || control.test(value)) {
      return bad(`the parameter ${name} is empty or malformed`);
    }
    values.set(name, value);
  }
  return values;
}

function checked(to: Destination, values: ReadonlyMap<string, string>): SrtUrl | BadPushUrl {
  const mode = values.get('mode') ?? 'caller';
  if (mode !== 'caller') return bad('the parameter mode must be caller: this server calls');
  if ((values.get('transtype') ?? 'live') !== 'live') return bad('the parameter transtype must be live');
  const streamId = values.get('streamid');
  if (streamId !== undefined && Buffer.byteLength(streamId) > limits.streamId) {
    return bad(`the parameter streamid may have at most ${limits.streamId} bytes`);
  }
  const passphrase = values.get('passphrase');
  const length = passphrase === undefined ? limits.passphrase : Buffer.byteLength(passphrase);
  if (length < limits.shortestPassphrase || length > limits.passphrase) {
    return bad(
      `the parameter passphrase must have ${limits.shortestPassphrase} to ${limits.passphrase} bytes`,
    );
  }
  const keyLength = values.get('pbkeylen');
  if (keyLength !== undefined && !['16', '24', '32'].includes(keyLength)) {
    return bad('the parameter pbkeylen must be 16, 24 or 32');
  }
  const latency = latencyOf(values.get('latency'));
  if (latency === 'bad') return bad(`the parameter latency must be 0 to ${limits.latency} ms`);
  const payload = values.get('pkt_size');
  const bytes = /^\d{1,4}$/.test(payload ?? '188') ? Number(payload ?? 188) : 0;
  if (bytes === 0 || bytes > limits.payload || (bytes % 188 !== 0 && bytes !== limits.payload)) {
    return bad(
      `the parameter pkt_size must be a multiple of 188 below ${limits.payload}, or ${limits.payload}`,
    );
  }
  return {
    ...{ ok: true, scheme: 'srt', to },
    ...(streamId !== undefined && { streamId }),
    ...(passphrase !== undefined && { passphrase }),
    ...(keyLength !== undefined && { keyLength: Number(keyLength) }),
    ...(latency !== undefined && { latency }),
    ...(payload !== undefined && { payload: bytes }),
  };
}

/** Milliseconds as the SRT project writes it, or, of a number that could not be that, microseconds as ffmpeg does. */
function latencyOf(text: string | undefined): number | undefined | 'bad' {
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
