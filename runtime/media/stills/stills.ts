import { createHash } from 'node:crypto';
import { ByteLru } from '../../../core/base/byte-lru.ts';
import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import { SingleFlight } from '../../../core/base/single-flight.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  type Still,
  type StillKind,
  type StillMedia,
  type StillOrder,
  type Stills,
  type StillTotals,
  stillKinds,
} from '../../../core/ports/stills.ts';
import { type FfmpegRunner, missingFor } from '../ffmpeg/runner.ts';
import { Companions } from './companions.ts';
import type { Drawn } from './drawing.ts';
import { pictureSize } from './encodings.ts';
import { FairTurns } from './fair-turns.ts';
import { NoPicture } from './found-pictures.ts';
import { drawMoments, maxMoments } from './moments.ts';
import { drawSheet } from './sheet.ts';

/** Different pictures that may wait for their turn, and those of one client. */
const maxWaiting = 256;
const maxWaitingPerClient = 32;
/**
 * Different pictures of one source that are made or wait for one client, beside its storyboard and its default thumbnail,
 * which have a key of their own.
 */
export const maxPerSource = 4;
/** Requests that may wait for pictures. */
const maxRequests = 20_000;
/** A storyboard or an animation may take so many times as long as one picture. */
const sheetDeadlines = 4;
/** ms that a picture may wait for its turn. */
export const maxWait = 10_000;
/** ms for which a failure is remembered. */
export const failureKept = 5000;
/** ms for which it is remembered that something that does not change has no picture. */
const noneKept = 60_000;

export interface FfmpegStillsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly runner: FfmpegRunner;
  /** Pictures made at one time. */
  readonly running: number;
  /** How long one picture may take, ms. */
  readonly deadline: number;
  /** Bytes of pictures that are kept. */
  readonly memory: number;
}

/** Pictures by processes of ffmpeg. Nothing is started before one is asked for. */
export function ffmpegStills(options: FfmpegStillsOptions): Stills {
  return new FfmpegStills(options);
}

