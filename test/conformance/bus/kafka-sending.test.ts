import type { PartitionMetadata, ProducerBatch, ProducerConfig } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { KafkaClient } from '../../../runtime/drivers/bus/kafka/client.ts';
import { KafkaSender, type Outgoing } from '../../../runtime/drivers/bus/kafka/sender.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { numbers } from './check.ts';

/** What befalls one request; `refused`: a broker answers so. */
type Fate = 'good' | 'lost' | 'unanswered' | { readonly refused: string };
type Batch = readonly { readonly topic: string; readonly partition: number; readonly value: string }[];

/**
 * An idempotent producer, and a broker: of each partition a batch that follows the last one is taken, a repeat of the last one is
 * known, and all else is a mistake. Another producer is another count.
 */
function scripted(fate: (batches: readonly Batch[]) => Fate, bounds?: { records?: number; bytes?: number }) {
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const log = jsonLog({ level: 'warn', now: clock.now, write: (line) => lines.push(line) });
  const partitions = new Map<string, string[]>();
  const requests: (readonly Batch[])[] = [];
  let underWay = 0;
  let producers = 0;

  const producer = ({ createPartitioner }: ProducerConfig) => {
    producers += 1;
    const written = new Map<string, { batch: string; isKnown: boolean }>();
    const partition = createPartitioner!();
    const metadata = numbers(4).map((partitionId) => ({ partitionId, leader: 1 })) as PartitionMetadata[];
    const write = (records: Batch, isAnswered: boolean) => {
      const name = `${records[0]?.topic}/${records[0]?.partition}`;
      const kept = partitions.get(name) ?? [];
      partitions.set(name, kept);
      const batch = records.map(({ value }) => value).join();
      const last = written.get(name);
      const isRepeat = last !== undefined && !last.isKnown;
      if (isRepeat && last.batch !== batch)
        throw new Error(`${batch} is taken for a repeat of ${last.batch}`);
      if (!isRepeat) kept.push(...records.map(({ value }) => value));
      written.set(name, { batch, isKnown: isAnswered });
    };
    return {
      ...{ events: { REQUEST_TIMEOUT: 'x' }, on: () => {}, connect: async () => {} },
      async sendBatch({ topicMessages = [] }: ProducerBatch) {
        const records = topicMessages.flatMap(({ topic, messages }) =>
          messages.map((message) => ({
            ...{ topic, value: String(message.value) },
            partition: partition({ topic, partitionMetadata: metadata, message }),
          })),
        );
        const batches = [...Map.groupBy(records, (record) => `${record.topic}/${record.partition}`).values()];
        underWay += 1;
        requests.push(batches);
        if (underWay > 1) throw new Error('two requests at one time');
        await new Promise<void>((resolve) => void clock.at(clock.now() + 5, resolve));
        underWay -= 1;
        const own = fate(batches);
        if (typeof own === 'object') throw Object.assign(new Error(own.refused), { type: own.refused });
        if (own !== 'lost') for (const batch of batches) write(batch, own === 'good');
        if (own !== 'good') throw new Error('it was not answered');
        return [];
      },
    };
  };
  const connect = async () => ({ kafka: { producer }, destroy() {}, cut() {} }) as unknown as KafkaClient;
  const sender = new KafkaSender({ brokers: [], clientId: 't' }, { clock, log, connect, bounds });
  return { ...{ clock, lines, requests, partitions, sender }, producers: () => producers };
}

const record = (partition: number, value: string, size = 0): Outgoing => ({
  ...{ topic: 't', partition, key: 'k' },
  value: value.padEnd(size, ' '),
});
const codeOf = (sent: Promise<void>): Promise<string> =>
  sent.then(
    () => 'written',
    ({ code }) => code,
  );

