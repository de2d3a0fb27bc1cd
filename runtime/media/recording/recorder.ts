import { createHash, randomUUID } from 'node:crypto';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../core/log.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { FinishedTake } from '../../../core/ports/recorder.ts';
import type { MediaRecorder } from './feed.ts';
import { finishTake } from './finishing.ts';
import { findTakes, joinMark } from './found-takes.ts';
import { GrowingUploads } from './growing-uploads.ts';
import { joinTakes } from './joining.ts';
import { type RecorderLimits, recorderDefaults } from './limits.ts';
import { PublishFeed } from './publish-feed.ts';
import { RecorderLink, recordingFault, unavailable } from './recorder-link.ts';
import { Take } from './take.ts';
import { spoolFiles, type TakeMeta } from './take-meta.ts';
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
  const takes = new Map<string, Take>();
  const byNumber = new Map<number, Take>();
  const joining = new Map<string, Promise<FinishedTake>>();
  const stopping = new AbortController();
  let lastNumber = 0;
  let written = 0;
  const gaps = Object.fromEntries(gapReasons.map((reason) => [reason, 0])) as Record<GapReason, number>;

  const link = new RecorderLink({
    ...{ worker, folder, clock, limits, log },
    metaOf: (number) => byNumber.get(number)?.meta,
    onNote(note) {
      const take = byNumber.get(note.take);
      written += Math.max(0, note.bytes - (take?.bytes ?? note.bytes));
      for (const reason of note.reasons) gaps[reason] += 1;
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
    const take = new Take({ number, folder: join(folder, meta.sessionId), meta, ...about });
    byNumber.set(number, take);
    return take;
  };
  const complete = async (take: Take) => {
    const { signal } = stopping;
    return finishTake(take, { blobs, link, uploads, limits, signal });
  };
  /** Nothing of it stays on this disk. `take.json` goes last, so that a death in between leaves a take to drop again. */
  const remove = async (take: Take) => {
    // One that ended has no file open.
    await link.forget(take.number).catch((error: unknown) => {
      if (link.isUp) throw error;
    });
    const names = [spoolFiles.video, spoolFiles.head, spoolFiles.index, spoolFiles.meta];
    try {
      for (const name of names) {
        for (const ending of ['', '.blob', '.new'])
          await rm(join(take.folder, name + ending), { force: true });
      }
      await rmdir(take.folder).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      });
    } catch (error) {
      throw recordingFault({ message: String(error), code: codeOf(error) });
    }
    byNumber.delete(take.number);
  };

  return {
    async open() {
      for (const { meta, ...about } of await findTakes(folder, { log, limits })) {
        const take = keep(meta, about);
        takes.set(meta.sessionId, take);
        // Its file is mended and hashed meanwhile.
        if (!take.isEnding) link.announce(take.number);
      }
    },

    takes: async () => [...takes.values()].map((take) => take.state),

    totals() {
      const known = [...takes.values()];
      return {
        takes: known.length,
        growing: known.filter(({ isFed }) => isFed).length,
        bytes: known.reduce((sum, { bytes }) => sum + bytes, 0),
        ...{ written, gaps },
      };
    },

    feed({ sessionId, streamId, recording }) {
      if (!recording || stopping.signal.aborted || !sessionShape.test(sessionId)) return undefined;
      let take = takes.get(sessionId);
      if (take?.isEnding || take?.isDropped) return undefined;
      if (!take) {
        if (takes.size >= limits.takes) return undefined;
        const takeId = randomUUID();
        take = keep({ version: 1, sessionId, streamId, folder: recording.folder, takeId, gaps: 0 });
        takes.set(sessionId, take);
      }
      const its = take;
      const onEnd = () => {
        // A publish that never played leaves nothing.
        if (its.isBegun || its.isEnding || its.isDropped) return;
        takes.delete(sessionId);
        byNumber.delete(its.number);
        link.forget(its.number).catch(() => {});
      };
      return new PublishFeed(take, { link, clock, issueKept: limits.issueKept, onEnd });
    },

    async finish(sessionId, { signal }) {
      signal.throwIfAborted();
      const take = takes.get(sessionId);
      if (!take || take.isDropped) return undefined;
      if (!take.finishing) {
        const finishing = complete(take).catch((error: unknown) => {
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
        const take = keep({ version: 1, sessionId, streamId: '', folder: into, takeId, gaps: 0 });
        try {
          await rm(take.folder, { recursive: true, force: true });
          await joinTakes(parts, { blobs, link, clock, limits, into: take, signal: stopping.signal });
          const made = await complete(take);
          if (!made || take.meta.gaps > 0) throw unavailable('a recording could not be joined as a whole');
          return { ...made, gaps: parts.reduce((sum, { gaps }) => sum + gaps, 0) };
        } finally {
          await uploads.abandon(take).catch(() => {});
          await remove(take).catch((error: unknown) => log.warn('a spool stays', { error }));
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
      const take = takes.get(sessionId);
      if (!take) return;
      take.isDropped = true;
      await take.finishing?.catch(() => {});
      await uploads.abandon(take);
      await remove(take);
      takes.delete(sessionId);
    },

    async close() {
      stopping.abort(unavailable('the server is about to end'));
      uploads.close();
      await link.close();
    },
  };
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
