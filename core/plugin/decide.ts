import { Fault } from '../base/fault.ts';
import { plainLine } from '../base/plain-text.ts';
import type { Clock } from '../ports/clock.ts';
import type { VideoSpec } from '../ports/recorder.ts';

/**
 * What plugins are asked before it happens. Each may refuse it with a reason; with several, a refusal wins. A decider may be asked
 * before `start` of its plugin, and many times a second for what viewers fetch.
 */
export interface Deciders<K> {
  /** May this broadcast begin? Asked for each connection of an encoder, also when a session continues. */
  publish?(question: PublishQuestion, kit: K): Decision | Promise<Decision>;
  /** May this viewer fetch it, and on what terms? Asked for every playlist, segment, picture and file. */
  play?(question: PlayQuestion, kit: K): PlayDecision | Promise<PlayDecision>;
  /** May this file become an asset? Asked when it is requested, and when it was received and inspected. */
  upload?(question: UploadQuestion, kit: K): Decision | Promise<Decision>;
  /** May the file of this asset be brought elsewhere? */
  export?(question: ExportQuestion, kit: K): Decision | Promise<Decision>;
  /** May this webhook be called? Asked before each attempt. */
  delivery?(question: DeliveryQuestion, kit: K): Decision | Promise<Decision>;
}

/**
 * Undefined allows it. `refuse` says why not, in one plain sentence; it is cut to 200 characters in one line. Owners and encoders read
 * it, viewers do not.
 */
export type Decision = undefined | { readonly refuse: string };

/** Of `play`: undefined allows it to this viewer, `allow` on terms. */
export type PlayDecision = Decision | { readonly allow: PlayTerms };

/** On what terms something is played. */
export interface PlayTerms {
  /** The answer is the same for everybody, so that shared caches may keep it. */
  readonly isForAll?: true;
  /** What the playlist gives its viewer. */
  readonly pass?: PlayPass;
}

/** What the URIs in a playlist carry, so that a player which sends no headers gets what they name. */
export interface PlayPass {
  /**
   * Value of `?token=` in them.
   *
   * @param variants of a multivariant playlist with `maxHeight`: numbers of those that are left, 0 the source
   */
  token(variants?: readonly number[]): string;
  /** Pixels. A multivariant playlist leaves out what is higher. */
  readonly maxHeight?: number;
}

/** What each kind of decider is asked. No question holds a secret of the deployment or of an account. */
export interface Questions {
  readonly publish: PublishQuestion;
  readonly play: PlayQuestion;
  readonly upload: UploadQuestion;
  readonly export: ExportQuestion;
  readonly delivery: DeliveryQuestion;
}

export type DecisionKind = keyof Questions;
export const decisionKinds = ['publish', 'play', 'upload', 'export', 'delivery'] as const;

/** A broadcast whose stream key was found. */
export interface PublishQuestion {
  readonly streamId: string;
  readonly account: string;
  /** Of the stream. */
  readonly name: string;
  readonly userTags: Readonly<Record<string, unknown>>;
  /** Values of the fields that plugins add to streams, by name, as the API shows them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** RTMP application. */
  readonly app: string;
  /** IP address of the encoder. */
  readonly address: string;
  /** A Millrace pushes it, this or another. */
  readonly isPush: boolean;
  /** What the encoder calls itself, if it does. */
  readonly encoder?: string;
}

/** What a viewer asks for. */
export interface PlaySubject {
  readonly kind: 'live' | 'recording' | 'asset';
  readonly account: string;
  readonly playbackId?: string;
  /** Of what is live. */
  readonly streamId?: string;
  /** Of a recording; of what is live, the newest. */
  readonly sessionId?: string;
  readonly assetId?: string;
}

/** A request of a viewer. */
export interface PlayQuestion extends PlaySubject {
  /** `download`: the whole as one file. `info`: where it can be watched (`GET /api/playback/{id}`). */
  readonly what: 'playlist' | 'media' | 'download' | 'image' | 'info';
  /** Name of the file below the address of the video; empty for `info`. */
  readonly file: string;
  /** IP address of the viewer; undefined when the connection is gone. */
  readonly address: string | undefined;
  /** Of the page that plays it. */
  readonly origin: string | undefined;
  readonly userAgent: string | undefined;
  /** `?token=…` of the request, else what follows `Authorization: Bearer`. */
  readonly token: string | undefined;
  /** Hash of address, user agent and token: a key for answers that a decider remembers. */
  readonly viewer: string;
  readonly request: Request;
}

