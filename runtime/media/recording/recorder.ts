import { createHash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../core/base/log.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import type { FinishedTake } from '../../../core/ports/recorder.ts';
import type { MediaRecorder } from './feed.ts';
import { finishTake } from './finishing.ts';
import { findTakes, joinMark } from './found-takes.ts';
import { GrowingUploads } from './growing-uploads.ts';
import { joinRenditions, joinTakes } from './joining.ts';
import { type RecorderLimits, recorderDefaults } from './limits.ts';
import { PublishFeed } from './publish-feed.ts';
import { RecorderLink, recordingFault, unavailable } from './recorder-link.ts';
import { removeSpool } from './remove-spool.ts';
import { SessionTakes } from './session-takes.ts';
import { Take } from './take.ts';
import { spoolName, type TakeMeta } from './take-meta.ts';
import { codeOf, type GapReason, gapReasons } from './trouble.ts';

export interface RecorderOptions {
  /** Of the spools: `<dataDir>/recordings`. Made with the first take. */
  readonly folder: string;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
  /** Those that are not given are the defaults. */
  readonly limits?: Partial<RecorderLimits>;
  /** The writing thread; tests bring one of their own. */
  readonly worker?: URL;
}

/** Takes in spools on this node's disk. One thread writes them, which begins with the first. */
export function diskRecorder(options: RecorderOptions): MediaRecorder {
  const { folder, blobs, clock, log } = options;
  const { worker = new URL('./recorder-worker.ts', import.meta.url) } = options;
  const limits: RecorderLimits = { ...recorderDefaults, ...options.limits };
  const takes = new SessionTakes();
  const byNumber = new Map<number, Take>();
  const joining = new Map<string, Promise<FinishedTake>>();
  const stopping = new AbortController();
  let lastNumber = 0;
  let written = 0;
  const gaps = noGaps();
  const renditionGaps = noGaps();

  const link = new RecorderLink({
    ...{ worker, folder, clock, limits, log },
    metaOf: (number) => byNumber.get(number)?.meta,
    onNote(note) {
      const take = byNumber.get(note.take);
      written += Math.max(0, note.bytes - (take?.bytes ?? note.bytes));
      const counted = take?.meta.rendition ? renditionGaps : gaps;
      for (const reason of note.reasons) counted[reason] += 1;
      take?.note(note);
      if (take && blobs.adopting === 'copy') uploads.notice(take);
    },
  });
  const uploads = new GrowingUploads({
    ...{ blobs, clock, limits, log },
    save: (take, upload) => link.call('save', { take: take.number, fields: { upload } }),
  });

  const keep = (meta: TakeMeta, about = { bytes: 0, writtenAt: clock.now() }): Take => {
    const number = ++lastNumber;
    const take = new Take({ number, folder: join(folder, spoolName(meta)), meta, ...about });
    byNumber.set(number, take);
    return take;
  };
  const complete = async (take: Take, renditions: readonly Take[]) => {
    const { signal } = stopping;
    return finishTake(take, { blobs, link, uploads, clock, limits, log, signal, renditions });
  };
  /** Nothing of it stays on this disk. */
  const remove = async (take: Take) => {
    // One that ended has no file open.
    await link.forget(take.number).catch((error: unknown) => {
      if (link.isUp) throw error;
    });
    await removeSpool(take.folder).catch((error: unknown) => {
      throw recordingFault({ message: String(error), code: codeOf(error) });
    });
    byNumber.delete(take.number);
  };
  const feedOf = (take: Take) => {
    const onEnd = () => {
      // A publish that never played leaves nothing.
      if (take.isBegun || take.isEnding || take.isDropped) return;
      takes.delete(take);
      byNumber.delete(take.number);
      link.forget(take.number).catch(() => {});
    };
    return new PublishFeed(take, { link, clock, issueKept: limits.issueKept, onEnd });
  };
  /** The take of a rendition, whose source has one; undefined: there is no room for it. */
  const renditionOf = (
    { meta: { sessionId, streamId, folder } }: Take,
    name: string,
    grant: PublishGrant,
  ) => {
    const known = takes.rendition(sessionId, name);
    if (known) return known;
    if (takes.renditionCount >= limits.renditionTakes) return undefined;
    if (takes.renditions(sessionId).length >= limits.renditions) return undefined;
    const profiles = grant.profiles?.map((profile) => profile.name) ?? [];
    // One that is not among them comes behind.
    const order = profiles.includes(name) ? profiles.indexOf(name) : profiles.length;
    const about = { sessionId, streamId, folder, takeId: randomUUID(), gaps: 0 };
    const take = keep({ version: 1, ...about, rendition: { name, order } });
    takes.add(take);
    return take;
  };

  return {
    async open() {
      for (const { meta, ...about } of await findTakes(folder, { log, limits })) {
        const take = keep(meta, about);
        takes.add(take);
        // Its file is mended and hashed meanwhile.
        if (!take.isEnding) link.announce(take.number);
      }
    },

    takes: async () => takes.states(),

    totals() {
      const known = takes.states();
      return {
        takes: known.length,
        growing: known.filter(({ isFed }) => isFed).length,
        bytes: known.reduce((sum, { bytes }) => sum + bytes, 0),
        ...{ written, gaps, renditionGaps },
      };
    },

    feed(grant, rendition) {
      const { sessionId, streamId, recording } = grant;
      if (!recording || stopping.signal.aborted || !sessionShape.test(sessionId)) return undefined;
      let take = takes.source(sessionId);
      if (take?.isEnding || take?.isDropped) return undefined;
      if (rendition !== undefined) {
        const beside = take && renditionOf(take, rendition, grant);
        return beside && feedOf(beside);
      }
      if (!take) {
        if (takes.count >= limits.takes) return undefined;
        const takeId = randomUUID();
        take = keep({ version: 1, sessionId, streamId, folder: recording.folder, takeId, gaps: 0 });
        takes.add(take);
      }
      return feedOf(take);
    },

    async finish(sessionId, { signal }) {
      signal.throwIfAborted();
      const take = takes.source(sessionId);
      if (!take || take.isDropped) return undefined;
      if (!take.finishing) {
        const finishing = complete(take, takes.renditions(sessionId)).catch((error: unknown) => {
          // A repeat goes on where it stopped.
          take.finishing = undefined;
          throw error;
        });
        take.finishing = finishing;
        finishing.catch(() => {});
      }
      return unlessAborted(take.finishing, signal);
    },

    async join(parts, { folder: into, signal }) {
      signal.throwIfAborted();
      // The same takes make the same names: a repeat after a death leaves nothing behind.
      const text = JSON.stringify([into, parts.map(({ video }) => video.key)]);
      const takeId = createHash('sha256').update(text).digest('hex').slice(0, 0x20);
      const make = async () => {
        const sessionId = `${joinMark}${takeId}`;
        const about = { version: 1, sessionId, streamId: '', folder: into, gaps: 0 } as const;
        const take = keep({ ...about, takeId });
        const names = new Set(parts.flatMap(({ renditions = [] }) => renditions.map(({ name }) => name)));
        const renditions = [...names].map((name, order) =>
          keep({ ...about, takeId: `${takeId}-${order + 1}`, rendition: { name, order } }),
        );
        const options = { blobs, link, clock, limits, signal: stopping.signal };
        try {
          for (const one of [take, ...renditions]) await rm(one.folder, { recursive: true, force: true });
          await joinTakes(parts, { ...options, into: take });
          const joined = await joinRenditions(parts, { ...options, renditions, log });
          const made = await complete(take, joined);
          if (!made || take.meta.gaps > 0) throw unavailable('a recording could not be joined as a whole');
          return { ...made, gaps: parts.reduce((sum, { gaps }) => sum + gaps, 0) };
        } finally {
          for (const one of [...renditions, take]) {
            await one.working;
            await uploads.abandon(one).catch(() => {});
            await remove(one).catch((error: unknown) => log.warn('a spool stays', { error }));
          }
        }
      };
      let made = joining.get(takeId);
      if (!made) {
        made = make().finally(() => joining.delete(takeId));
        made.catch(() => {});
        joining.set(takeId, made);
      }
      return unlessAborted(made, signal);
    },

    async drop(sessionId) {
      const source = takes.source(sessionId);
      // That of the source goes last, so that a death in between leaves a take to drop again.
      const all = [...takes.renditions(sessionId), ...(source ? [source] : [])];
      for (const take of all) take.isDropped = true;
      await source?.finishing?.catch(() => {});
      for (const take of all) {
        await take.working;
        await uploads.abandon(take);
        await remove(take);
        takes.delete(take);
      }
    },

    async close() {
      stopping.abort(unavailable('the server is about to end'));
      uploads.close();
      await link.close();
    },
  };
}

function noGaps(): Record<GapReason, number> {
  return Object.fromEntries(gapReasons.map((reason) => [reason, 0])) as Record<GapReason, number>;
}

/** A session is a folder. */
const sessionShape = /^[a-zA-Z0-9_-]{1,100}$/;

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  const aborted = Promise.withResolvers<never>();
  const stop = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
