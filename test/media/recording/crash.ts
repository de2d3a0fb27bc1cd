import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { readSegmentIndex } from '../../../core/vod/segment-index.ts';
import type { S3BlobsOptions } from '../../../runtime/drivers/blobs/s3/connection.ts';
import type { MediaRecorder } from '../../../runtime/media/recording/feed.ts';
import type { RecorderSettings } from '../../../runtime/media/recording/settings.ts';
import {
  began,
  bytesOf,
  Film,
  noSignal,
  type Place,
  pause,
  segmentMs,
  segmentsIn,
  told,
  until,
} from './fixtures.ts';

export interface CrashConfig {
  readonly folder: string;
  readonly round: number;
  readonly settings?: Partial<RecorderSettings>;
  readonly blobs: { readonly folder: string } | Omit<S3BlobsOptions, 'clock'>;
}

export interface Said {
  readonly sessionId: string;
  /** When the segments began that are in the file. */
  readonly written?: readonly number[];
  /** The same of its rendition, those that are whole: what is cut off in one of both is not shown of it. */
  readonly beside?: readonly number[];
  readonly finishing?: boolean;
  readonly take?: FinishedRecording;
}

/** Every session has one. */
export const rendition = 'small';

/** What each life of a session has of it: other bytes, and later. */
const roundLength = 100_000;

/** Bytes of a part of the long one, of which four are a segment. */
const longPart = 120_000;

/** On a machine so slow that hardly a session comes to its end, some more than a caller asks for. */
const mostRounds = 40;

/** Of all lives of the long one together. */
const longSegments = 30;

export function filmOf(sessionId: string, round: number, name = ''): Film {
  const seed = round + 1 + sessionId.length * 1000 + name.length * 100_000;
  return new Film({ seed, first: round * roundLength, partBytes: sessionId === 'long' ? longPart : 10_000 });
}

/**
 * A process that records is killed again and again, at moments of chance. What it said was written is there, whole and in
 * order, in what the next life finishes; what it said was finished is answered the same.
 */
export async function killWhileRecording(
  at: Place,
  options: {
    rounds: number;
    config: Omit<CrashConfig, 'folder' | 'round'>;
    recorder(): Promise<MediaRecorder>;
  },
): Promise<{ killed: { finishing: number; takes: number } }> {
  const long = new Set<number>();
  const longBeside = new Set<number>();
  const killed = { finishing: 0, takes: 0 };
  // On until one was killed between its answer and its end, which is a matter of chance.
  const enough = (round: number) => round >= options.rounds && (killed.takes > 0 || round >= mostRounds);
  for (let round = 0; !enough(round); round++) {
    const isLast = round === options.rounds - 1;
    const said = await runAndKill(
      { ...options.config, folder: at.folder, round },
      // However slow the machine is: so many that what is asked of the long one is in it.
      { after: 100 + Math.random() * 1500, segments: isLast ? longSegments : 0 },
    );
    const recorder = await options.recorder();
    const states = new Map((await recorder.files()).map((state) => [state.sessionId, state]));
    for (const sessionId of new Set(said.map((one) => one.sessionId))) {
      if (sessionId === 'ready') continue;
      const its = said.filter((one) => one.sessionId === sessionId);
      const last = its.findLast((one) => one.written);
      const [written = [], beside = []] = [last?.written, last?.beside].map((starts) =>
        starts?.map((start) => (start - began) / segmentMs),
      );
      if (sessionId === 'long') {
        for (const number of written) long.add(number);
        for (const number of beside) longBeside.add(number);
        continue;
      }
      const acknowledged = its.findLast((one) => one.take)?.take;
      if (!states.has(sessionId)) {
        // Dropped, which is allowed only behind the answer; or no part of it came to the thread.
        if (acknowledged) await checkTake(at, { take: acknowledged, sessionId, written, beside });
        else expect(written).toEqual([]);
        continue;
      }
      const take = await recorder.finish(sessionId, { signal: noSignal() });
      if (acknowledged) {
        expect(take).toEqual(acknowledged);
        killed.takes += 1;
      } else if (its.some((one) => one.finishing)) killed.finishing += 1;
      if (take) await checkTake(at, { take, sessionId, written, beside });
      else expect(written).toEqual([]);
      await recorder.drop(sessionId);
    }
    await recorder.close();
  }
  const recorder = await options.recorder();
  // So that it is not all hashed when it is asked for.
  await pause(50);
  const take = (await recorder.finish('long', { signal: noSignal() }))!;
  expect(take.video.size).toBeGreaterThan(longSegments * longPart * 4);
  await checkTake(at, { take, sessionId: 'long', written: [...long], beside: [...longBeside] });
  await recorder.close();
  return { killed };
}

