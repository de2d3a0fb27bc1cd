import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFrameNumber } from '../kit/frame-number.ts';
import { presentationTimes, runOf, type SeenSegment } from './variants.ts';

/** A picture of a variant. */
export interface Shown {
  /** When it is shown, ticks of 90 kHz. */
  readonly time: number;
  /** The number painted into it; null when it cannot be read. */
  readonly number: number | null;
  readonly sequence: number;
}

/** Every picture is looked at in this size. */
const width = 320;
const height = 180;
/** The rows from here on hold the number. */
const top = 156;

/**
 * Lets ffmpeg decode segments that follow each other, and reads the number painted into each picture. Throws when ffmpeg has
 * a word to say, or decodes another number of pictures than the boxes have. Segments with the same init are decoded in one go, from
 * the first on that begins with a key frame: a publish's second segment may not.
 */
export async function shownNumbers(segments: readonly SeenSegment[]): Promise<Shown[]> {
  const groups: SeenSegment[][] = [];
  for (const segment of segments) {
    const last = groups.at(-1)?.at(-1);
    const isNext = last?.map === segment.map && last.sequence + 1 === segment.sequence;
    if (isNext) groups.at(-1)?.push(segment);
    else if (runOf(segment, { part: 0, handler: 'vide' })?.samples[0].isSync) groups.push([segment]);
  }
  const shown: Shown[] = [];
  for (const group of groups) shown.push(...(await shownIn(group)));
  return shown;
}

async function shownIn(group: readonly SeenSegment[]): Promise<Shown[]> {
  const first = runOf(group[0], { part: 0, handler: 'vide' });
  // What is shown before the key frame in front needs pictures before it (H.265, open groups): no decoder has it.
  const from = first === undefined ? 0 : presentationTimes(first)[0];
  const times = group
    .flatMap((segment) =>
      segment.parts
        .flatMap((_, part) => {
          const run = runOf(segment, { part, handler: 'vide' });
          return run === undefined ? [] : presentationTimes(run);
        })
        .map((time) => ({ time, sequence: segment.sequence })),
    )
    .filter(({ time }) => time >= from)
    .sort((a, b) => a.time - b.time);
  const media = Buffer.concat([group[0].bytes[0], ...group.map(({ bytes }) => bytes[1])]);
  const numbers = await numbersPainted(media);
  if (numbers.length !== times.length)
    throw new Error(
      `${numbers.length} pictures are decoded of ${times.length} in segments ${group[0].sequence} to ${group.at(-1)?.sequence}`,
    );
  return times.map((one, n) => ({ ...one, number: numbers[n] }));
}

/**
 * The numbers in all pictures of a film, in order of presentation: its bytes, where it can be read without seeking, or its path. Throws
 * when ffmpeg has a word to say.
 */
export async function numbersPainted(film: Uint8Array | string): Promise<(number | null)[]> {
  const crop = `scale=${width}:${height}:flags=area,crop=${width}:${height - top}:0:${top},format=rgba`;
  const isPath = typeof film === 'string';
  const child = spawn(
    'ffmpeg',
    [
      ...['-hide_banner', '-nostats', '-v', 'error', '-copyts', '-i', isPath ? film : 'pipe:0', '-an', '-vf'],
      ...[crop, '-fps_mode', 'passthrough', '-enc_time_base', '1:90000', '-f', 'rawvideo', 'pipe:1'],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const numbers: (number | null)[] = [];
  const size = width * (height - top) * 4;
  const area = { x: 0, y: -top, width, height };
  let rest: Buffer = Buffer.alloc(0);
  let complaints = '';
  child.stdout.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (; rest.length >= size; rest = rest.subarray(size))
      numbers.push(readFrameNumber({ width, height: height - top, data: rest.subarray(0, size) }, area));
  });
  child.stderr.on('data', (text) => (complaints += text));
  child.stdin.on('error', () => {});
  child.stdin.end(isPath ? undefined : film);
  await once(child, 'close');
  if (complaints !== '') throw new Error(`ffmpeg says: ${complaints.slice(0, 500)}`);
  return numbers;
}

/**
 * What is wrong with numbers that count on by one, modulo `of`, picture by picture in order of presentation. `step` above 1: pictures
 * were left out on purpose, and each goes on by so many.
 */
export function gapsIn(shown: readonly Shown[], options: { of: number; step?: number }): string[] {
  const { of, step = 1 } = options;
  return shown.flatMap(({ number, sequence, time }, n) => {
    if (number === null) return [`a picture of segment ${sequence} at ${time} cannot be read`];
    const before = n === 0 ? null : shown[n - 1].number;
    if (before === null || number === (before + step) % of) return [];
    return [`picture ${number} comes after ${before}, at ${time} in segment ${sequence}`];
  });
}

/**
 * Pictures of a rendition that show another number than the source does at the same time, or are at a time when the source shows
 * none; only of the time of which both were decoded.
 */
export function strangers(source: readonly Shown[], rendition: readonly Shown[]): string[] {
  const known = new Map(source.map(({ time, number }) => [time, number]));
  return commonTime(rendition, source).flatMap(({ time, number, sequence }) => {
    const expected = known.get(time);
    if (expected === undefined)
      return [`picture ${number} at ${time} in segment ${sequence}: the source has none then`];
    return number === expected
      ? []
      : [`picture ${number} at ${time} in segment ${sequence}, not ${expected}`];
  });
}

/** The pictures of one from the first to the last time that the other has as well. Both in order of presentation. */
export function commonTime(one: readonly Shown[], other: readonly Shown[]): Shown[] {
  const [from, to] = [other[0]?.time ?? 0, other.at(-1)?.time ?? -1];
  return one.filter(({ time }) => time >= from && time <= to);
}
