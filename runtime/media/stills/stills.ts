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
  stillKinds,
} from '../../../core/ports/stills.ts';
import { Semaphore } from '../../base/semaphore.ts';
import { type FfmpegRunner, missingFor } from '../ffmpeg/runner.ts';
import type { Drawn } from './drawing.ts';
import { NoPicture } from './found-pictures.ts';
import { jpegSize } from './jpeg-size.ts';
import { drawSheet } from './sheet.ts';

/** Different pictures that may wait for their turn. */
const maxWaiting = 32;
/**
 * Different pictures of one source that are made or wait, beside its storyboard and its default thumbnail, which have a key
 * of their own.
 */
export const maxPerSource = 4;
/** Requests that may wait for pictures. */
const maxRequests = 2000;
/** A storyboard may take so many times as long as one picture. */
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
  const { clock, log, runner, running } = options;
  const kept = new ByteLru<Outcome>({ bytes: options.memory });
  const shared = new SingleFlight<Outcome>({ running: running + maxWaiting, waiting: maxRequests });
  const turns = new Semaphore({ running, waiting: maxWaiting });
  /** Pictures that are made or wait: key → what they are of. */
  const begun = new Map<string, string>();
  const closing = new AbortController();
  const counts = Object.fromEntries(
    stillKinds.map((kind) => [kind, { made: 0, shared: 0, refused: 0, failed: 0 }]),
  ) as Record<StillKind, Record<'made' | 'shared' | 'refused' | 'failed', number>>;

  /** The remembered outcome, if it is fresh enough. */
  const known = ({ key, freshFor }: StillOrder): Outcome | undefined => {
    const found = kept.get(key, clock.now());
    if (!found || 'fault' in found || freshFor === undefined) return found;
    return clock.now() - found.still.at < freshFor ? found : undefined;
  };

  const keep = (key: string, outcome: Outcome, until?: number): Outcome => {
    const bytes = 2 * key.length + ('still' in outcome ? outcome.still.bytes.length : 0);
    const room = kept.reserve(bytes);
    room?.keep(key, outcome, until === undefined ? {} : { until });
    return outcome;
  };

  const make = async (order: StillOrder, media: StillMedia, signal: AbortSignal): Promise<Outcome> => {
    const { key, kind } = order;
    const deadline = options.deadline * (media.pictures.length > 1 ? sheetDeadlines : 1);
    const late = new AbortController();
    const cancel = clock.at(clock.now() + deadline, () => late.abort());
    // The next version of something that changes may have one.
    const again = order.freshFor ?? noneKept;
    const none = (message: string) => keep(key, { fault: noneFault(message) }, clock.now() + again);
    try {
      const ended = AbortSignal.any([signal, late.signal]);
      const drawn = await drawSheet(media, { runner, signal: ended });
      signal.throwIfAborted();
      const size = drawn.ok ? jpegSize(drawn.bytes) : undefined;
      if (drawn.ok && size) {
        await order.store
          ?.save(drawn.bytes)
          .catch((error: unknown) => log.warn('a still could not be stored', { kind, error }));
        return keep(key, { still: stillOf(drawn.bytes, size), version: media.version });
      }
      if (!drawn.ok && drawn.reason === 'none') return none('None of its pictures can be decoded.');
      return refused(order, drawn);
    } catch (error) {
      if (error instanceof NoPicture) return none(error.message);
      if (late.signal.aborted && !signal.aborted)
        return refused(order, { ok: false, reason: 'late', errors: '' });
      throw error;
    } finally {
      cancel();
    }
  };

  const stillOf = (bytes: Uint8Array<ArrayBuffer>, size: { width: number; height: number }): Still => {
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    return { bytes, ...size, etag, at: clock.now() };
  };

  const refused = ({ key, kind }: StillOrder, drawn: Drawn): Outcome => {
    const reason = drawn.ok ? 'broken' : drawn.reason;
    if (reason === 'missing') return { fault: unavailable };
    if (reason === 'full') return { fault: busy };
    log.warn('a still could not be made', { kind, reason });
    if (!drawn.ok) log.debug('what ffmpeg said', { errors: drawn.errors });
    return keep(key, { fault: failed }, clock.now() + failureKept);
  };

  /** Undefined: it did not come in time, or the signal was aborted. */
  const turnWithin = async (ms: number, signal: AbortSignal): Promise<(() => void) | undefined> => {
    const late = new AbortController();
    const cancel = clock.at(clock.now() + ms, () => late.abort());
    const leave = await turns.take(AbortSignal.any([signal, late.signal])).catch(() => undefined);
    cancel();
    return leave === 'full' ? undefined : leave;
  };

  const work = async (order: StillOrder, signal: AbortSignal): Promise<Outcome> => {
    const leave = await turnWithin(maxWait, signal);
    if (!leave) return { fault: busy };
    try {
      const stored = await order.store?.load(signal);
      const size = stored && jpegSize(stored);
      if (stored && size) return keep(order.key, { still: stillOf(stored, size) });
      // Checked before anything is read.
      if (!(await runner.about())) return { fault: unavailable };
      const media = await order.open(signal);
      if (!media) return { fault: noneFault('There is no picture of it.') };
      const before = kept.get(order.key, clock.now());
      const isSame = media.version !== undefined && before?.version === media.version;
      if (isSame && before && 'still' in before)
        return keep(order.key, { ...before, still: { ...before.still, at: clock.now() } });
      return await make(order, media, signal);
    } finally {
      leave();
    }
  };

  return {
    async make(order) {
      const { key, kind, of } = order;
      const count = counts[kind];
      const counted = (outcome: Outcome, how: 'made' | 'shared'): Still => {
        if ('still' in outcome) {
          count[how] += 1;
          return outcome.still;
        }
        const { fault } = outcome;
        count[fault === busy || fault === unavailable ? 'refused' : 'failed'] += 1;
        throw fault;
      };
      const found = known(order);
      if (found) return counted(found, 'shared');
      if (closing.signal.aborted) return counted({ fault: unavailable }, 'made');
      const isNew = !begun.has(key);
      if (isNew && countOf(begun, of) >= maxPerSource) return counted({ fault: busy }, 'made');
      const outcome = await shared.wait(key, {
        signal: order.signal,
        async work(signal) {
          begun.set(key, of);
          try {
            return await work(order, AbortSignal.any([signal, closing.signal]));
          } finally {
            begun.delete(key);
          }
        },
      });
      // The answer of a request that left is not read.
      if (outcome === 'full' || outcome === 'left') return counted({ fault: busy }, 'made');
      return counted(outcome, isNew ? 'made' : 'shared');
    },
    totals: () => ({
      kinds: counts,
      running: turns.running,
      waiting: shared.waiting,
      bytes: kept.bytes,
    }),
    close: () => closing.abort(),
  };
}

type Outcome =
  | { readonly still: Still; readonly version?: string | undefined }
  | { readonly fault: Fault; readonly version?: undefined };

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
const busy = new Fault('still.busy', {
  status: 503,
  message: 'Too many pictures are being made. Try again.',
  retryAfter: 1,
});
const failed = new Fault('still.failed', {
  status: 503,
  message: 'The picture took too long, or could not be made. Try again.',
  retryAfter: 5,
});
