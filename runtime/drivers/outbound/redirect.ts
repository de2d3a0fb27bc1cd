import type { OutboundFailure, OutboundRequest } from '../../../core/ports/outbound.ts';
import type { AnswerHead } from './answer-parser.ts';
import { failure } from './failure.ts';
import { redirectedHeaders } from './request-head.ts';
import { type Target, target } from './target.ts';

const followable = new Set([301, 302, 303, 307, 308]);

/**
 * Where an answer sends the request on to (RFC 9110 §15.4), undefined when it does not. To another origin go neither
 * credentials nor any header that might be one; from https never to http.
 */
export function redirect(
  answer: AnswerHead,
  options: { from: Target; request: OutboundRequest; followed: number; urlLength: number },
): { to: Target; request: OutboundRequest } | OutboundFailure | undefined {
  const { from, request, followed, urlLength } = options;
  const { location } = answer.headers;
  if (!followable.has(answer.status) || location === undefined) return undefined;
  if (request.keepsBody && answer.status < 307) return undefined;
  const most = request.redirects ?? 0;
  if (followed >= most)
    return failure('redirects', `${from.origin} redirects once more after ${most} redirects`);
  const to = target(location, { urlLength, base: from });
  if (!to.ok) return failure(to.reason, `${from.origin} redirects to what cannot be followed: ${to.message}`);
  if (from.isSecure && !to.isSecure) {
    return failure('redirects', `${from.origin} redirects to ${to.origin}, which is not encrypted`);
  }
  const { method = 'GET' } = request;
  // As browsers do: only POST becomes GET, an upload must not turn into a download that looks like success.
  const keepsBody = answer.status >= 307 || (answer.status !== 303 && method !== 'POST');
  const { body } = request;
  if (keepsBody && typeof body === 'object' && !(body instanceof Uint8Array) && !body.canRepeat) {
    return failure('redirects', `${from.origin} redirects a body that can be sent only once`);
  }
  const headers = redirectedHeaders(request.headers ?? {}, {
    isSameOrigin: to.origin === from.origin,
    keepsBody,
  });
  if (keepsBody) return { to, request: { ...request, headers } };
  const { body: _, ...rest } = request;
  return { to, request: { ...rest, headers, method: method === 'HEAD' ? 'HEAD' : 'GET' } };
}
