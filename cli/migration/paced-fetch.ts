import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../command.ts';

/** Of one answer, bytes: far more than a page of any list has. */
const mostBytes = 32 * 1024 * 1024;
/** A server that asks for more patience is not asked again, s. */
const longestWait = 600;
const attempts = 8;
/** Before a request that got no answer is sent again, ms; twice as long each time. */
const firstPause = 500;
/** A server that says nothing for so long is taken as away, ms. */
const longestSilence = 60_000;

type Send = (request: Request) => Promise<Response>;

/**
 * Sends requests, and waits where a server asks for it: after 429 and 503 nothing is sent until `Retry-After` is over. Requests that may
 * be repeated, all but a POST without `Idempotency-Key`, are sent again when no answer came.
 */
export function pacedFetch(
  send: Send,
  { signal, onWait = () => {} }: { signal: AbortSignal; onWait?: (seconds: number) => void },
): Send {
  let heldUntil = 0;
  const turn = async () => {
    for (let wait = heldUntil - Date.now(); wait > 0; wait = heldUntil - Date.now())
      await sleep(wait, undefined, { signal });
  };
  return async (request) => {
    for (let attempt = 1; ; attempt += 1) {
      await turn();
      const pause = firstPause * 2 ** (attempt - 1);
      const isLast = attempt >= attempts;
      let response: Response;
      try {
        response = await send(request.clone());
      } catch (error) {
        if (signal.aborted || isLast || !isRepeatable(request) || isFinal(error)) throw error;
        await sleep(pause, undefined, { signal });
        continue;
      }
      const isPushedBack = response.status === 429 || response.status === 503;
      const isBroken = response.status === 502 || response.status === 504;
      if (isLast || !(isPushedBack || (isBroken && isRepeatable(request)))) return response;
      const asked = isPushedBack ? secondsOf(response) : undefined;
      if (asked !== undefined && asked > longestWait) return response;
      await response.body?.cancel();
      const wait = asked === undefined ? pause : asked * 1000;
      if (isPushedBack) {
        heldUntil = Math.max(heldUntil, Date.now() + wait);
        onWait(wait / 1000);
      } else await sleep(wait, undefined, { signal });
    }
  };
}

/** `Retry-After` in seconds, as a number or a date. */
export function secondsOf({ headers }: Pick<Response, 'headers'>, now = Date.now()): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}

function isRepeatable({ method, headers }: Request): boolean {
  return method !== 'POST' || headers.has('idempotency-key');
}

/** It would go wrong again. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && /redirect/i.test(error.message);
}

/** An answer of another platform. */
export interface Answer {
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
  readonly headers: Headers;
}

export interface Platform {
  readonly base: string;
  readonly authorization: string;
  readonly send: Send;
  /** Named in messages. */
  readonly name: string;
}

/** Calls the API of another platform. Rejects with a `Failure` where it cannot be reached, or does not accept the credentials. */
export async function call(
  platform: Platform,
  { method = 'GET', path, body }: { method?: string; path: string; body?: unknown },
): Promise<Answer> {
  const { base, authorization, send, name } = platform;
  const request = new Request(`${base}${path}`, {
    method,
    headers: {
      accept: 'application/json',
      authorization,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    // The credentials go to no other host.
    redirect: 'error',
    signal: AbortSignal.timeout(longestSilence * attempts),
  });
  const response = await send(request).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(`${name} cannot be reached at ${base} (${why}).`);
  });
  const { status, headers } = response;
  if (status === 401) throw new Failure(`${name} does not accept the credentials (401).`, 77);
  return { status, headers, body: parsed(await bounded(response)) };
}

/** The same for what has to be there. */
export async function got(platform: Platform, path: string): Promise<Answer> {
  const answer = await call(platform, { path });
  if (answer.status >= 200 && answer.status < 300 && answer.body !== undefined) return answer;
  throw new Failure(`${platform.name} answered ${answer.status} to GET ${path.split('?')[0]}.`);
}

async function bounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.byteLength;
    if (size > mostBytes) throw new Failure(`an answer has more than ${mostBytes} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
