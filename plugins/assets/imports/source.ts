import { decoded } from '../../../core/base/plain-text.ts';
import { shownUrl } from './shown-url.ts';

/** Longest name of an asset that is taken from a URL, characters. */
const mostNameCharacters = 200;

/** The source of an import, read from its URL. */
export interface Source {
  /** The URL to request: without user, password and fragment. */
  readonly url: string;
  /** User and password of the URL as a header (RFC 7617). */
  readonly headers: Readonly<Record<string, string>>;
  /** The URL for its owner, without secrets. */
  readonly shown: string;
  /** The name of the file, if the client gives none. */
  readonly name: string;
}

/** Undefined: it is not a URL. `Outbound.problem` checks whether it may be requested. */
export function sourceOf(text: string): Source | undefined {
  const url = URL.parse(text);
  if (!url) return undefined;
  const { username, password } = url;
  const shown = shownUrl(url);
  const isAnonymous = username === '' && password === '';
  const token = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  url.username = '';
  url.password = '';
  url.hash = '';
  const { href } = url;
  return {
    url: href,
    headers: isAnonymous ? {} : { authorization: `Basic ${token}` },
    shown,
    name: nameOf(url),
  };
}

function nameOf({ pathname, hostname }: URL): string {
  const last = decoded(pathname.slice(pathname.lastIndexOf('/') + 1));
  const clean = last.toWellFormed().replace(unfit, ' ').replace(/\s+/g, ' ').trim();
  return [...(clean || hostname)].slice(0, mostNameCharacters).join('');
}

/** Control, unassigned and invisible characters, and those that change the direction of text. */
const unfit = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd]/gu;
