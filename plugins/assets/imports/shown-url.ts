/**
 * A URL as its owner is shown it: whole, but `***` in place of what is secret in known places: user and password, values named
 * like a signature, token or key in the query or path, tokens that are JWTs, and the same in a URL that is such a value. Without
 * its fragment, which is never sent.
 */
export function shownUrl(given: URL, depth = 0): string {
  const url = new URL(given);
  const hasUser = url.username !== '' || url.password !== '';
  url.username = '';
  url.password = '';
  url.hash = '';
  const show = (text: string) =>
    text.replace(pair, (_, name: string, value: string) => `${name}=${shownValue(value, { name, depth })}`);
  // `/exp=1~hmac=5f1c/` and `;jsessionid=5f1c` are found in paths.
  url.pathname = show(url.pathname);
  const query = show(url.search);
  url.search = '';
  const text = `${url.href}${query}`;
  return hasUser ? text.replace('://', `://${hidden}@`) : text;
}

function shownValue(value: string, { name, depth }: { name: string; depth: number }): string {
  const plain = decoded(value);
  if (isSecretName(decoded(name)) || jwt.test(plain)) return hidden;
  const inner = /^https?:/i.test(plain) ? URL.parse(plain) : null;
  if (!inner) return value;
  return depth < deepest ? encodeURIComponent(shownUrl(inner, depth + 1)) : hidden;
}

const hidden = '***';
/** A URL in a value of a URL, and one in that. */
const deepest = 2;
const pair = /([^?&/;~=]+)=([^&/;~]*)/g;
const jwt = /^(bearer\s+)?eyJ[\w-]+\.[\w-]+\.[\w-]*$/i;

/**
 * Names that storage, CDNs and APIs give to what lets somebody in: `X-Amz-Signature`, `AWSAccessKeyId`, `Key-Pair-Id`, `sig`,
 * `hdnts`, `access_token`, … Too many are hidden rather than too few.
 */
function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secretWords.has(word) || secretEnd.test(word));
}

const secretWords = new Set([
  ...[
    'sig',
    'sign',
    'signed',
    'hmac',
    'hash',
    'md5',
    'sha256',
    'st',
    'verify',
    'policy',
    'ticket',
    'otp',
    'code',
  ],
  ...[
    'auth',
    'authorization',
    'credential',
    'credentials',
    'access',
    'jwt',
    'session',
    'sessionid',
    'jsessionid',
    'sid',
  ],
  ...['pass', 'passwd', 'pwd', 'pin', 'user', 'username', 'hdnts', 'hdnea', 'hdntl', 'gda', 'wmsauthsign'],
]);
const secretEnd = /(key|token|secret|signature|password|passphrase)$/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
