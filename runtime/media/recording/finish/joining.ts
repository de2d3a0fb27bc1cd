import type { Log } from '../../../../core/base/log.ts';
import type { Blobs } from '../../../../core/ports/blobs.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { FinishedRecording } from '../../../../core/ports/recorder.ts';
import { type IndexedSegment, readSegmentIndex } from '../../../../core/vod/segment-index.ts';
import type { PublishedPart } from '../../publish/subscriber.ts';
import { descriptionOf } from '../file/layout.ts';
import type { RecordingFile } from '../recording-file.ts';
import { troubles } from '../trouble.ts';
import { batchMs, recordingFault, unavailable, type WritingThread } from '../writing-thread.ts';

interface JoiningOptions {
  readonly blobs: Blobs;
  readonly thread: WritingThread;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Feeds finished recordings, or one rendition of them, to a new file, in order and no faster than it is written. */
export async function joinRecordings(
  parts: readonly Pick<FinishedRecording, 'video' | 'index'>[],
  options: JoiningOptions & { into: RecordingFile },
): Promise<void> {
  const { into, thread } = options;
  thread.announce(into.number);
  for (const part of parts) await feedRecording(part, options);
  thread.send({ op: 'end', file: into.number });
}

/** The same for each of their renditions, by name. Answers those that could be joined as a whole. */
export async function joinRenditions(
  parts: readonly FinishedRecording[],
  options: JoiningOptions & { renditions: readonly RecordingFile[]; log: Log },
): Promise<RecordingFile[]> {
  const { renditions, log, signal } = options;
  const joined: RecordingFile[] = [];
  for (const into of renditions) {
    const name = into.meta.rendition?.name;
    const own = parts.flatMap((part) => part.renditions?.filter((one) => one.name === name) ?? []);
    try {
      await joinRecordings(own, { ...options, into });
      joined.push(into);
    } catch (error) {
      signal.throwIfAborted();
      log.warn('a recording of several nodes lacks one of its renditions', { rendition: name, error });
    }
  }
  return joined;
}

async function feedRecording(
  { video: { key }, index }: Pick<FinishedRecording, 'video' | 'index'>,
  options: JoiningOptions & { into: RecordingFile },
): Promise<void> {
  const { blobs, thread, into, signal } = options;
  const rows = readSegmentIndex(await readBlob(blobs, { ...index, from: 0, signal }));
  const { epoch } = thread;
  let init = -1;
  let reader: BlobReader | undefined;
  try {
    for (let number = 0; number < rows.count; number++) {
      const segment = rows.segment(number);
      const about = rows.inits[segment.init];
      if (!about) throw unavailable(`the index of ${key} names no init ${segment.init}`);
      // A rendition is joined without the segments that it borrows from its source.
      if (about.ofSource !== undefined) continue;
      if (segment.init !== init || segment.isDiscontinuity) {
        init = segment.init;
        const bytes = await readBlob(blobs, { key, from: about.at, size: about.size, signal });
        thread.send({ op: 'begin', file: into.number, init: { ...descriptionOf(about), bytes } });
      }
      reader ??= await BlobReader.open(blobs, { key, from: segment.at, signal });
      await feedSegment(segment, { ...options, reader, epoch });
    }
  } finally {
    await reader?.close();
  }
}

/** Fragment by fragment: a segment may be larger than the queue of the recording thread. */
async function feedSegment(
  segment: IndexedSegment,
  options: JoiningOptions & { into: RecordingFile; reader: BlobReader; epoch: number },
): Promise<void> {
  const { reader, signal } = options;
  await reader.skipTo(segment.at);
  const end = segment.at + segment.size;
  const { wallStart, duration } = segment;
  let part: PublishedPart = { wallStart, duration, isIndependent: true, startsSegment: true };
  while (reader.at < end) {
    signal.throwIfAborted();
    const bytes = await readFragment(reader, end);
    await feedPart(bytes, { ...options, part });
    part = { ...part, duration: 0, isIndependent: false, startsSegment: false };
  }
}

/** Boxes up to the end of an `mdat` (ISO/IEC 14496-12, 8.1.1). */
async function readFragment(reader: BlobReader, end: number): Promise<Uint8Array> {
  const boxes: Uint8Array[] = [];
  for (;;) {
    const head = await reader.read(8);
    const size = new DataView(head.buffer).getUint32(0);
    if (size < 8 || reader.at - 8 + size > end) throw unavailable(`a segment is damaged at ${reader.at - 8}`);
    boxes.push(head, await reader.read(size - 8));
    if (Buffer.from(head.buffer, 4, 4).toString('latin1') === 'mdat') return Buffer.concat(boxes);
  }
}

async function feedPart(
  bytes: Uint8Array,
  options: JoiningOptions & { into: RecordingFile; part: PublishedPart; epoch: number },
): Promise<void> {
  const { thread, into, part, clock, epoch, signal } = options;
  for (;;) {
    if (into.trouble !== undefined) {
      const isFull = [troubles.full, troubles.low, troubles.lowFirst].includes(into.trouble);
      throw recordingFault({ message: into.trouble, ...(isFull && { code: 'ENOSPC' }) });
    }
    if (thread.epoch !== epoch || !thread.isUp) throw unavailable('its thread ended');
    if (thread.part(into.number, bytes, part)) return;
    signal.throwIfAborted();
    // The queue is full until some of it is written.
    await new Promise<void>((resolve) => clock.at(clock.now() + batchMs, resolve));
  }
}

/** Reads bytes of one blob forwards, as they arrive. */
class BlobReader {
  readonly #key: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #piece: Uint8Array = new Uint8Array();
  /** Of the next byte. */
  at: number;

  private constructor(key: string, options: { from: number; body: ReadableStream<Uint8Array> }) {
    this.#key = key;
    this.at = options.from;
    this.#reader = options.body.getReader();
  }

  static async open(
    blobs: Blobs,
    { key, from, signal }: { key: string; from: number; signal: AbortSignal },
  ): Promise<BlobReader> {
    const got = await blobs.get(key, { range: { from }, signal });
    if (got.outcome !== 'ok') throw unavailable(`the blob ${key} is ${got.outcome}`);
    return new BlobReader(key, { from, body: got.body });
  }

  async read(size: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(size);
    for (let filled = 0; filled < size; ) {
      const piece = await this.#some(size - filled);
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  async skipTo(at: number): Promise<void> {
    while (this.at < at) await this.#some(at - this.at);
    if (this.at > at) throw unavailable(`the index of ${this.#key} does not ascend`);
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  /** At least one byte. */
  async #some(most: number): Promise<Uint8Array> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) throw unavailable(`the blob ${this.#key} ends at ${this.at}`);
      this.#piece = value;
    }
    const some = this.#piece.subarray(0, most);
    this.#piece = this.#piece.subarray(some.length);
    this.at += some.length;
    return some;
  }
}

/** `size` bytes of a blob. */
async function readBlob(
  blobs: Blobs,
  { size, ...where }: { key: string; from: number; size: number; signal: AbortSignal },
): Promise<Uint8Array> {
  const reader = await BlobReader.open(blobs, where);
  return reader.read(size).finally(() => reader.close());
}
