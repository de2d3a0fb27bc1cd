import { shownUrl } from './shown-url.ts';

/** Characters of the file name in the URL that become the name of the asset. */
const mostNameCharacters = 200;

/** Where a file is imported from, as its URL says. */
export interface Source {
  /** What is asked for: the URL without user, password and fragment. */
  readonly url: string;
  /** User and password of the URL, as the header that says the same (RFC 7617). */
  readonly headers: Readonly<Record<string, string>>;
  /** What its owner is shown: without what is secret in it. */
  readonly shown: string;
  /** The file's name, for whoever gave none. */
  readonly name: string;
}

/** Undefined: it is no URL. Whether it may be asked is for `Outbound.problem` to say. */
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

/** `%20` becomes a space; what is no UTF-8 stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Control characters, what has no meaning yet or hides, and what changes the direction of what is read. */
const unfit = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd]/gu;
