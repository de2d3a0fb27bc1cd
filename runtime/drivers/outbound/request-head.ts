import {
  failure,
  type OutboundFailure,
  type OutboundRequest,
  type OutboundSource,
} from '../../../core/ports/outbound.ts';
import type { AnswerHead } from './answer-parser.ts';
import { type Target, target } from './target.ts';

export const mostHeaders = 64;
/** Bytes of names and values of all headers together. */
export const mostHeaderBytes = 16 * 1024;
/** Redirects that a caller may ask to be followed. */
export const mostRedirects = 3;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** RFC 9110 §5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 §5.5, without bytes that are not ASCII: nobody agrees what those mean. */
const fieldValue = /^[\t\x20-\x7e]*$/;
/** Where a message goes, where it ends and what becomes of its connection is the client's to say (RFC 9110 §7.6.1). */
const owned = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect',
  'accept-encoding',
]);
/** What may follow to another origin; any other header may be a credential. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'user-agent', 'range', 'if-range']);

/** What is wrong with the method, headers and bounds that a caller gave. */
export function requestProblem(request: OutboundRequest): OutboundFailure | undefined {
  const { method = 'GET', headers = {}, redirects = 0 } = request;
  if (!methods.has(method)) return failure('bad-request', `expected a method of ${[...methods].join(', ')}`);
  if (request.body !== undefined && (method === 'GET' || method === 'HEAD')) {
    return failure('bad-request', `${method} has no body`);
  }
  if (!Number.isInteger(redirects) || redirects < 0 || redirects > mostRedirects) {
    return failure('bad-request', `expected 0 to ${mostRedirects} redirects`);
  }
  const entries = Object.entries(headers);
  if (entries.length > mostHeaders) {
    return failure('bad-request', `more than ${mostHeaders} headers`);
  }
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 64));
    if (!token.test(name)) return failure('bad-request', `${shown} cannot be the name of a header`);
    if (owned.has(lower)) return failure('bad-request', `the header ${shown} is set by the server`);
    if (seen.has(lower)) return failure('bad-request', `the header ${shown} is given twice`);
    if (typeof value !== 'string' || !fieldValue.test(value)) {
      return failure(
        'bad-request',
        `the value of the header ${shown} has characters that no header can carry`,
      );
    }
    seen.add(lower);
    bytes += name.length + value.length;
  }
  if (bytes > mostHeaderBytes) {
    return failure('bad-request', `headers of more than ${mostHeaderBytes} bytes`);
  }
  return undefined;
}

/** The head of a request as it is sent (RFC 9112 §3), for values that `requestProblem` found nothing wrong with. */
export function requestHead(
  to: Target,
  options: {
    method: string;
    headers: Readonly<Record<string, string>>;
    length: number | undefined;
    asksFirst: boolean;
  },
): string {
  const { method, headers, length, asksFirst } = options;
  let head = `${method} ${to.path} HTTP/1.1\r\nHost: ${to.authority}\r\n`;
  let hasAgent = false;
  for (const [name, value] of Object.entries(headers)) {
    hasAgent ||= name.toLowerCase() === 'user-agent';
    head += `${name}: ${value}\r\n`;
  }
  if (!hasAgent) head += 'User-Agent: Millrace\r\n';
  // A bomb of compressed bytes cannot go off in what is never decompressed.
  head += 'Accept-Encoding: identity\r\n';
  if (asksFirst) head += 'Expect: 100-continue\r\n';
  // Sent for methods that may have a body even when there is none (RFC 9110 §8.6).
  if (length !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH') {
    head += `Content-Length: ${length ?? 0}\r\n`;
  }
  return `${head}\r\n`;
}

const followable = new Set([301, 302, 303, 307, 308]);

/**
 * Where an answer redirects the request (RFC 9110 §15.4), undefined when it does not. Another origin receives neither
 * credentials nor any header that might be one; https never leads to http.
 */
export function redirect(
  answer: AnswerHead,
  options: { from: Target; request: OutboundRequest; followed: number; urlLength: number },
): { to: Target; request: OutboundRequest } | OutboundFailure | undefined {
  const { from, request, followed, urlLength } = options;
  const { status } = answer;
  const { location } = answer.headers;
  const { method = 'GET', body, redirects = 0, headers = {} } = request;
  if (redirects === 0 || !followable.has(status) || location === undefined) return undefined;
  if (request.keepsBody && status < 307) return undefined;
  if (followed >= redirects)
    return failure('redirects', `${from.origin} redirects once more after ${redirects} redirects`);
  const to = target(location, { urlLength, base: from });
  if (!to.ok) return failure(to.reason, `${from.origin} redirects to what cannot be followed: ${to.message}`);
  if (from.isSecure && !to.isSecure)
    return failure('redirects', `${from.origin} redirects to ${to.origin}, which is not encrypted`);
  // As browsers do: only POST becomes GET, an upload must not turn into a download that looks like success.
  const keepsBody = status >= 307 || (status !== 303 && method !== 'POST');
  if (keepsBody && isSource(body) && !body.canRepeat)
    return failure('redirects', `${from.origin} redirects a body that can be sent only once`);
  const passedOn = Object.entries(headers).filter(([name]) => {
    const lower = name.toLowerCase();
    if (!keepsBody && lower.startsWith('content-')) return false;
    return to.origin === from.origin || harmless.has(lower);
  });
  const next = { ...request, headers: Object.fromEntries(passedOn) };
  if (keepsBody) return { to, request: next };
  const { body: _, ...rest } = next;
  return { to, request: { ...rest, method: method === 'HEAD' ? 'HEAD' : 'GET' } };
}

export function isSource(body: OutboundRequest['body']): body is OutboundSource {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}
