/** What a client asks: the request line and the headers, checked and not interpreted further. */
export interface RequestHead {
  readonly method: string;
  /** The whole URL, not yet parsed. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: BodyFraming;
  readonly isHttp10: boolean;
  /** The connection may be used for another request after this one. */
  readonly isKeptAlive: boolean;
  /** The client waits for 100 before it sends the body (RFC 9110 §10.1.1). */
  readonly isExpecting: boolean;
}

/** How the end of a request's body is found: after so many bytes, or by chunks (RFC 9112 §6). */
export type BodyFraming = number | 'chunked';

/** Status of the answer to a head that is no valid request. */
export type HeadRefusal = 400 | 405 | 417 | 501 | 505;

/** Bytes of request line and headers together: node's default. */
export const maxHead = 16_384;
/** Bun's own bound, kept: a browser sends about 20. */
const maxHeaders = 200;
export const methods: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
]);
/** What every server knows, and this one has nowhere. A `Request` cannot have them. */
const nowhere = new Set(['TRACE', 'CONNECT']);
const requestLine = /^([!#$%&'*+.^_`|~\w-]+) ([!-~]+) HTTP\/(\d\.\d)$/;
const nameOf = /^[!#$%&'*+.^_`|~\w-]+$/;
/** Control characters have no place in a head, and a bare CR or LF least of all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const length = /^\d{1,15}$/;

/**
 * Reads a head by RFC 9112, strictly: whatever two readers could take for different requests is refused (request smuggling:
 * two lengths, a length beside chunks, folded lines, bare line ends, spaces around names).
 *
 * @param text the head as latin1, without the empty line at its end
 */
export function requestHead(text: string): RequestHead | HeadRefusal {
  if (forbidden.test(text)) return 400;
  const lineEnd = text.indexOf('\r\n');
  const line = requestLine.exec(lineEnd < 0 ? text : text.slice(0, lineEnd));
  if (!line) return 400;
  const [, method, target, version] = line;
  if (version !== '1.1' && version !== '1.0') return 505;
  if (nowhere.has(method)) return 405;
  if (!methods.has(method)) return 501;
  const headers = lineEnd < 0 ? {} : headersOf(text, lineEnd + 2);
  const isHttp10 = version === '1.0';
  if (headers === undefined || (headers.host === undefined && !isHttp10)) return 400;
  // HTTP/1.0 may have no Host header.
  const url = urlOf(target, headers.host ?? 'localhost');
  const body = framingOf(headers, { isHttp10 });
  if (url === undefined || body === undefined) return 400;
  const expect = headers.expect?.toLowerCase();
  if (expect !== undefined && expect !== '100-continue') return 417;
  return {
    method,
    url,
    headers,
    body,
    isHttp10,
    isKeptAlive: !isHttp10 && !(headers.connection !== undefined && closes(headers.connection)),
    isExpecting: expect !== undefined && !isHttp10,
  };
}

/** The header fields from there on; undefined where one is malformed, or may not be repeated and is. */
function headersOf(text: string, start: number): Record<string, string> | undefined {
  // Without a prototype, so that a header of any name is a header.
  const headers: Record<string, string> = { __proto__: null as never };
  let count = 0;
  for (let at = start; at < text.length; ) {
    const next = text.indexOf('\r\n', at);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(':', at);
    count += 1;
    if (colon < at || colon > end || count > maxHeaders) return undefined;
    const name = text.slice(at, colon);
    const value = trimmed(text, colon + 1, end);
    if (!nameOf.test(name)) return undefined;
    const key = name.toLowerCase();
    const before = headers[key];
    if (before === undefined) headers[key] = value;
    else if (single.has(key)) return undefined;
    else headers[key] = `${before}${key === 'cookie' ? '; ' : ', '}${value}`;
    at = end + 2;
  }
  return headers;
}

/** Two of these could be read as two requests. */
const single = new Set(['host', 'content-length', 'transfer-encoding', 'expect']);

/** That part of the text without the blanks around it: spaces and tabs alone (RFC 9110 §5.6.3), unlike `trim`. */
function trimmed(text: string, start: number, end: number): string {
  let [from, to] = [start, end];
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** Host and port, and nothing that the URL would take for the end of them: `a/metrics?` as a host would be another path. */
const hostPattern = /^[^/\\?#@]+$/;

/**
 * What a URL takes for another path than it looks like: `/a\..\metrics`, `/a/%2e%2e/metrics`. A proxy that lets only some paths
 * through would let it through. No client sends it: they resolve it before (RFC 3986 §5.2.4). Nor has a target a fragment.
 */
const ambiguous = /[\\#]|^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** The origin form, or the absolute form, whose host counts instead of the header (RFC 9112 §3.2). */
function urlOf(target: string, host: string): string | undefined {
  if (!hostPattern.test(host) || ambiguous.test(target)) return undefined;
  if (target.startsWith('/')) return `http://${host}${target}`;
  return /^https?:\/\/[^/?@]+(?:[/?]|$)/i.test(target) ? target : undefined;
}

function framingOf(
  headers: Record<string, string>,
  { isHttp10 }: { isHttp10: boolean },
): BodyFraming | undefined {
  const coding = headers['transfer-encoding'];
  const size = headers['content-length'];
  if (coding !== undefined) {
    const isFine = coding.toLowerCase() === 'chunked' && size === undefined && !isHttp10;
    return isFine ? 'chunked' : undefined;
  }
  if (size === undefined) return 0;
  return length.test(size) ? Number(size) : undefined;
}

function closes(connection: string): boolean {
  return connection
    .toLowerCase()
    .split(',')
    .some((option) => option.trim() === 'close');
}
