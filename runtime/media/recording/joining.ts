import type { Log } from '../../../core/base/log.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { FinishedTake } from '../../../core/ports/recorder.ts';
import { type IndexedSegment, readSegmentIndex } from '../../../core/vod/segment-index.ts';
import { BlobReader } from './blob-reader.ts';
import type { FedPart } from './feed.ts';
import type { RecorderLimits } from './limits.ts';
import { places } from './places.ts';
import { type RecorderLink, recordingFault, unavailable } from './recorder-link.ts';
import type { Take } from './take.ts';
import { troubles } from './trouble.ts';

interface JoiningOptions {
  readonly blobs: Blobs;
  readonly link: RecorderLink;
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly signal: AbortSignal;
}

/**
 * Feeds what finished takes hold to a new one, in their order, no faster than it is written. Of renditions that is what they have
 * themselves.
 */
export async function joinTakes(
  takes: readonly Joined[],
  options: JoiningOptions & { into: Take },
): Promise<void> {
  const { into, link } = options;
  link.announce(into.number);
  for (const take of takes) await feedTake(take, options);
  link.send({ op: 'end', take: into.number });
}

/** The same for their renditions, by name, some at one time. Answers those of which all could be joined. */
export async function joinRenditions(
  takes: readonly FinishedTake[],
  options: JoiningOptions & { renditions: readonly Take[]; log: Log },
): Promise<Take[]> {
  const { renditions, limits, log, signal } = options;
  const inPlace = places(limits.renditionsAtOnce);
  const joined = renditions.map((into) =>
    inPlace(async () => {
      const name = into.meta.rendition?.name;
      const parts = takes.flatMap((take) => take.renditions?.filter((one) => one.name === name) ?? []);
      try {
        await joinTakes(parts, { ...options, into });
        return [into];
      } catch (error) {
        signal.throwIfAborted();
        log.warn('a recording of several nodes lacks one of its renditions', { rendition: name, error });
        return [];
      }
    }),
  );
  await Promise.allSettled(joined);
  return (await Promise.all(joined)).flat();
}

/** A take, or a rendition of one. */
type Joined = Pick<FinishedTake, 'video' | 'index'>;

async function feedTake(take: Joined, options: JoiningOptions & { into: Take }): Promise<void> {
  const { blobs, link, into, signal } = options;
  const index = readSegmentIndex(await wholeOf(take.index, options));
  const inits: Uint8Array[] = [];
  for (const { at, size, ofSource } of index.inits) {
    // Those of the source stand behind its own.
    if (ofSource !== undefined) break;
    const reader = await BlobReader.open(blobs, { key: take.video.key, from: at, signal });
    inits.push(await reader.take(size).finally(() => reader.close()));
  }
  const epoch = link.epoch;
  let init = -1;
  let reader: BlobReader | undefined;
  try {
    for (let number = 0; number < index.count; number++) {
      const segment = index.segment(number);
      if (index.inits[segment.init]?.ofSource !== undefined) continue;
      reader ??= await BlobReader.open(blobs, { key: take.video.key, from: segment.at, signal });
      if (segment.init !== init || segment.isDiscontinuity) {
        init = segment.init;
        const bytes = inits[init];
        const about = index.inits[init];
        if (!bytes || !about) throw unavailable(`the index of ${take.video.key} names no init ${init}`);
        link.send({ op: 'begin', take: into.number, init: { ...about, bytes } });
      }
      await feedSegment(segment, { ...options, reader, epoch });
    }
  } finally {
    await reader?.close();
  }
}

/** Fragment by fragment: a segment may be larger than what may be under way. */
async function feedSegment(
  segment: IndexedSegment,
  options: JoiningOptions & { into: Take; reader: BlobReader; epoch: number },
): Promise<void> {
  const { reader, signal } = options;
  await reader.skipTo(segment.at);
  const end = segment.at + segment.size;
  let part: FedPart = {
    wallStart: segment.wallStart,
    duration: segment.duration,
    isIndependent: true,
    startsSegment: true,
  };
  while (reader.at < end) {
    signal.throwIfAborted();
    const bytes = await fragment(reader, end);
    await feedPart(bytes, { ...options, part });
    part = { ...part, duration: 0, isIndependent: false, startsSegment: false };
  }
}

/** Boxes up to the end of an `mdat` (ISO/IEC 14496-12, 8.1.1). */
async function fragment(reader: BlobReader, end: number): Promise<Uint8Array> {
  const boxes: Uint8Array[] = [];
  for (;;) {
    const head = await reader.take(8);
    const size = new DataView(head.buffer).getUint32(0);
    if (size < 8 || reader.at - 8 + size > end) throw unavailable(`a segment is damaged at ${reader.at - 8}`);
    boxes.push(head, await reader.take(size - 8));
    if (Buffer.from(head.buffer, 4, 4).toString('latin1') === 'mdat') return Buffer.concat(boxes);
  }
}

async function feedPart(
  bytes: Uint8Array,
  options: JoiningOptions & { into: Take; part: FedPart; epoch: number },
): Promise<void> {
  const { link, into, part, clock, limits, epoch } = options;
  for (;;) {
    if (into.trouble !== undefined) {
      const isFull = [troubles.full, troubles.low, troubles.lowFirst].includes(into.trouble);
      throw recordingFault({ message: into.trouble, ...(isFull && { code: 'ENOSPC' }) });
    }
    if (link.epoch !== epoch || !link.isUp) throw unavailable('its thread ended');
    if (link.part(into.number, bytes, part)) return;
    options.signal.throwIfAborted();
    // No room: until some of it is written.
    await new Promise<void>((resolve) => clock.at(clock.now() + limits.batch, resolve));
  }
}

async function wholeOf(
  { key, size }: { key: string; size: number },
  { blobs, signal }: JoiningOptions,
): Promise<Uint8Array> {
  const reader = await BlobReader.open(blobs, { key, from: 0, signal });
  return reader.take(size).finally(() => reader.close());
}
