import { type Client, millrace } from '../sdk/client/index.ts';
import { exits, Failure, type Given, type Options, text } from './command.ts';
import { readCredentials } from './credentials.ts';

/** Options of every command that calls a server. */
export const serverOptions = {
  server: {
    type: 'string',
    value: 'URL',
    summary: 'the server. Default: MILLRACE_URL, the one of `millrace login`, or http://127.0.0.1:8080',
  },
  key: {
    type: 'string',
    value: 'KEY',
    summary: 'the API key. Default: MILLRACE_KEY, or the one of `millrace login` for this server',
  },
  json: { type: 'boolean', summary: 'prints JSON: one document, or one line for each thing that happens' },
} as const satisfies Options;

const defaultServer = 'http://127.0.0.1:8080';

/** A server, and how a command calls it. */
export interface Connection {
  readonly client: Client;
  readonly url: string;
  readonly key: string;
  readonly isJson: boolean;
}

export interface Place {
  readonly url: string;
  /** Undefined where nobody has named one for this server. */
  readonly key: string | undefined;
}

/** Where the server is, and the key for it. A stored key goes to no other server than the one it was stored with. */
export async function placeOf({ options }: Given): Promise<Place> {
  const stored = await readCredentials();
  const [from, given] = [
    ['--server', text(options.server)] as const,
    ['MILLRACE_URL', process.env.MILLRACE_URL] as const,
    ['the stored server', stored?.server] as const,
  ].find(([, value]) => value) ?? ['', defaultServer];
  const url = serverUrl(given ?? defaultServer);
  if (url === undefined)
    throw new Failure(
      `${from}: expected a URL such as https://video.example.com.`,
      from === '--server' ? exits.usage : exits.config,
    );
  const storedKey = stored && serverUrl(stored.server) === url ? stored.key : undefined;
  return { url, key: text(options.key) || process.env.MILLRACE_KEY || storedKey };
}

/** The URL in one form, without a slash at its end. Undefined: it is none of a server. */
export function serverUrl(given: string): string | undefined {
  if (!/^https?:\/\//i.test(given) || !URL.canParse(given)) return undefined;
  const { origin, pathname } = new URL(given);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/** What a key can consist of: it is sent in a header. */
export const keyPattern = /^[!-~]+$/;

/** Rejects with a `Failure` where there is no key. */
export async function connectionOf(given: Given): Promise<Connection> {
  const { url, key } = await placeOf(given);
  if (key === undefined)
    throw new Failure(
      `there is no API key for ${url}. Run \`millrace login\`, or set MILLRACE_KEY.`,
      exits.notAllowed,
    );
  if (!keyPattern.test(key))
    throw new Failure('the API key has characters that no key has. Copy it again.', exits.notAllowed);
  return { client: clientOf({ url, key }), url, key, isJson: given.options.json === true };
}

/** A server that says nothing for so long is taken as away, ms. */
const longestSilence = 60_000;

/**
 * `onAnswer` is called with each success, such as that of an event stream which then stays open. `silence`: ms without an answer after
 * which the server cannot be reached.
 */
export function clientOf(
  { url, key }: Place,
  options: { onAnswer?: () => void; silence?: number } = {},
): Client {
  return millrace({ baseUrl: url, ...(key !== undefined && { key }), fetch: sendTo(url, options) });
}

/** Sends a request to the server at `url`; rejects with a `Failure` where no Millrace server answers. */
export function sendTo(
  url: string,
  { onAnswer, silence = longestSilence }: { onAnswer?: () => void; silence?: number } = {},
): (request: Request) => Promise<Response> {
  return async (request) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer in ${silence / 1000} s`)), silence);
    const signal = AbortSignal.any([request.signal, late.signal]);
    const response = await fetch(request, { signal })
      .catch((error: unknown) => {
        request.signal.throwIfAborted();
        throw unreachable(url, late.signal.aborted ? late.signal.reason : error);
      })
      .finally(() => clearTimeout(timer));
    if (!response.ok) return response;
    if (isPage(response)) throw stranger(url, response.status);
    onAnswer?.();
    return response;
  };
}

/** Another server, such as one for web sites, answers everything with a page; no call of an API does. */
function isPage({ headers }: Response): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '');
}

/** @param status what it answered with */
export function stranger(url: string, status: number): Failure {
  return new Failure(`${url} answers, but not as a Millrace server does (${status}). Check the URL.`);
}

function unreachable(url: string, error: unknown): Failure {
  const why =
    error instanceof Error ? error.message.replace(/[.?\s]*( Is the computer.*)?$/, '') : String(error);
  if (/redirect/i.test(why))
    return new Failure(
      `${url} sends elsewhere, and no key goes there. Name the server by the URL that it sends to, such as one with https.`,
    );
  return new Failure(
    `the server at ${url} cannot be reached (${why}). Start it, or name another one with --server.`,
    exits.unreachable,
  );
}