describe('what is sent', () => {
  test('and refused together is judged one by one, and what can be is written in order', async () => {
    const { clock, sender, partitions, requests } = scripted(([batch = []]) =>
      batch.reduce((sum, { value }) => sum + value.length, 0) > 100
        ? { refused: 'MESSAGE_TOO_LARGE' }
        : 'good',
    );
    const sizes = [40, 40, 40, 200, 40, 40];
    const sent = sizes.map((size, n) => codeOf(sender.send(record(1, String(n), size))));
    await clock.advance(2000);
    const fates = ['written', 'written', 'written', 'bus.too_large', 'written', 'written'];
    expect(await Promise.all(sent)).toEqual(fates);
    expect(partitions.get('t/1')?.map((value) => value.trim())).toEqual(['0', '1', '2', '4', '5']);
    // Afterwards they go together again.
    const later = [7, 8].map((n) => sender.send(record(1, String(n))));
    await clock.advance(100);
    await Promise.all(later);
    expect(requests.at(-1)?.[0]).toHaveLength(2);
    await sender.close();
  });

  test.each(numbers(40, 1))(
    'seed %i: and acknowledged is written once, in order, whatever requests suffer',
    async (seed) => {
      let state = seed * 2_654_435_761;
      const chance = () => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return state / 0x7fff_ffff;
      };
      const trouble = chance() * 0.6;
      const { clock, lines, partitions, sender, producers } = scripted(() =>
        chance() > trouble ? 'good' : chance() > 0.5 ? 'lost' : 'unanswered',
      );
      const acknowledged: string[][] = [[], [], []];
      const work = [];
      for (const n of numbers(300)) {
        const partition = Math.floor(chance() * 3);
        const value = `${n}`;
        work.push(
          sender.send(record(partition, value)).then(
            () => acknowledged[partition]?.push(value),
            () => {},
          ),
        );
        if (chance() > 0.7) await clock.advance(Math.floor(chance() * 10));
      }
      await clock.advance(60_000);
      await Promise.all(work);
      expect(lines.filter((line) => !line.includes('tried again'))).toEqual([]);
      expect(producers()).toBe(1);
      for (const partition of numbers(3)) {
        const written = partitions.get(`t/${partition}`) ?? [];
        expect(written).toEqual([...written].sort((a, b) => Number(a) - Number(b)));
        expect(new Set(written).size).toBe(written.length);
        expect(acknowledged[partition]?.filter((value) => !written.includes(value))).toEqual([]);
      }
    },
  );

  test('too long ago is unknown, or known not to have been; what was sent is written later all the same', async () => {
    let fate: Fate = 'lost';
    const { clock, partitions, sender } = scripted(() => fate);
    const first = sender.send(record(0, 'a')).catch((error) => error);
    await clock.advance(1000);
    const second = sender.send(record(0, 'b')).catch((error) => error);
    await clock.advance(7500);
    expect(await first).toMatchObject({ code: 'bus.unknown', status: 503, retryAfter: 1 });
    await clock.advance(1000);
    expect(await second).toMatchObject({ code: 'bus.unreachable', status: 503, retryAfter: 1 });
    fate = 'good';
    await clock.advance(1000);
    expect(partitions.get('t/0')).toEqual(['a']);
    await Promise.all([sender.send(record(0, 'c')), clock.advance(100)]);
    expect(partitions.get('t/0')).toEqual(['a', 'c']);
  });

  test('beyond the bounds is not taken, by count and by bytes', async () => {
    const { clock, sender } = scripted(() => 'lost', { records: 10, bytes: 5000 });
    const few = numbers(10).map((n) => codeOf(sender.send(record(0, `${n}`))));
    await expect(sender.send(record(0, 'x'))).rejects.toMatchObject({
      ...{ code: 'bus.full', status: 503, retryAfter: 1 },
    });
    await clock.advance(9000);
    expect(new Set(await Promise.all(few))).toEqual(new Set(['bus.unknown']));
    const big = codeOf(sender.send(record(1, 'big', 4500)));
    await expect(sender.send(record(1, 'more', 600))).rejects.toMatchObject({ code: 'bus.full' });
    const closed = sender.close();
    await clock.advance(5000);
    await closed;
    // Never sent: what came before it is not answered.
    expect(await big).toBe('bus.closed');
    await expect(sender.send(record(0, 'x'))).rejects.toMatchObject({ code: 'bus.closed' });
    expect(clock.pending()).toBe(0);
  });

  test('in one request has 500 records and a mebibyte at most, and a larger record goes alone', async () => {
    const { clock, requests, sender } = scripted(() => 'good');
    const work = [
      ...numbers(1200).map((n) => sender.send(record(n % 4, `${n}`))),
      ...numbers(5).map((n) => sender.send(record(0, `big ${n}`, 400_000))),
      sender.send(record(1, 'huge', 2_000_000)),
    ];
    await clock.advance(1000);
    await Promise.all(work);
    const size = (batches: readonly Batch[]) => {
      const records = batches.flat();
      return { count: records.length, bytes: records.reduce((sum, { value }) => sum + value.length, 0) };
    };
    expect(Math.max(...requests.map((batches) => size(batches).count))).toBeLessThanOrEqual(500);
    for (const { count, bytes } of requests.map(size)) if (count > 1) expect(bytes).toBeLessThan(1_048_576);
  });

  test('to a partition without a leader holds up no other', async () => {
    let isStuck = true;
    const { clock, partitions, requests, sender } = scripted((batches) =>
      isStuck && batches.some(([first]) => first?.partition === 0)
        ? { refused: 'LEADER_NOT_AVAILABLE' }
        : 'good',
    );
    const sent = [0, 1].map((partition) => sender.send(record(partition, 'first')));
    await clock.advance(50);
    await sent[1];
    const behind = sender.send(record(0, 'second'));
    for (const value of ['second', 'third']) {
      const later = sender.send(record(1, value));
      await clock.advance(1200);
      await later;
    }
    expect([...partitions]).toEqual([['t/1', ['first', 'second', 'third']]]);
    isStuck = false;
    await clock.advance(600);
    await Promise.all([...sent, behind]);
    expect(partitions.get('t/0')).toEqual(['first', 'second']);
    // What was written was not sent again.
    expect(
      requests.filter((batches) => batches.length === 1 && batches[0]?.[0]?.partition === 1),
    ).toHaveLength(3);
  });

  test('to a partition that stays without a leader is given up when nobody waits, and holds up no other then either', async () => {
    const { clock, partitions, sender, producers } = scripted((batches) =>
      batches.some(([first]) => first?.partition === 0) ? { refused: 'LEADER_NOT_AVAILABLE' } : 'good',
    );
    const codes: string[] = [];
    const values: string[] = [];
    for (let second = 0; second < 30; second++) {
      void codeOf(sender.send(record(0, `${second}`))).then((code) => codes.push(code));
      const other = codeOf(sender.send(record(1, `${second}`)));
      await clock.advance(1000);
      if ((await other) === 'written') values.push(`${second}`);
    }
    await clock.advance(9000);
    expect(codes).toHaveLength(30);
    for (const code of codes) expect(['bus.unknown', 'bus.unreachable']).toContain(code);
    expect(partitions.get('t/1')).toEqual(values);
    expect(values).toHaveLength(30);
    expect(producers()).toBeGreaterThan(1);
  });

  test('when Kafka has lost count is unknown, and is not sent again', async () => {
    let isLost = true;
    const { clock, partitions, sender, producers } = scripted(() => {
      if (!isLost) return 'good';
      isLost = false;
      return { refused: 'OUT_OF_ORDER_SEQUENCE_NUMBER' };
    });
    const sent = codeOf(sender.send(record(0, 'a')));
    await clock.advance(10);
    expect(await sent).toBe('bus.unknown');
    await Promise.all([sender.send(record(0, 'b')), clock.advance(10)]);
    expect([...partitions]).toEqual([['t/0', ['b']]]);
    expect(producers()).toBe(2);
  });

  test('to a node whose topic is missing for a second is dropped; a command is given up when nobody waits', async () => {
    const { clock, sender, producers } = scripted(([batch]) =>
      batch?.[0]?.topic === 'gone' ? { refused: 'UNKNOWN_TOPIC_OR_PARTITION' } : 'good',
    );
    let isOver = false;
    const word = sender.send({ ...record(0, 'word'), topic: 'gone', isOptional: true }).then(() => {
      isOver = true;
    });
    await clock.advance(900);
    expect(isOver).toBe(false);
    await clock.advance(1000);
    await word;
    const command = codeOf(sender.send({ ...record(1, 'command'), topic: 'gone' }));
    await clock.advance(9000);
    expect(await command).toBe('bus.unknown');
    // Another producer does not know of it, and what comes later goes on.
    await Promise.all([sender.send(record(1, 'later')), clock.advance(1000)]);
    expect(producers()).toBe(2);
  });
});
