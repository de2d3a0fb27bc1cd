import { hash } from 'node:crypto';
import { ByteLru } from '../../core/base/byte-lru.ts';
import { uuid } from '../../core/base/ids.ts';
import { plainText } from '../../core/base/plain-text.ts';
import { hmac, plainHeaders, standardHeaders } from '../../core/base/standard-webhook.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { OutboundAnswer, OutboundFailure } from '../../core/ports/outbound.ts';
import { PerMinute } from './per-minute.ts';
import { Slots } from './slots.ts';

/** What somebody's server is asked. */
export interface Question {
  /** Whose server it is. */
  readonly account: string;
  /** Who asks for what: questions with one key, address and origin have one answer. */
  readonly key: string;
  /** As it is sent. Long texts in it are cut. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly isAllowed: boolean;
  /** A sentence for the owner. */
  readonly reason: string;
  /** Nobody was asked, as too many are. A repeat may be allowed. */
  readonly isBusy?: true;
}

/** Where it is asked. */
export interface Asking {
  readonly url: string;
  /** What counts when there is no answer, or one that is neither yes nor no. */
  readonly onError: 'refuse' | 'allow';
  /** Signs the request, if there is one. */
  readonly secret: () => Promise<string | undefined>;
  /** The answer is for this question alone. */
  readonly isFresh?: true;
}

export type Ask = (question: Question & Asking) => Promise<Answer>;

/** Time for a slot and the answer, ms: what is said here is said before `decisions.timeout`, 3 s, makes it a failure of the plugin. */
const timeout = 2800;
/** Of that, for a slot. */
const patience = 1500;
const maxAnswerBytes = 4096;
/** A wait for a slot that leaves too little time to tell whether a server is away, ms. */
const notable = 100;
/** How long a yes counts, s: what its `maxAge` says, or by default. */
const defaultAge = 60;
const longestAge = 86_400;
/** How long a no counts, ms: viewers who were let in meanwhile get in, and players that try again and again cost one question. */
const refusedFor = 5000;
/** How long nobody is asked after as many failures in a row, ms: while a server is away, no viewer waits for it. */
const restFor = 5000;
const failuresBeforeRest = 5;
/** Hosts whose failures are remembered. */
const maxHosts = 10_000;

/** Questions at a time: in all, to one host of one account, about one thing, and of one address about it. */
const mostAtOnce = 256;
const mostOfHost = 64;
const mostOfSubject = 32;
const mostOfAddress = 8;
/** Who waits for a slot. */
const mostWaiting = 2000;

/** Answers in memory. Strangers with made-up tokens get a no, which never takes the room of a yes. */
const cacheBytes = { yes: 16 * 1_048_576, no: 2 * 1_048_576 };
const entryBytes = 250;

/** Characters of a text in a question. */
const maxText = 1024;
const maxToken = 4096;

type AskerKit = Pick<Kit, 'clock' | 'log' | 'outbound' | 'signal'>;

/** Asks servers of accounts. Their answers are remembered, and no account can keep the others from asking. */
export function asker(kit: AskerKit, bytes = cacheBytes): Ask {
  const { clock } = kit;
  const yes = new ByteLru<Answer>({ bytes: bytes.yes });
  const no = new ByteLru<Answer>({ bytes: bytes.no });
  const running = new Map<string, Promise<Answer>>();
  const slots = new Slots({ clock, most: mostWaiting, patience });
  const hosts = new Hosts();
  const rates = new PerMinute();

  const askNow = async (question: Question & Asking, key: string): Promise<Answer> => {
    const { url, account, onError, isFresh } = question;
    const host = `${account} ${new URL(url).host}`;
    const from = clock.now();
    if (hosts.isResting(host, from)) return failed(onError, 'it has failed several times in a row');
    const address = typeof question.body.ip === 'string' ? question.body.ip : undefined;
    if (!rates.take({ host, account, address }, from)) return busy;
    const leave = await slots.enter(sharesOf(question, host));
    if (!leave) return busy;
    try {
      if (!hosts.mayAsk(host, clock.now())) return failed(onError, 'it has failed several times in a row');
      const waited = clock.now() - from;
      const answer = await send(question, { ...kit, timeout: timeout - waited });
      // Too many requests of ours say nothing about the server.
      if (!answer.ok && answer.reason === 'busy') return busy;
      const verdict = verdictOf(answer);
      // One that got less time than others says little about the server.
      if (waited < notable || !('problem' in verdict))
        hosts.note(host, { isFailure: 'problem' in verdict, now: clock.now() });
      if ('problem' in verdict) {
        kit.log.debug('a webhook did not decide', { host, reason: verdict.problem });
        return failed(onError, verdict.problem);
      }
      const { isAllowed, lasts } = verdict;
      const said = isAllowed ? allowed : refused;
      if (!isFresh && lasts > 0)
        (isAllowed ? yes : no).reserve(entryBytes)?.keep(key, said, { until: clock.now() + lasts });
      return said;
    } finally {
      leave();
    }
  };

  return async (question) => {
    const key = keyOf(question);
    const now = clock.now();
    if (question.isFresh) return askNow(question, key);
    const known = yes.get(key, now) ?? no.get(key, now);
    if (known) return known;
    const asked = running.get(key);
    if (asked) return asked;
    const asking = askNow(question, key).finally(() => running.delete(key));
    running.set(key, asking);
    return asking;
  };
}

