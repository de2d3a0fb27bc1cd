/**
 * A URL as its owner sees it, with `***` in place of secrets: user and password, JWTs, values in query or path that are named like a
 * signature, token or key, and the same in URLs inside of values. Without its fragment, which is never sent.
 */
export function shownUrl(given: URL): string {
  const url = new URL(given);
  const hasUser = url.username !== '' || url.password !== '';
  url.username = '';
  url.password = '';
  url.hash = '';
  url.pathname = shownPath(url.pathname);
  const query = shownQuery(url.search, 0);
  url.search = '';
  const text = `${url.href}${query}`;
  return hasUser ? text.replace('://', `://${hidden}@`) : text;
}

/** In a query only `&` ends a value: signatures in base64 hold `/`, and tokens of CDNs `~`. */
function shownQuery(query: string, depth: number): string {
  const pairs = query.slice(1).split('&');
  const shown = pairs.map((one) => {
    const [, name, value] = /^([^=]*)=(.+)$/s.exec(one) ?? [];
    if (name === undefined) return shownValue(one, depth);
    return `${name}=${isSecretName(decoded(name)) ? hidden : shownValue(value, depth)}`;
  });
  return `${query.slice(0, 1)}${shown.join('&')}`;
}

/** A value may be a URL with its own query, complete or without its beginning, or end with more pairs. */
function shownValue(value: string, depth: number): string {
  const plain = decoded(value);
  if (jwt.test(plain)) return hidden;
  const end = plain.search(/[?&]/);
  const path = end < 0 ? plain : plain.slice(0, end);
  const query = plain.slice(path.length);
  if (query !== '' && depth >= deepest) return hidden;
  const shown = `${shownPath(path).replace(user, `//${hidden}@`)}${query && shownQuery(query, depth + 1)}`;
  if (shown === plain) return value;
  return value === plain ? shown : encodeURIComponent(shown);
}

/** `exp=1~hmac=5f1c` and `;jsessionid=5f1c` are found in paths. */
function shownPath(path: string): string {
  const parts = path.split(/([/;~])/).map((part) => {
    const plain = decoded(part);
    if (jwt.test(plain)) return hidden;
    const [, name, value] = /^([^=]*)=(.+)$/s.exec(plain) ?? [];
    const isSecret = name !== undefined && (isSecretName(name) || jwt.test(value));
    return isSecret ? `${part.slice(0, part.search(/=|%3d/i))}=${hidden}` : part;
  });
  return parts.join('');
}

const hidden = '***';
/** A URL in a value of a URL, and one in that. */
const deepest = 2;
const user = /\/\/[^/#@]*@/;
const jwt = /^(bearer\s+)?eyJ[\w-]+\.[\w-]+\.[\w-]*$/i;

/**
 * Names that storage, CDNs and APIs use for secrets: `X-Amz-Signature`, `AWSAccessKeyId`, `Key-Pair-Id`, `sig`,
 * `hdnts`, `access_token`, … Too many are hidden rather than too few.
 */
function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secretWords.has(word) || secretEnd.test(word));
}

const secretWords = new Set(
  [
    'sig sign signed hmac hash md5 sha256 st verify policy ticket otp code auth oauth bearer',
    'authorization credential credentials access jwt session sessionid jsessionid sid pass passwd',
    'passcode pwd pw pin user username hdnts hdnea hdntl gda wmsauthsign',
  ].flatMap((words) => words.split(' ')),
);
const secretEnd = /(key|token|secret|signature|password|passphrase)$/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
