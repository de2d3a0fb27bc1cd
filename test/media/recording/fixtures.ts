import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { readSegmentIndex } from '../../../core/vod/segment-index.ts';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { readVideoHeader } from '../../../runtime/media/codecs/headers.ts';
import { VIDEO_AVC } from '../../../runtime/media/flv/message.ts';
import { fragmentSize, writeFragment } from '../../../runtime/media/mp4/fragment.ts';
import { writeInit } from '../../../runtime/media/mp4/init.ts';
import type { PublishedInit, PublishedPart } from '../../../runtime/media/publish/subscriber.ts';
import type { MediaRecorder, RecordingFeed } from '../../../runtime/media/recording/feed.ts';
import { DiskRecorder, type RecorderOptions } from '../../../runtime/media/recording/recorder.ts';
import { modelUploads } from '../../conformance/blobs/model.ts';
import { AVC_360P } from '../../hls/feed.ts';
import { silentLog } from '../../kit/silent-log.ts';

export const clock = systemClock();

/** Length of a segment. */
export const segmentMs = 2000;
/** Of each segment. */
const partsPerSegment = 4;
export const began = 1_800_000_000_000;

/** What a packager would hand over: AVC, five frames in half a second, bytes that differ everywhere. */
export class Film {
  readonly init: PublishedInit;
  /** All that was made, by segment. */
  readonly segments: Uint8Array[][] = [];
  readonly #partBytes: number;
  readonly #first: number;
  #number: number;
  #state: number;

  /** @param options.first number of its first segment */
  constructor(options: { partBytes?: number; seed?: number; first?: number } = {}) {
    this.#first = options.first ?? 0;
    this.#number = this.#first * partsPerSegment;
    this.#partBytes = options.partBytes ?? 20_000;
    this.#state = ((options.seed ?? 1) * 2_654_435_761) >>> 0 || 1;
    const config = readVideoHeader(VIDEO_AVC, AVC_360P);
    if ('malformed' in config) throw new Error(config.malformed);
    const bytes = writeInit({ video: { id: 1, timescale: 90_000, config, record: AVC_360P } });
    this.init = { bytes, codecs: [config.codec], width: 640, height: 360, frameRate: 10 };
  }

  partsOf(segment: number): readonly Uint8Array[] {
    return this.segments[segment - this.#first] ?? [];
  }

  next(): { bytes: Uint8Array; part: PublishedPart } {
    const number = this.#number++;
    const frames = 5;
    const size = Math.ceil(this.#partBytes / frames);
    const media = this.#noise(size * frames);
    const isKey = number % partsPerSegment === 0;
    // A NAL unit of parameters comes first, so that the file has none to add.
    if (isKey) new DataView(media.buffer).setUint32(0, size - 4);
    if (isKey) media[4] = 0x67;
    const table = new Float64Array(frames * 5);
    for (let frame = 0; frame < frames; frame++) {
      const start = (number * frames + frame) * 9000;
      table.set([start, 0, frame * size, size, Number(isKey && frame === 0)], frame * 5);
    }
    const until = (number + 1) * frames * 9000;
    const runs = [{ id: 1, isVideo: true, table, taken: frames, until, bytes: media }];
    const bytes = new Uint8Array(fragmentSize(runs));
    writeFragment(bytes, { at: 0, sequence: number + 1, runs });
    if (isKey) this.segments.push([]);
    this.segments.at(-1)?.push(bytes);
    const part = {
      wallStart: began + number * 500,
      duration: 0.5,
      isIndependent: isKey,
      startsSegment: isKey,
    };
    return { bytes, part };
  }

  #noise(size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at++) {
      this.#state ^= this.#state << 13;
      this.#state ^= this.#state >>> 17;
      this.#state ^= this.#state << 5;
      bytes[at] = this.#state;
    }
    return bytes;
  }
}

/** Hands over so many segments of the film; those of each are what `taken` got. */
export function feedSegments(
  feed: RecordingFeed,
  film: Film,
  count: number,
  taken: Uint8Array[] = [],
): Uint8Array[] {
  for (let part = 0; part < count * partsPerSegment; part++) {
    const { bytes, part: about } = film.next();
    if (feed.part(bytes, about)) taken.push(bytes);
  }
  return taken;
}

export function grantOf(sessionId: string): PublishGrant {
  return {
    granted: true,
    token: `token-${sessionId}`,
    streamId: `stream-of-${sessionId}`,
    sessionId,
    playbackId: `p-${sessionId}`,
    mediaSequence: 0,
    discontinuitySequence: 0,
    targetDuration: 4,
    recording: { folder: `assets/${sessionId}` },
  };
}

