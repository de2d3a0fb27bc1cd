import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { FinishedTake } from '../../../core/ports/recorder.ts';
import type { S3BlobsOptions } from '../../../runtime/drivers/blobs/s3/options.ts';
import type { MediaRecorder } from '../../../runtime/media/recording/feed.ts';
import type { RecorderLimits } from '../../../runtime/media/recording/limits.ts';
import { began, Film, noSignal, type Place, pause, segmentMs, segmentsIn } from './fixtures.ts';

export interface CrashConfig {
  readonly folder: string;
  readonly round: number;
  readonly limits?: Partial<RecorderLimits>;
  readonly blobs: { readonly folder: string } | Omit<S3BlobsOptions, 'clock'>;
}

export interface Said {
  readonly sessionId: string;
  /** When the segments began that are in the file. */
  readonly written?: readonly number[];
  readonly finishing?: boolean;
  readonly take?: FinishedTake;
}

/** What each life of a session has of it: other bytes, and later. */
const roundLength = 100_000;

export function filmOf(sessionId: string, round: number): Film {
  const seed = round + 1 + sessionId.length * 1000;
  return new Film({ seed, first: round * roundLength, partBytes: sessionId === 'long' ? 120_000 : 10_000 });
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
  const killed = { finishing: 0, takes: 0 };
  for (let round = 0; round < options.rounds; round++) {
    const said = await runAndKill(
      { ...options.config, folder: at.folder, round },
      100 + Math.random() * 1500,
    );
    const recorder = await options.recorder();
    const states = new Map((await recorder.takes()).map((state) => [state.sessionId, state]));
    for (const sessionId of new Set(said.map((one) => one.sessionId))) {
      if (sessionId === 'ready') continue;
      const its = said.filter((one) => one.sessionId === sessionId);
      const written = (its.findLast((one) => one.written)?.written ?? []).map(
        (start) => (start - began) / segmentMs,
      );
      if (sessionId === 'long') {
        for (const number of written) long.add(number);
        continue;
      }
      const acknowledged = its.findLast((one) => one.take)?.take;
      if (!states.has(sessionId)) {
        // Dropped, which is allowed only behind the answer; or no part of it came to the thread.
        if (acknowledged) await checkTake(at, { take: acknowledged, sessionId, written });
        else expect(written).toEqual([]);
        continue;
      }
      const take = await recorder.finish(sessionId, { signal: noSignal() });
      if (acknowledged) {
        expect(take).toEqual(acknowledged);
        killed.takes += 1;
      } else if (its.some((one) => one.finishing)) killed.finishing += 1;
      if (take) await checkTake(at, { take, sessionId, written });
      else expect(written).toEqual([]);
      await recorder.drop(sessionId);
    }
    await recorder.close();
  }
  const recorder = await options.recorder();
  // So that it is not all hashed when it is asked for.
  await pause(50);
  const take = (await recorder.finish('long', { signal: noSignal() }))!;
  expect(take.video.size).toBeGreaterThan(10_000_000);
  await checkTake(at, { take, sessionId: 'long', written: [...long] });
  await recorder.close();
  return { killed };
}

async function checkTake(
  { blobs }: Place,
  { take, sessionId, written }: { take: FinishedTake; sessionId: string; written: readonly number[] },
): Promise<void> {
  const films = new Map<number, Film>();
  const partsOf = (number: number) => {
    const round = Math.floor(number / roundLength);
    const film = films.get(round) ?? filmOf(sessionId, round);
    films.set(round, film);
    while (film.partsOf(number).length < 4) film.next();
    return film.partsOf(number);
  };
  const { whole, begun } = await segmentsIn(blobs, { take, film: { partsOf } });
  // A publish that ended, or was cut off, may have left the beginning of one.
  expect([...whole, ...begun]).toEqual(expect.arrayContaining([...written]));
}

async function runAndKill(config: CrashConfig, after: number): Promise<Said[]> {
  const script = fileURLToPath(new URL('./crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let output = '';
  child.stdout.on('data', (chunk) => {
    if (output === '') void pause(after).then(() => child.kill('SIGKILL'));
    output += chunk;
  });
  const [, signal] = await closed;
  expect(signal, 'the recording process ended by itself; why stands above').toBe('SIGKILL');
  // The last line may be cut short by the kill.
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Said);
}