async function checkTake(
  { blobs }: Place,
  options: {
    take: FinishedRecording;
    sessionId: string;
    written: readonly number[];
    beside: readonly number[];
  },
): Promise<void> {
  const { take, sessionId, written, beside } = options;
  const { whole, begun } = await segmentsIn(blobs, { take, film: filmsOf(sessionId) });
  // A publish that ended, or was cut off, may have left the beginning of one.
  expect([...whole, ...begun]).toEqual(expect.arrayContaining([...written]));
  const shown = await shownOfRendition(blobs, { take, film: filmsOf(sessionId, rendition) });
  expect(shown).toEqual(expect.arrayContaining(beside.filter((number) => whole.includes(number))));
}

/** The film of a session over all its lives. */
function filmsOf(sessionId: string, name?: string): Pick<Film, 'partsOf'> {
  const films = new Map<number, Film>();
  return {
    partsOf(number) {
      const round = Math.floor(number / roundLength);
      const film = films.get(round) ?? filmOf(sessionId, round, name);
      films.set(round, film);
      while (film.partsOf(number).length < 4) film.next();
      return film.partsOf(number);
    },
  };
}

/** Which segments are shown of its rendition; throws when one of them is not what was fed. */
async function shownOfRendition(
  blobs: Place['blobs'],
  { take, film }: { take: FinishedRecording; film: Pick<Film, 'partsOf'> },
): Promise<number[]> {
  const [made] = take.renditions ?? [];
  if (!made) return [];
  const [video, bytes] = await Promise.all([made.video, made.index].map(({ key }) => bytesOf(blobs, key)));
  const index = readSegmentIndex(bytes);
  return Array.from({ length: index.count }, (_, number) => index.segment(number)).flatMap(
    ({ at, size, wallStart, init }) => {
      if (index.inits[init]?.ofSource !== undefined) return [];
      const number = (wallStart - began) / segmentMs;
      const parts = film.partsOf(number);
      // A publish that was cut off may have left the beginning of one, the same of both.
      const found = told([video.subarray(at, at + size)]);
      const count = [1, 2, 3, 4].find((some) => told(parts.slice(0, some)) === found);
      if (count === undefined) throw new Error(`segment ${number} of the rendition is torn`);
      return [number];
    },
  );
}

/** @param options ms that it lives at least, and segments of the long one that it says to be written */
async function runAndKill(
  config: CrashConfig,
  { after, segments }: { after: number; segments: number },
): Promise<Said[]> {
  const script = fileURLToPath(new URL('./crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const said: Said[] = [];
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const hasWritten = () =>
    said.some(({ sessionId, written = [] }) => sessionId === 'long' && written.length >= segments);
  // The last line may be cut short by the kill.
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (said.length === 0 && rest === '') {
      void pause(after)
        .then(() => until(() => segments === 0 || hasWritten() || hasEnded()))
        .then(() => child.kill('SIGKILL'));
    }
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) said.push(JSON.parse(line) as Said);
  });
  const [, signal] = await closed;
  expect(signal, 'the recording process ended by itself; why stands above').toBe('SIGKILL');
  return said;
}
