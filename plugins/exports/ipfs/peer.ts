import { CID } from 'multiformats/cid';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  isTemporary,
  type Outbound,
  type OutboundAnswer,
  type OutboundFailure,
  type OutboundRequest,
  retryAfterOf,
} from '../../../core/ports/outbound.ts';
import { asksFrom } from '../to-url.ts';
import { notAllowed, refused, trouble, wrongAnswer } from './faults.ts';
import type { FormBody } from './multipart.ts';

/** How long a pinning service or a Kubo node may take no bytes and say nothing, also when it has the whole file, ms. */
const longestSilence = 300_000;
/** Time for sending a document, or a question, with its answer, ms. */
const documentTime = 60_000;
/** Bytes that are read of an answer. */
const mostAnswerBytes = 65_536;
/** Characters of a CID. */
export const mostCidCharacters = 128;
/** Characters of what a Kubo node says of a failure. */
const mostReasonCharacters = 200;

/** The other side: a pinning service or a Kubo node. */
export interface Peer {
  /** For people: `The pinning service at https://api.pinata.cloud`. */
  readonly title: string;
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** What an answer says of a failure, for people; '' for nothing. Never what we sent it. */
  reasonOf(answer: Readonly<Record<string, unknown>>): string;
}

/** Sends a form for as long as it takes, or a text within a minute. The answer has a status of 200 to 299. */
export async function post(
  peer: Peer,
  options: {
    readonly path: string;
    readonly body: string | FormBody;
    readonly signal: AbortSignal;
    progress?(fraction: number): void;
  },
): Promise<OutboundAnswer> {
  const { path, body, signal, progress } = options;
  const send = (contentType: string, request: OutboundRequest) =>
    peer.outbound.request(`${peer.endpoint}${path}`, {
      ...{ ...request, method: 'POST', maxBytes: mostAnswerBytes, signal },
      headers: { ...peer.headers, 'content-type': contentType },
    });
  const answer =
    typeof body === 'string'
      ? await send('application/json', { body, timeout: documentTime, idleTimeout: documentTime })
      : await send(body.contentType, {
          ...{ body: body.source, timeout: 0, idleTimeout: longestSilence },
          // Credentials that are not good cost nothing, and the answer that says so is heard.
          asksFirst: body.source.length > asksFrom,
          onSent: (bytes) => progress?.(bytes / body.source.length),
        });
  // It may be the cause of whatever else went wrong.
  signal.throwIfAborted();
  const unread = typeof body === 'string' ? undefined : body.problem();
  if (unread !== undefined) throw unread;
  if (!answer.ok) throw failed(answer, peer);
  if (answer.status < 300) return answer;
  throw refusedBy(answer, peer);
}

/** The text of an answer, as far as it may be long. */
export function textOf(answer: OutboundAnswer, { title }: Peer): string {
  if (answer.isCut) throw wrongAnswer(`${title} sent an answer of more than ${mostAnswerBytes} bytes.`);
  return Buffer.from(answer.body).toString('utf8');
}

/** An object, or undefined for all that is none. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** The CID of a file, in its usual form; undefined for all that is none. */
export function fileCid(text: unknown): CID | undefined {
  if (typeof text !== 'string' || text.length > mostCidCharacters) return undefined;
  try {
    const cid = CID.parse(text);
    const isFile = (cid.code === dagPb || cid.code === raw) && cid.multihash.code !== identity;
    return isFile ? cid : undefined;
  } catch {
    return undefined;
  }
}

/** Multicodec table, https://github.com/multiformats/multicodec. */
const dagPb = 0x70;
const raw = 0x55;
const identity = 0x00;

function refusedBy(answer: OutboundAnswer, { title, clock, reasonOf }: Peer): Error {
  const { status } = answer;
  const reason = reasonOf(objectOf(Buffer.from(answer.body).toString('utf8')) ?? {});
  const why = reason === '' ? '' : `: ${reason}`;
  if (status < 400)
    return refused(
      `${title} answered with a redirect (${status}), which is not followed. Set the address that it leads to.`,
    );
  if (isTemporary(status))
    return trouble(`${title} answered ${status}${why}.`, retryAfterOf(answer, { now: clock.now() }));
  return refused(`${title} ${meanings[status] ?? 'does not take it'} (${status}${why}).`);
}

const meanings: Readonly<Record<number, string>> = {
  400: 'takes the request for a wrong one',
  401: 'does not accept the credentials',
  402: 'wants to be paid',
  403: 'does not allow it with these credentials',
  404: 'has nothing at the path that it should have; is the address the right one?',
  413: 'does not take a file as large as this',
};

function failed({ reason, message }: OutboundFailure, { title }: Peer): Error {
  switch (reason) {
    case 'refused':
      return notAllowed(`${title} cannot be called: ${message}.`);
    case 'bad-url':
    case 'bad-request':
      return refused(`${title} cannot be called: ${message}.`);
    default:
      return trouble(`${title} could not be reached: ${message}.`);
  }
}

/** Text of others in one of our sentences. */
export function said(text: unknown): string {
  if (typeof text !== 'string') return '';
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, mostReasonCharacters)
    .trim()
    .replace(/\.$/, '');
}