/** A file that is to become an asset. */
export type UploadQuestion = UploadSubject &
  (
    | {
        /** Nothing was created or sent yet. A tus upload and a PUT are asked about again when they begin, with their size. */
        readonly stage: 'request';
        /** Bytes, if they are known. */
        readonly size?: number;
      }
    | {
        /** The file is complete. A film that was converted is described as it is after that. */
        readonly stage: 'inspected';
        readonly size: number;
        readonly spec: VideoSpec;
      }
  );

export interface UploadSubject {
  readonly account: string;
  readonly assetId: string;
  readonly name: string;
  readonly source:
    | { readonly type: 'directUpload' }
    /** `url`: without secrets. */
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'transcode'; readonly inputAssetId: string };
}

/** An export of an asset. */
export interface ExportQuestion {
  readonly account: string;
  readonly assetId: string;
  readonly name: string;
  readonly to: 'ipfs' | 'url';
  /** Host and port of the URL. */
  readonly host?: string;
  /** Bytes. */
  readonly size: number;
  readonly spec: VideoSpec;
}

/** An attempt to call a webhook. */
export interface DeliveryQuestion {
  readonly account: string;
  readonly webhookId: string;
  /** Host and port of its URL. */
  readonly host: string;
  /** Type of the event. */
  readonly event: string;
  /** Null for an event of no stream. */
  readonly streamId: string | null;
  /** 1 for the first; 0 for a test and a resend. */
  readonly attempt: number;
}

/** How a plugin asks all deciders. A kind that nobody decides is absent, so that `kit.decide.play?.({ … })` costs nothing then. */
export type Decide = {
  readonly [D in DecisionKind]?: Ask<Questions[D], D extends 'play' ? PlayTerms : undefined>;
};

/** Undefined: it is allowed, `T`: on these terms. No promise unless a decider answers with one. Never throws or rejects. */
export type Ask<Q, T = undefined> = (
  question: Q,
) => Refusal | T | undefined | Promise<Refusal | T | undefined>;

/** What was decided of a `play`. */
export type PlayVerdict = Refusal | PlayTerms | undefined;

export function isRefusal(verdict: PlayVerdict): verdict is Refusal {
  return verdict !== undefined && 'isFailure' in verdict;
}

export interface Refusal {
  /** One line of at most 200 characters. */
  readonly reason: string;
  /** Nobody refused, but a decider failed. A repeat may be allowed. */
  readonly isFailure: boolean;
  readonly plugin: string;
}

/** The answer to a request that a failed decider keeps from being allowed. */
export function undecided(): Fault {
  return new Fault('decision.unavailable', { status: 503, message: undecidedReason, retryAfter: 5 });
}

/** What a decider that throws, hangs or answers nonsense counts as. */
export type OnError = 'refuse' | 'allow';

/** What the config says of decisions. */
export interface DecisionSettings {
  /** Time for the answer of a decider, ms. */
  readonly timeout: number;
  readonly onError: OnError;
  /** By plugin id, where it is otherwise. */
  readonly plugins?: Readonly<Record<string, OnError>>;
}

/** One decider of a plugin. */
export interface Decider<Q> {
  readonly plugin: string;
  readonly onError: OnError;
  decide(question: Q): unknown;
  /** Whether it may answer with terms. */
  readonly hasTerms?: boolean;
  /** Called with each outcome, `error` with that of a failure. */
  note(outcome: 'allowed' | 'refused' | 'failed', error?: unknown): void;
}

/**
 * Asks all deciders of one kind side by side. A refusal wins, the first one in their order; then a failure that counts as one.
 * `timeout`: time for an answer, ms.
 */
export function asking<Q>(
  deciders: readonly Decider<Q>[],
  { clock, timeout }: { clock: Clock; timeout: number },
): Ask<Q, PlayTerms> {
  return (question) => {
    // What one of them changed would mislead the next.
    if (deciders.length > 1) Object.freeze(question);
    const answers: Answers = [];
    const promises: (Promise<unknown> | undefined)[] = [];
    for (const [index, decider] of deciders.entries()) {
      try {
        const said = decider.decide(question);
        if (isThenable(said)) promises[index] = Promise.resolve(said);
        else answers[index] = answerIn(said, decider);
      } catch (error) {
        answers[index] = failure(error, decider);
      }
    }
    if (promises.length === 0) return verdictOf(answers);
    return whenSettled({ deciders, answers, promises }, { clock, timeout });
  };
}

