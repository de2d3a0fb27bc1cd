import type { Log } from '../../../../core/base/log.ts';
import type { LogRange, LogRecord, PartitionLag, PartitionOwner } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { type Holding, holding } from '../holding.ts';
import { delivered } from '../limits.ts';
import { type Lead, lead } from './lead.ts';
import { reading } from './limits.ts';
import type { Seen } from './pulse.ts';

/** The partitions of one node, between the consumer and their owner: what was read and not yet handled, and where to go on. */
export interface Share {
  give(partitions: readonly number[]): void;
  take(): void;
  restart(partition: number): void;
  /** All that are consumed. */
  restartAll(): void;
  /** Records, and the offset behind the last one of the log. */
  got(partition: number, fetched: { readonly records: readonly LogRecord[]; readonly end: number }): void;
  seen(range: Seen): void;
  /** Offset behind what was handled, of the partitions that are consumed. */
  places(): ReadonlyMap<number, number>;
  lags(): readonly PartitionLag[];
}

interface Stream {
  readonly held: Holding;
  isReading: boolean;
  /** Offset of the next record to come. */
  from: number;
  buffer: LogRecord[];
  bytes: number;
  /** Its buffer was full, and is not yet half empty. */
  isFull: boolean;
  isDelivering: boolean;
  /** All that was on the log at `at` lies before `end`. */
  known: { readonly at: number; readonly end: number } | undefined;
  heard: { readonly at: number; readonly end: number };
  readonly lead: Lead;
}

export function share(options: {
  partitions: number;
  owner: PartitionOwner;
  range: (partition: number) => Promise<LogRange>;
  /** Records of the partition are to come from this offset on; none are. */
  read: (partition: number, from: number) => void;
  rest: (partition: number) => void;
  clock: Clock;
  log: Log;
}): Share {
  const { owner, clock, log } = options;
  const streams: Stream[] = [];

  const reset = (partition: number, isReading: boolean, from: number) => {
    const stream = streams[partition] as Stream;
    Object.assign(stream, { isReading, from, buffer: [], bytes: 0, isFull: false, known: undefined });
    stream.heard = { at: clock.now(), end: from };
  };
  const feed = {
    range: options.range,
    start(partition: number, offset: number) {
      reset(partition, true, offset);
      options.read(partition, offset);
    },
    stop(partition: number) {
      reset(partition, false, 0);
      options.rest(partition);
    },
  };
  for (let partition = 0; partition < options.partitions; partition++)
    streams.push({
      held: holding(partition, { owner, feed, clock, log }),
      isReading: false,
      from: 0,
      buffer: [],
      bytes: 0,
      isFull: false,
      isDelivering: false,
      known: undefined,
      heard: { at: 0, end: 0 },
      lead: lead(clock),
    });

  const deliver = async (stream: Stream): Promise<void> => {
    if (stream.isDelivering) return;
    stream.isDelivering = true;
    try {
      while (stream.isReading && stream.buffer.length > 0) {
        const records = stream.buffer.splice(0, delivered);
        stream.bytes -= sizeOf(records);
        await stream.held.deliver(records);
        const hasRoom =
          stream.buffer.length <= reading.bufferedRecords / 2 && stream.bytes <= reading.bufferedBytes / 2;
        if (!stream.isFull || !hasRoom) continue;
        stream.isFull = false;
        options.read(stream.held.partition, stream.from);
      }
    } finally {
      stream.isDelivering = false;
    }
    if (stream.known) stream.held.reached(stream.known.at - most(), stream.known.end);
  };
  /** It came after the end of the log was seen, a moment ago: an old record tells nothing of clocks. */
  const isFresh = (known: Stream['known'], from: number) =>
    known !== undefined && known.end === from && clock.now() - known.at <= reading.leadPrecision;
  /** Records are dated by brokers: no later record may have a time before what was said to be reached. */
  const most = () => Math.max(...streams.map((stream) => stream.lead.ms()));

  return {
    give(partitions) {
      for (const partition of partitions) streams[partition]?.held.take();
    },
    take() {
      for (const { held } of streams) held.release();
    },
    restart: (partition) => streams[partition]?.held.restart(),
    restartAll() {
      for (const { held, isReading } of streams) if (isReading) held.restart();
    },
    got(partition, { records, end }) {
      const stream = streams[partition];
      const [first, last] = [records[0], records.at(-1)];
      if (!stream?.isReading || !first || !last) return;
      if (first.offset !== stream.from) {
        // kafkajs goes on with the oldest that there is where the log does not have what it asks for.
        log.error('the log of a partition does not go on', {
          partition,
          from: stream.from,
          at: first.offset,
        });
        return stream.held.restart();
      }
      stream.from = last.offset + 1;
      if (isFresh(stream.known, first.offset)) stream.lead.note(last.at);
      stream.buffer.push(...records);
      stream.bytes += sizeOf(records);
      stream.heard = { at: clock.now(), end };
      const isFull = stream.buffer.length >= reading.bufferedRecords || stream.bytes >= reading.bufferedBytes;
      if (isFull && !stream.isFull) options.rest(partition);
      stream.isFull ||= isFull;
      void deliver(stream);
    },
    seen({ partition, first, next, askedAt, isSettled }) {
      const stream = streams[partition];
      if (!stream?.isReading) return;
      stream.heard = { at: clock.now(), end: next };
      if (stream.from < first) return stream.held.restart();
      if (isSettled) stream.known = { at: askedAt, end: next };
      void deliver(stream);
    },
    places: () =>
      new Map(streams.flatMap(({ held }) => [[held.partition, held.next()] as const]).filter(isPlace)),
    lags: () =>
      streams.flatMap(({ held, heard }) => {
        const next = held.next();
        if (next === undefined) return [];
        return [{ partition: held.partition, records: Math.max(0, heard.end - next), heardAt: heard.at }];
      }),
  };
}

function isPlace(place: readonly [number, number | undefined]): place is readonly [number, number] {
  return place[1] !== undefined;
}

/** Characters stand for bytes: it is a bound on memory. */
function sizeOf(records: readonly LogRecord[]): number {
  return records.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
}