const allowed: Answer = { isAllowed: true, reason: 'The webhook allowed it.' };
const refused: Answer = { isAllowed: false, reason: 'The webhook refused it.' };
const busy: Answer = {
  isAllowed: false,
  reason: 'Too many viewers are being asked about at once.',
  isBusy: true,
};

function failed(onError: Asking['onError'], problem: string): Answer {
  return { isAllowed: onError === 'allow', reason: `The webhook did not decide: ${problem}.` };
}

function keyOf({ account, url, key, body }: Question & Asking): string {
  const text = JSON.stringify([account, url, key, body.ip, body.origin]);
  return hash('sha256', text, 'base64url');
}

function sharesOf({ body, account }: Question, host: string) {
  const subject = `${account} ${body.playbackId ?? body.streamId ?? ''}`;
  return [
    { name: 'all', most: mostAtOnce },
    { name: `host ${host}`, most: mostOfHost },
    { name: `of ${subject}`, most: mostOfSubject },
    { name: `from ${body.ip} ${subject}`, most: mostOfAddress },
  ];
}

async function send(
  { url, account, body, secret }: Question & Asking,
  { clock, outbound, signal, timeout }: AskerKit & { readonly timeout: number },
): Promise<OutboundAnswer | OutboundFailure> {
  const text = JSON.stringify(bounded(body));
  const key = await secret();
  const headers = standardHeaders({
    ...{ deliveryId: uuid(), timestamp: Math.floor(clock.now() / 1000), body: text },
    sign: (signed) => (key === undefined ? [] : [hmac(signed, { secret: key, encoding: 'base64' })]),
  });
  return outbound.request(url, {
    ...{ method: 'POST', headers: { ...plainHeaders, ...headers }, body: text, owner: account, signal },
    // Asking twice is harmless, so a kept connection may be used.
    ...{ redirects: 0, repeatable: true },
    ...{ timeout, idleTimeout: timeout, connectTimeout: timeout, maxBytes: maxAnswerBytes },
  });
}

function bounded(body: Question['body']): Record<string, unknown> {
  const cut = (name: string, value: unknown) =>
    typeof value === 'string' ? value.slice(0, name === 'token' ? maxToken : maxText) : value;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, cut(name, value)]));
}

type Verdict = { readonly isAllowed: boolean; readonly lasts: number } | { readonly problem: string };

/** 2xx is yes, 4xx no; everything else, a longer answer among that, is neither. `lasts`: ms. */
function verdictOf(answer: OutboundAnswer | OutboundFailure): Verdict {
  if (!answer.ok) return { problem: plainText(answer.message) };
  const { status, isCut, body } = answer;
  if (status >= 400 && status < 500) return { isAllowed: false, lasts: refusedFor };
  if (status < 200 || status >= 300) return { problem: `it answered ${status}` };
  if (isCut) return { problem: `its answer has more than ${maxAnswerBytes} bytes` };
  return { isAllowed: true, lasts: ageIn(body) * 1000 };
}

/** Seconds. Of anything but a number from 0 up the default. */
function ageIn(body: Uint8Array): number {
  try {
    const age = (JSON.parse(new TextDecoder().decode(body)) as { maxAge?: unknown } | null)?.maxAge;
    return typeof age === 'number' && age >= 0 ? Math.min(age, longestAge) : defaultAge;
  } catch {
    return defaultAge;
  }
}

/** Which servers have failed lately. */
class Hosts {
  readonly #failing = new Map<string, { failures: number; until: number }>();

  isResting(host: string, now: number): boolean {
    return (this.#failing.get(host)?.until ?? 0) > now;
  }

  /** After a rest one question is let through, and those that come before its outcome are not. */
  mayAsk(host: string, now: number): boolean {
    const failing = this.#failing.get(host);
    if (!failing || failing.failures < failuresBeforeRest) return true;
    if (failing.until > now) return false;
    failing.until = now + timeout;
    return true;
  }

  note(host: string, { isFailure, now }: { isFailure: boolean; now: number }): void {
    const failures = isFailure ? (this.#failing.get(host)?.failures ?? 0) + 1 : 0;
    this.#failing.delete(host);
    if (failures === 0) return;
    this.#failing.set(host, { failures, until: failures >= failuresBeforeRest ? now + restFor : 0 });
    const [oldest = ''] = this.#failing.keys();
    if (this.#failing.size > maxHosts) this.#failing.delete(oldest);
  }
}