class FfmpegStills implements Stills {
  readonly #options: FfmpegStillsOptions;
  readonly #clock: Clock;
  readonly #kept: ByteLru<Outcome>;
  readonly #shared: SingleFlight<Outcome>;
  readonly #turns: FairTurns;
  readonly #companions = new Companions<StillOrder, Outcome>();
  /** Pictures that are made or wait: key → who wants them, and what they are of. */
  readonly #begun = new Map<string, string>();
  readonly #closing = new AbortController();
  readonly #counts = Object.fromEntries(
    stillKinds.map((kind) => [kind, { made: 0, shared: 0, refused: 0, failed: 0 }]),
  ) as Record<StillKind, Counts>;

  constructor(options: FfmpegStillsOptions) {
    const { clock, memory, running } = options;
    this.#options = options;
    this.#clock = clock;
    this.#kept = new ByteLru({ bytes: memory });
    // Bounded by the turns, which decide who has to leave.
    this.#shared = new SingleFlight({ running: Number.POSITIVE_INFINITY, waiting: maxRequests });
    const waitingPerClient = maxWaitingPerClient;
    this.#turns = new FairTurns({ running, waiting: maxWaiting, waitingPerClient, clock });
  }

  async make(order: StillOrder): Promise<Still> {
    const { key, kind, client = '' } = order;
    const of = `${client} ${order.of}`;
    const count = this.#counts[kind];
    const found = this.#known(order);
    if (found) return counted(found, { count, how: 'shared' });
    if (this.#closing.signal.aborted) return counted({ fault: unavailable }, { count, how: 'made' });
    const isNew = !this.#begun.has(key);
    if (isNew && countOf(this.#begun, of) >= maxPerSource)
      return counted({ fault: busy }, { count, how: 'made' });
    const outcome = await this.#shared.wait(key, {
      signal: order.signal,
      work: async (signal) => {
        this.#begun.set(key, of);
        try {
          return await this.#work(order, AbortSignal.any([signal, this.#closing.signal]));
        } finally {
          this.#begun.delete(key);
        }
      },
    });
    // The answer of a request that left is not read.
    if (outcome === 'full' || outcome === 'left') return counted({ fault: busy }, { count, how: 'made' });
    return counted(outcome, { count, how: isNew ? 'made' : 'shared' });
  }

  totals(): StillTotals {
    return {
      kinds: this.#counts,
      running: this.#turns.running,
      waiting: this.#shared.waiting,
      bytes: this.#kept.bytes,
    };
  }

  close(): void {
    this.#closing.abort();
  }

  /** The remembered outcome, if it is fresh enough. */
  #known({ key, freshFor }: StillOrder): Outcome | undefined {
    const found = this.#kept.get(key, this.#clock.now());
    if (!found || 'fault' in found || freshFor === undefined) return found;
    return this.#clock.now() - found.still.at < freshFor ? found : undefined;
  }

  #keep(key: string, outcome: Outcome, until?: number): Outcome {
    const bytes = 2 * key.length + ('still' in outcome ? outcome.still.bytes.length : 0);
    const room = this.#kept.reserve(bytes);
    room?.keep(key, outcome, until === undefined ? {} : { until });
    return outcome;
  }

  async #make(order: StillOrder, media: StillMedia, signal: AbortSignal): Promise<Outcome> {
    const { key, kind } = order;
    const deadline =
      this.#options.deadline * (media.motion || media.pictures.length > 1 ? sheetDeadlines : 1);
    const late = new AbortController();
    const cancel = this.#clock.at(this.#clock.now() + deadline, () => late.abort());
    // The next version of something that changes may have one.
    const again = order.freshFor ?? noneKept;
    const none = (message: string) =>
      this.#keep(key, { fault: noneFault(message) }, this.#clock.now() + again);
    try {
      const ended = AbortSignal.any([signal, late.signal]);
      const drawn = await drawSheet(media, { runner: this.#options.runner, signal: ended });
      signal.throwIfAborted();
      const size = drawn.ok ? pictureSize(drawn.bytes) : undefined;
      if (drawn.ok && size) {
        await order.store
          ?.save(drawn.bytes)
          .catch((error: unknown) => this.#options.log.warn('a still could not be stored', { kind, error }));
        return this.#keep(key, { still: this.#stillOf(drawn.bytes, size), version: media.version });
      }
      if (!drawn.ok && drawn.reason === 'none') return none('None of its pictures can be decoded.');
      if (!drawn.ok && drawn.reason === 'large' && media.motion)
        return none('The animation is too large. Ask for a smaller or a shorter one.');
      return this.#refused(order, drawn);
    } catch (error) {
      if (error instanceof NoPicture) return none(error.message);
      if (late.signal.aborted && !signal.aborted)
        return this.#refused(order, { ok: false, reason: 'late', errors: '' });
      throw error;
    } finally {
      cancel();
    }
  }

  #stillOf(bytes: Uint8Array<ArrayBuffer>, size: { width: number; height: number }): Still {
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    return { bytes, ...size, etag, at: this.#clock.now() };
  }

  #refused({ key, kind }: StillOrder, drawn: Drawn): Outcome {
    const reason = drawn.ok ? 'broken' : drawn.reason;
    if (reason === 'missing') return { fault: unavailable };
    if (reason === 'unsupported')
      return this.#keep(key, { fault: unsupported }, this.#clock.now() + noneKept);
    if (reason === 'full') return { fault: busy };
    this.#options.log.warn('a still could not be made', { kind, reason });
    if (!drawn.ok) this.#options.log.debug('what ffmpeg said', { errors: drawn.errors });
    return this.#keep(key, { fault: failed }, this.#clock.now() + failureKept);
  }

  /** Undefined: it did not come in time, or the signal was aborted. */
  async #turnOf(
    { of, kind, client = '', account, isOneOfMany }: StillOrder,
    signal: AbortSignal,
  ): Promise<(() => void) | undefined> {
    const late = new AbortController();
    const cancel = this.#clock.at(this.#clock.now() + maxWait, () => late.abort());
    const turn = this.#turns.take({
      rank: kind === 'live' ? 'first' : isOneOfMany ? 'last' : 'usual',
      shares: [`client ${client}`, `source ${of}`, ...(account === undefined ? [] : [`account ${account}`])],
      signal: AbortSignal.any([signal, late.signal]),
    });
    const leave = await turn.catch(() => undefined);
    cancel();
    return leave === 'full' ? undefined : leave;
  }

  async #work(order: StillOrder, signal: AbortSignal): Promise<Outcome> {
    const { segment } = order;
    const companion = segment === undefined ? undefined : this.#companions.join(segment, order);
    const leave = await this.#turnOf(
      order,
      AbortSignal.any([signal, ...(companion ? [companion.taken] : [])]),
    );
    // Another one of its segment has had its turn, and makes this one, too.
    if (companion?.taken.aborted) {
      leave?.();
      return companion.outcome;
    }
    companion?.leave();
    if (!leave) return { fault: busy };
    try {
      const others = segment === undefined ? [] : this.#companions.take(segment, maxMoments - 1);
      if (others.length === 0) return await this.#begin(order, signal);
      return await this.#makeTogether(order, others);
    } finally {
      leave();
    }
  }

  async #begin(order: StillOrder, signal: AbortSignal): Promise<Outcome> {
    const stored = await order.store?.load(signal);
    const size = stored && pictureSize(stored);
    if (stored && size) return this.#keep(order.key, { still: this.#stillOf(stored, size) });
    // Checked before anything is read.
    if (!(await this.#options.runner.about())) return { fault: unavailable };
    const media = await order.open(signal);
    if (!media) return { fault: noneFault('There is no picture of it.') };
    const before = this.#kept.get(order.key, this.#clock.now());
    const isSame = media.version !== undefined && before?.version === media.version;
    if (isSame && before && 'still' in before)
      return this.#keep(order.key, { ...before, still: { ...before.still, at: this.#clock.now() } });
    return await this.#make(order, media, signal);
  }

  /** Makes it together with others of its segment. If that does not work, it is made alone, and the others have to come again. */
  async #makeTogether(
    order: StillOrder,
    others: readonly { subject: StillOrder; settle(outcome: Outcome): void }[],
  ): Promise<Outcome> {
    const orders = [order, ...others.map(({ subject }) => subject)];
    const late = new AbortController();
    const cancel = this.#clock.at(this.#clock.now() + this.#options.deadline, () => late.abort());
    // Clients that leave end nothing: it is for all of them.
    const signal = AbortSignal.any([late.signal, this.#closing.signal]);
    let drawn: Awaited<ReturnType<typeof drawMoments>>;
    try {
      const media = await Promise.all(orders.map(async (one) => one.open(signal)));
      const known = media.filter((one) => one !== undefined);
      if (known.length === orders.length)
        drawn = await drawMoments(known, { runner: this.#options.runner, signal });
    } catch (error) {
      this.#options.log.debug('stills could not be made together', { error });
    } finally {
      cancel();
    }
    const outcomes = orders.map(({ key }, row): Outcome | undefined => {
      const bytes = drawn?.[row];
      const size = bytes && pictureSize(bytes);
      return bytes && size && this.#keep(key, { still: this.#stillOf(bytes, size) });
    });
    for (const [row, { settle }] of others.entries()) settle(outcomes[row + 1] ?? { fault: busy });
    return outcomes[0] ?? this.#begin(order, this.#closing.signal);
  }
}

type Outcome =
  | { readonly still: Still; readonly version?: string | undefined }
  | { readonly fault: Fault; readonly version?: undefined };

type Counts = Record<'made' | 'shared' | 'refused' | 'failed', number>;

/** The picture, or throws why there is none. */
function counted(outcome: Outcome, { count, how }: { count: Counts; how: 'made' | 'shared' }): Still {
  if ('still' in outcome) {
    count[how] += 1;
    return outcome.still;
  }
  const { fault } = outcome;
  count[refusals.has(fault) ? 'refused' : 'failed'] += 1;
  throw fault;
}

function countOf(begun: ReadonlyMap<string, string>, of: string): number {
  let count = 0;
  for (const one of begun.values()) if (one === of) count += 1;
  return count;
}

function noneFault(message: string): Fault {
  return new Fault('still.none', { status: 404, message });
}

const unavailable = new Fault('still.unavailable', {
  status: 503,
  message: 'This server makes no pictures: ffmpeg is not installed.',
  // ffmpeg is searched again then.
  retryAfter: missingFor / 1000,
});
const unsupported = new Fault('still.unavailable', {
  status: 503,
  message: 'The ffmpeg of this server does not write pictures of this format.',
  retryAfter: noneKept / 1000,
});
const busy = new Fault('still.busy', {
  status: 503,
  message: 'Too many pictures are being made. Try again.',
  retryAfter: 1,
});
const refusals: ReadonlySet<Fault> = new Set([busy, unavailable, unsupported]);
const failed = new Fault('still.failed', {
  status: 503,
  message: 'The picture took too long, or could not be made. Try again.',
  retryAfter: 5,
});