/** One answer for each decider, in their order; undefined while it is awaited. */
type Answers = (Refusal | PlayTerms | undefined)[];

function whenSettled<Q>(
  asked: { deciders: readonly Decider<Q>[]; answers: Answers; promises: (Promise<unknown> | undefined)[] },
  { clock, timeout }: { clock: Clock; timeout: number },
): Promise<PlayVerdict> {
  const { deciders, answers, promises } = asked;
  return new Promise((resolve) => {
    const settle = () => {
      if (!isSettled(answers, deciders.length)) return;
      cancel();
      resolve(verdictOf(answers));
    };
    const cancel = clock.at(clock.now() + timeout, () => {
      const late = new Error(`there was no answer within ${timeout} ms`);
      for (const [index, decider] of deciders.entries()) answers[index] ??= failure(late, decider);
      settle();
    });
    for (const [index, promise] of promises.entries()) {
      // What comes after the time limit has been counted as a failure.
      promise?.then(
        (said) => {
          answers[index] ??= answerIn(said, deciders[index]);
          settle();
        },
        (error) => {
          answers[index] ??= failure(error, deciders[index]);
          settle();
        },
      );
    }
    settle();
  });
}

/** Whether later answers can no longer change the verdict. */
function isSettled(answers: Answers, count: number): boolean {
  for (let index = 0; index < count; index += 1) {
    const answer = answers[index];
    if (answer === undefined) return false;
    if (isRefusal(answer) && !answer.isFailure) return true;
  }
  return true;
}

function verdictOf(answers: Answers): PlayVerdict {
  let failed: Refusal | undefined;
  const terms: PlayTerms[] = [];
  for (const answer of answers) {
    if (answer === undefined) continue;
    if (!isRefusal(answer)) terms.push(answer);
    else if (!answer.isFailure) return answer;
    else failed ??= answer;
  }
  if (failed) return failed;
  if (terms.length === 1) return terms[0] === plainly ? undefined : terms[0];
  const pass = terms.find((one) => one.pass)?.pass;
  const isForAll = terms.length > 0 && terms.every((one) => one.isForAll);
  return isForAll || pass ? { ...(isForAll && { isForAll }), ...(pass && { pass }) } : undefined;
}

/** Terms of a decider that names none. */
const plainly: PlayTerms = {};

function answerIn(said: unknown, decider: Decider<never>): Refusal | PlayTerms {
  try {
    const terms = said === undefined ? plainly : decider.hasTerms ? termsIn(said) : undefined;
    const reason = terms ? undefined : reasonIn(said);
    decider.note(reason === undefined ? 'allowed' : 'refused');
    if (terms) return terms;
    return { reason: reason as string, isFailure: false, plugin: decider.plugin };
  } catch (error) {
    return failure(error, decider);
  }
}

function failure(error: unknown, { plugin, onError, note }: Decider<never>): Refusal | PlayTerms {
  note('failed', error);
  return onError === 'allow' ? plainly : { reason: undecidedReason, isFailure: true, plugin };
}

function termsIn(said: unknown): PlayTerms | undefined {
  const allow = (said as { readonly allow?: unknown } | null)?.allow;
  return typeof allow === 'object' && allow !== null ? (allow as PlayTerms) : undefined;
}

/** Throws for an answer that is none. */
function reasonIn(said: unknown): string {
  const refuse = (said as { readonly refuse?: unknown } | null)?.refuse;
  if (typeof refuse !== 'string') throw new TypeError('the answer is neither undefined nor { refuse: "…" }');
  return plainLine(refuse, { most: maxReason }) || 'It was refused.';
}

/** Characters of a reason: what encoders show of a message. */
const maxReason = 200;
const undecidedReason = 'The server cannot decide at the moment whether this is allowed. Try again.';

function isThenable(said: unknown): said is PromiseLike<unknown> {
  return typeof (said as { readonly then?: unknown } | null | undefined)?.then === 'function';
}
