import type { Log } from '../../../core/base/log.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { FinishedRendition } from '../../../core/ports/recorder.ts';
import type { GrowingUploads } from './growing-uploads.ts';
import type { RecorderLimits } from './limits.ts';
import { places } from './places.ts';
import type { RecorderLink } from './recorder-link.ts';
import type { Take } from './take.ts';
import { adoptCopy, storeVideo } from './take-blobs.ts';

export interface RenditionOptions {
  readonly blobs: Blobs;
  readonly link: RecorderLink;
  readonly uploads: GrowingUploads;
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Makes blobs of the renditions of a take that is sealed, some at one time. One that cannot be had after some attempts is left out and
 * logged. One that is fed still gets `renditionEnd` for what is to come. `over`: all are made or left out, or the signal was aborted; it never rejects. `made`: those that are, in their order.
 */
export function finishRenditions(
  takes: readonly Take[],
  options: RenditionOptions,
): { readonly over: Promise<void>; readonly made: readonly FinishedRendition[] } {
  const { clock, limits, signal } = options;
  const inPlace = places(limits.renditionsAtOnce);
  const outcomes = new Map<Take, FinishedRendition>();
  const patience = new AbortController();
  const cancel = clock.at(clock.now() + limits.renditionEnd, () => patience.abort());
  const late = AbortSignal.any([signal, patience.signal]);
  const ended = Promise.all(
    takes.map(async (take) => {
      await take.whenUnfed(late);
      take.isEnding = true;
      take.isFed = false;
    }),
  ).then(cancel);
  const work = takes.map((take) => {
    const before = take.working;
    const working = inPlace(async () => {
      await ended;
      await before;
      const made = await tried(take, options);
      if (made) outcomes.set(take, made);
    });
    // Whoever removes it waits for what it does, however late.
    take.working = working;
    return working;
  });
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return {
    over: Promise.race([Promise.all(work).then(() => {}), aborted]),
    get made() {
      return takes.flatMap((take) => outcomes.get(take) ?? []);
    },
  };
}

/** Undefined: it cannot be had, or there is nothing of it. */
async function tried(take: Take, options: RenditionOptions): Promise<FinishedRendition | undefined> {
  const { limits, log, signal } = options;
  const { sessionId, rendition } = take.meta;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await finishRendition(take, options);
    } catch (error) {
      if (signal.aborted) return undefined;
      const isLast = attempt === limits.uploadAttempts;
      const what = isLast ? 'a recording lacks one of its renditions' : 'a rendition could not be stored yet';
      log.warn(what, { sessionId, rendition: rendition?.name, error });
      if (isLast) return undefined;
      await pause(limits.uploadWait, options);
    }
  }
  return undefined;
}

/** As with a source, each step finds out whether a former process did it. */
async function finishRendition(
  take: Take,
  options: RenditionOptions,
): Promise<FinishedRendition | undefined> {
  const { link: thread, signal } = options;
  if (take.meta.made) return take.meta.made;
  const sealed = take.meta.sealed ?? (await thread.call('seal', take.number));
  if (!sealed?.rendition) return undefined;
  take.meta = { ...take.meta, sealed };
  signal.throwIfAborted();
  await storeVideo(take, { ...options, sealed });
  const { keys } = take;
  await adoptCopy(take.file('index'), { ...options, key: keys.index, size: sealed.index.size });
  const made: FinishedRendition = {
    name: take.meta.rendition?.name ?? '',
    video: { key: keys.video, ...sealed.video },
    index: { key: keys.index, ...sealed.index },
    ...sealed.rendition,
  };
  await thread.call('save', { take: take.number, fields: { made } });
  take.meta = { ...take.meta, made };
  return made;
}

function pause(wait: number, { clock, signal }: RenditionOptions): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.at(clock.now() + wait, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
