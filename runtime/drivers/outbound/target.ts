import { type Host, hostOf, isRefusedPort } from '../../../core/base/host.ts';
import { didYouMeanScheme } from '../../../core/base/near-miss.ts';
import { failure, type OutboundFailure } from '../../../core/ports/outbound.ts';
import { outboundLimits } from './limits.ts';

/** What is connected to, whatever is spoken there. */
export interface Place extends Host {
  readonly isSecure: boolean;
  readonly port: number;
  /** What messages call it, and all that they tell of it: `https://example.com:8443`, or `the server` where even that is a secret. */
  readonly origin: string;
}

/** Where a request goes, read from its URL. */
export interface Target extends Place {
  readonly ok: true;
  /** What the Host header says. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly url: string;
}

/**
 * Reads a URL as WHATWG says, so that `http://0x7f.1`, `http://1２7.0.0.1` and the like are what a browser takes
 * them for. Refused are other schemes, user and password, names that DNS cannot have, and some ports.
 */
export function target(
  text: string,
  { urlLength = outboundLimits.urlLength, base }: { urlLength?: number; base?: Target } = {},
): Target | OutboundFailure {
  if (text.length > urlLength) {
    return failure('bad-url', `the URL is longer than ${urlLength} characters`);
  }
  const url = URL.parse(text, base?.url);
  if (!url) return failure('bad-url', 'expected a URL such as https://example.com/path');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const hint = didYouMeanScheme(url.protocol, ['http', 'https']);
    return failure('bad-url', `expected an http or https URL, not ${url.protocol.slice(0, 40)}${hint}`);
  }
  if (url.username !== '' || url.password !== '') {
    return failure('bad-url', 'a URL with a user or password is not accepted');
  }
  const isSecure = url.protocol === 'https:';
  const named = hostOf(url.hostname);
  if (!named) return failure('bad-url', `${url.host} is not a name that DNS can have`);
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (isRefusedPort(port)) return failure('bad-url', `port ${port} is not one that HTTP is spoken on`);
  return {
    ok: true,
    isSecure,
    ...named,
    port,
    origin: url.origin,
    authority: url.host,
    path: `${url.pathname}${url.search}`,
    url: `${url.origin}${url.pathname}${url.search}`,
  };
}
