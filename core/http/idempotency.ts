import { createHash } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import { uuid } from '../base/ids.ts';
import { deletedRow } from '../plugin/deleted-row.ts';
import type { Kit } from '../plugin/plugin.ts';
import type { ResourceCommit, Store, StoredResource } from '../ports/store.ts';
import { bodyBytes } from './body.ts';
import { addressed, type Caller, unaddressed } from './caller.ts';
import { formatted } from './http.ts';
import { quota } from './quota.ts';

/** Of the rows that hold answers. */
export const idempotencyKind = 'idempotency';
const kind = idempotencyKind;
/** How long an answer is remembered, ms from the moment its request began. */
const lifetime = 24 * 3_600_000;
/** How long a repeat waits for the request that is still running, ms. */
const patience = 10_000;
/** How often a repeat looks whether there is an answer, ms. */
const poll = 250;
/** Answers remembered for one account; beyond them a request with a key is refused, one without goes on. */
const maxRecords = 1_000_000;
/** These depend on which key asks, and when; the account may be answered differently next time. */
const passing: ReadonlySet<number> = new Set([401, 403, 429]);
const kept = ['content-type', 'location'] as const;
/** Expired records removed in one write. */
const batch = 200;
const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** One of the attempts to carry out a request. Without `Idempotency-Key` there is only one. */
export interface Attempt {
  /** For what the request makes. All attempts with one key have the same, so that none makes a second one. */
  readonly id: string;
  /** An earlier attempt ended without an answer (crash, 5xx): what it made may be there. */
  readonly isRepeat: boolean;
  /**
   * Makes the URLs in the answer, in the place of `kit.caller(request)`: a repeat that came to another address gets URLs that begin
   * with that.
   */
  readonly caller: Caller;
}

/**
 * Runs a POST once for each `Idempotency-Key`: a repeat gets the first answer. Answers of 5xx are not remembered;
 * the next attempt has the same id. Without the header it just runs.
 * Faults: `idempotency.key_invalid`, `idempotency.key_reused` (422), `idempotency.running` (409),
 * `idempotency.too_many` (429).
 */
export type Once = (request: Request, options: OnceOptions) => Promise<Response>;

interface OnceOptions {
  /** Id of the account that asks. */
  readonly account: string;
  /** Must be harmless in a repeated attempt when the first one did its work. */
  run(attempt: Attempt): Promise<Response>;
  /** What a success shows is not to be stored: repeats get `shownOnce`. */
  readonly isSecret?: boolean;
  /** What the key that asks may do, where that is not everything: an answer is not repeated to a key that may do something else. */
  readonly access?: string;
}

/** What is stored. Of the request's body and the key no more than hashes. */
interface Memory {
  readonly request: string;
  readonly id: string;
  /** The process that runs the request. */
  readonly by?: { readonly node: string; readonly incarnation: string };
  /** Undefined while the request runs, and when it ended without one. */
  readonly answer?: StoredAnswer;
  /** Hash of `OnceOptions.access` of the key that was answered. */
  readonly access?: string;
}

/** Its URLs name no address yet. */
interface StoredAnswer {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: string;
}

/**
 * For one plugin: requests with one path must all go through the same. The record says which process runs a request; repeats
 * wait for its answer as long as that process lives.
 */
export function idempotent(kit: IdempotencyKit, options: { recordsPerAccount?: number } = {}): Once {
  const { clock } = kit;
  const attempt = attempter(kit, options);

  return async (request, options) => {
    const key = keyOf(request);
    const caller = kit.caller(request);
    if (key === undefined) return options.run({ id: uuid(), isRepeat: false, caller });
    const { pathname, search } = new URL(request.url);
    const { account } = options;
    const id = hashOf(JSON.stringify([account, request.method, pathname, key]));
    const content = hashOf(`${search}\n`, await bodyBytes(request));

    const until = clock.now() + patience;
    for (;;) {
      const write = (fault: Fault) => formatted(fault, { format: kit.errors, request, log: kit.log });
      const answer = await attempt({ id, account, request: content, caller, write }, options);
      if (answer) return answer;
      if (clock.now() >= until) throw stillRunning();
      await new Promise<void>((resolve) => clock.at(clock.now() + poll, resolve));
    }
  };
}

type IdempotencyKit = Pick<Kit, 'caller' | 'clock' | 'errors' | 'log' | 'resources' | 'deployment' | 'use'>;

interface AttemptPlace {
  readonly id: string;
  readonly account: string;
  readonly request: string;
  readonly caller: Caller;
  /** The answer to a fault, in the form of the plugin. */
  write(fault: Fault): Response;
}