/** Where a recorder has its spools and blobs. */
export interface Place extends Disposable {
  readonly folder: string;
  readonly blobs: Blobs;
  /** Another one on the same data: what a process does after a restart. */
  recorder(options?: Partial<RecorderOptions>): Promise<MediaRecorder>;
}

export function place(): Place {
  const root = mkdtempSync(join(tmpdir(), 'millrace-recorder-'));
  const folder = join(root, 'recordings');
  const files = fsBlobs({ folder: join(root, 'blobs') });
  // A directory takes no uploads in parts; for tests of a store that does they end in it.
  const blobs: Blobs = { ...files, uploads: modelUploads(files) };
  return {
    folder,
    blobs,
    async recorder(options = {}) {
      const made = new DiskRecorder({
        ...{ folder, blobs, clock, log: silentLog },
        ...options,
        settings: { reserve: 1, sync: 50, ...options.settings },
      });
      await made.open();
      return made;
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

export const noSignal = () => new AbortController().signal;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => clock.at(clock.now() + ms, resolve));
}

/** Until it holds; a test that waits for ever fails by its time limit. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(10);
}

export async function bytesOf(blobs: Blobs, key: string): Promise<Uint8Array> {
  const got = await blobs.get(key);
  if (got.outcome !== 'ok') throw new Error(`${key} is ${got.outcome}`);
  return new Response(got.body).bytes();
}

/** What is wrong with the blobs of a take: sizes, hashes, index, boxes. Its segments' bytes otherwise. */
export async function checkFinished(blobs: Blobs, take: FinishedRecording): Promise<Uint8Array[]> {
  const [video, head, index] = await Promise.all(
    [take.video, take.head, take.index].map(async ({ key, size }) => {
      const bytes = await bytesOf(blobs, key);
      if (bytes.length !== size) throw new Error(`${key} has ${bytes.length} bytes, not ${size}`);
      return bytes;
    }),
  );
  if (!video || !head || !index) throw new Error('a blob is missing');
  for (const kind of ['md5', 'sha256'] as const) {
    const found = createHash(kind).update(video).digest('hex');
    if (found !== take.video[kind]) throw new Error(`${kind} is ${found}, told was ${take.video[kind]}`);
  }
  const boxes = boxesOf(video).map(({ type }) => type);
  if (!/^ftyp(,mdat)+,moov$/.test(boxes.join())) throw new Error(`the boxes are ${boxes}`);
  if (
    !/^ftyp,moov$/.test(
      boxesOf(head)
        .map(({ type }) => type)
        .join(),
    )
  )
    throw new Error('the head is none');
  const read = readSegmentIndex(index);
  return Array.from({ length: read.count }, (_, number) => {
    const { at, size } = read.segment(number);
    return video.subarray(at, at + size);
  });
}

/**
 * Which segments of the film are in a take, by number: all of one, or its first parts. Throws when anything is torn, there twice
 * or not in order.
 */
export async function segmentsIn(
  blobs: Blobs,
  { take, film }: { take: FinishedRecording; film: Pick<Film, 'partsOf'> },
): Promise<{ whole: number[]; begun: number[] }> {
  const found = await checkFinished(blobs, take);
  const read = readSegmentIndex(await bytesOf(blobs, take.index.key));
  const numbers = found.map((bytes, index) => {
    const number = (read.segment(index).wallStart - began) / segmentMs;
    const parts = film.partsOf(number);
    const count = [1, 2, 3, 4].find((some) => told(parts.slice(0, some)) === told([bytes]));
    if (count === undefined) throw new Error(`segment ${number} is torn: ${told([bytes])}`);
    return { number, isWhole: count === partsPerSegment };
  });
  const order = numbers.map(({ number }) => number);
  if (order.some((number, index) => index > 0 && number <= (order[index - 1] as number)))
    throw new Error(`segments are not in order: ${order}`);
  return {
    whole: numbers.flatMap(({ number, isWhole }) => (isWhole ? [number] : [])),
    begun: numbers.flatMap(({ number, isWhole }) => (isWhole ? [] : [number])),
  };
}

export function boxesOf(bytes: Uint8Array): { type: string; at: number; size: number }[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const boxes: { type: string; at: number; size: number }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = view.getUint32(at);
    boxes.push({ type: Buffer.from(bytes.subarray(at + 4, at + 8)).toString('latin1'), at, size });
    if (size < 8) break;
    at += size;
  }
  return boxes;
}

/** One text for all of these bytes: comparing them one by one takes seconds. */
export function told(pieces: readonly Uint8Array[]): string {
  const all = Buffer.concat(pieces);
  return `${all.length} bytes, ${createHash('sha256').update(all).digest('hex')}`;
}

export function fileOf(...path: string[]): Buffer {
  return readFileSync(join(...path));
}
