import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { complaints, probe } from '../e2e/harness/film-tools.ts';
import { numbersIn, runsOf } from '../e2e/harness/numbered.ts';
import { readFlvTags } from '../kit/publisher/flv-file.ts';
import { flvOf, type Heard } from './heard.ts';

/** Key frames of the numbered clip are so many pictures apart; the first of each connection is one. */
const keyEvery = 60;

export interface Received {
  /** Runs of numbers without a gap, first and last of each. */
  readonly runs: readonly (readonly [first: number, last: number])[];
  readonly pictures: number;
}

/**
 * What a far side got of a numbered broadcast, as FLV. It must begin, and go on after each gap, with a key frame; no time
 * goes back; it must be the codecs and the picture that were sent, as long as its pictures are, and ffmpeg must
 * decode every one of them without a word.
 *
 * @param options.firsts the first numbers of the encoder's connections
 * @param options.isVideoOnly sound must not be there
 */
export async function checkReceived(
  received: string | readonly Heard[],
  options: { firsts?: readonly number[]; isVideoOnly?: boolean } = {},
): Promise<Received> {
  const { firsts = [0], isVideoOnly = false } = options;
  const bytes = typeof received === 'string' ? readFileSync(received) : Buffer.from(flvOf(received));
  const numbers = numbersIn(bytes);
  const runs = runsOf(numbers);
  // Between runs, and between connections of the encoder, nobody knows how long the gap is.
  const isOne = runs.length === 1 && firsts.filter((first) => first > runs[0][0]).length === 0;
  for (const [first] of runs) {
    const connection = firsts.findLast((one) => one <= first) ?? 0;
    expect((first - connection) % keyEvery, `a run begins with picture ${first}`).toBe(0);
  }
  for (const type of ['audio', 'video']) {
    const times = readFlvTags(bytes)
      .filter((tag) => tag.type === type)
      .map(({ timestamp }) => timestamp);
    const back = times.findIndex((time, n) => n > 0 && time < times[n - 1]);
    expect(back < 0 ? 'never' : times.slice(back - 1, back + 1), `${type} goes back`).toBe('never');
  }

  const folder = mkdtempSync(join(tmpdir(), 'millrace-received-'));
  try {
    const file = typeof received === 'string' ? received : join(folder, 'received.flv');
    if (typeof received !== 'string') writeFileSync(file, bytes);
    const { streams } = await probe(file);
    const video = streams.find(({ codec_type }) => codec_type === 'video');
    const audio = streams.find(({ codec_type }) => codec_type === 'audio');
    expect(video).toMatchObject({ codec_name: 'h264', width: 1280, height: 720 });
    expect(Number(video?.nb_read_frames)).toBe(numbers.length);
    if (isVideoOnly) expect(audio).toBeUndefined();
    // Of one picture and no sound tools guess what there would have been.
    else if (numbers.length > 30) {
      expect(audio).toMatchObject({ codec_name: 'aac', sample_rate: '48000', channels: 2 });
      if (isOne) {
        const seconds = (Number(audio?.nb_read_packets) * 1024) / 48_000;
        expect(Math.abs(seconds - numbers.length / 30), `${seconds} s of sound`).toBeLessThan(0.5);
      }
    }
    if (isOne) {
      const times = readFlvTags(bytes).flatMap(({ type, timestamp }) =>
        type === 'script' ? [] : [timestamp],
      );
      // The headers, which have the time of what they precede, are among them.
      const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
      expect(Math.abs(seconds - numbers.length / 30), `${seconds} s`).toBeLessThan(0.5);
    }
    expect(await complaints(file)).toBe('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { runs, pictures: numbers.length };
}

/** Pictures that did not come, between the first and the last that did. */
export function missing(runs: Received['runs']): number {
  return runs.reduce((sum, [first], n) => sum + (n === 0 ? 0 : first - runs[n - 1][1] - 1), 0);
}