/** Runs a request unless its answer is stored, and stores its answer. Undefined: it runs already. */
function attempter(
  kit: IdempotencyKit,
  options: { recordsPerAccount?: number },
): (place: AttemptPlace, options: OnceOptions) => Promise<Response | undefined> {
  const { clock, log, resources } = kit;
  const { node, nodes } = kit.deployment;
  /** Ids of the records of what this process runs. */
  const running = new Set<string>();
  const records = quota({
    clock,
    most: options.recordsPerAccount ?? maxRecords,
    count: (account) => resources.count(kind, { account }),
    full: tooMany,
  });
  const write = (memory: Memory, place: Omit<StoredResource, 'body'>) =>
    resources.write({ rows: [{ ...rowOf(place), body: JSON.stringify(memory) }], events: [] });

  const runsElsewhere = async ({ by }: Memory): Promise<boolean> => {
    if (!by || by.incarnation === node.incarnation) return false;
    const other = await nodes.find(by.node);
    return other?.incarnation === by.incarnation && other.isAlive;
  };

  return async ({ id, account, request, caller, write: written }, options) => {
    const stored = await resources.get(kind, id);
    const isFresh = stored !== undefined && !isExpired(stored, clock.now());
    const memory: Memory = isFresh ? JSON.parse(stored.body) : { request, id: uuid() };
    if (memory.request !== request) throw reused();
    const given = (answer: StoredAnswer) => answerTo(caller, { ...answer, id: memory.id });
    const access = options.access === undefined ? {} : { access: hashOf(options.access) };
    // A key that may do something else may see something else: it is answered anew, as after an attempt without an answer.
    if (memory.answer && memory.access === access.access) return given(memory.answer);
    if (!isFresh) await records.admit(account);
    if ((await runsElsewhere(memory)) || running.has(id)) return undefined;

    running.add(id);
    const createdAt = isFresh ? stored.createdAt : clock.now();
    const revision = stored?.revision ?? 0;
    const place = { id, account, createdAt, name: '', revision };
    const by = { node: node.id, incarnation: node.incarnation };
    /** What cannot be written is no failure of the request: the next attempt has the same id and finds what was made. */
    const remember = (answer?: StoredAnswer) =>
      write(
        { request, id: memory.id, ...(answer && { answer, ...access }) },
        { ...place, revision: revision + 1 },
      ).catch((error: unknown) =>
        log.warn('an answer could not be remembered for its Idempotency-Key', { error }),
      );
    try {
      if ((await write({ ...memory, by }, place)) === 'conflict') return undefined;
      const one = { id: memory.id, isRepeat: isFresh, caller: unaddressed(caller, memory.id) };
      const response = await options.run(one).catch((error: unknown) => {
        if (error instanceof Fault) return written(error);
        throw error;
      });
      if (response.status >= 500 || passing.has(response.status)) {
        await remember();
        return response;
      }
      const shown = options.isSecret && response.ok ? written(shownOnce(memory.id)) : response;
      const answer = await answerFrom(shown);
      await remember(answer);
      if (!response.ok) return response;
      return given(shown === response ? answer : await answerFrom(response));
    } catch (error) {
      await remember();
      throw error;
    } finally {
      running.delete(id);
    }
  };
}

/** For a request whose answer held a secret, when it comes again. */
export function shownOnce(id: string): Fault {
  return new Fault('idempotency.shown_once', {
    status: 409,
    message: `This request made ${id}. Its secret was in the first answer and is not kept. Delete it and make another with another Idempotency-Key.`,
  });
}

/** Removes records that are too old to count, oldest first. */
export async function forgetExpired(store: Pick<Store, 'resources' | 'write'>, now: number): Promise<void> {
  const order = [{ by: 'createdAt', descending: false }] as const;
  for (;;) {
    const oldest = await store.resources.list(kind, { order, limit: batch });
    const expired = oldest.filter((row) => isExpired(row, now));
    if (expired.length === 0) return;
    const { outcome } = await store.write({ rows: expired.map(rowOf), events: [], at: now });
    // One of the keys was used again in this moment. The next sweep finds the others.
    if (outcome !== 'ok' || expired.length < batch) return;
  }
}

function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === null || keyPattern.test(key)) return key ?? undefined;
  throw new Fault('idempotency.key_invalid', {
    status: 422,
    message: 'Idempotency-Key: expected 1 to 255 visible ASCII characters without spaces.',
  });
}

/** A row of this kind, deleted unless it is given a body. */
function rowOf(place: Omit<StoredResource, 'body'>): ResourceCommit['rows'][number] {
  return deletedRow(kind, place);
}

function isExpired(row: StoredResource, now: number): boolean {
  return row.createdAt + lifetime <= now;
}

/** What is stored, with the URLs of this caller. */
function answerTo(caller: Caller, { id, status, headers, body }: StoredAnswer & { id: string }): Response {
  const forCaller = (text: string) => addressed(text, { id, caller });
  return new Response(forCaller(body) || null, {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, forCaller(value)]),
  });
}

async function answerFrom(response: Response): Promise<StoredAnswer> {
  const headers = kept.flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return { status: response.status, headers, body: await response.clone().text() };
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

function reused(): Fault {
  return new Fault('idempotency.key_reused', {
    status: 422,
    message: 'Idempotency-Key: this key was used with another body. Use a new key for a new request.',
  });
}

function tooMany(): Fault {
  return new Fault('idempotency.too_many', {
    status: 429,
    message:
      'Idempotency-Key: this account used too many keys within 24 h. Send the request without a key, or later.',
    retryAfter: 3600,
  });
}

function stillRunning(): Fault {
  return new Fault('idempotency.running', {
    status: 409,
    message: 'The first request with this Idempotency-Key is still running. Repeat it later.',
    retryAfter: 1,
  });
}
