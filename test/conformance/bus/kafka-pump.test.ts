import { describe, expect, test } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { jsonLog } from '../../../core/base/log.ts';
import { type Outcome, type Outgoing, Pump } from '../../../runtime/drivers/bus/kafka/pump.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { numbers } from './check.ts';

type Batch = readonly Outgoing[];
/** What befalls one request. */
type Fate = 'good' | 'lost' | 'unanswered';

/**
 * An idempotent producer, and a broker: of each partition a batch that follows the last one is taken, a repeat of the last one is
 * known, and all else is a mistake.
 */
function scripted(fate: () => Fate) {
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const log = jsonLog({ level: 'warn', now: clock.now, write: (line) => lines.push(line) });
  const partitions = new Map<string, string[]>();
  const written = new Map<string, { batch: string; isKnown: boolean }>();
  let underWay = 0;
  const requests: (readonly Batch[])[] = [];

  const write = (records: Batch, isAnswered: boolean): Outcome => {
    const name = `t/${records[0]?.partition}`;
    const kept = partitions.get(name) ?? [];
    partitions.set(name, kept);
    const batch = records.map(({ value }) => value).join();
    const last = written.get(name);
    const isRepeat = last !== undefined && !last.isKnown;
    if (isRepeat && last.batch !== batch) throw new Error(`${batch} is taken for a repeat of ${last.batch}`);
    if (!isRepeat) kept.push(...records.map(({ value }) => value));
    written.set(name, { batch, isKnown: isAnswered });
    return { kind: isAnswered ? 'written' : 'unknown' };
  };
  const transport = async (batches: readonly Batch[]): Promise<readonly Outcome[]> => {
    underWay += 1;
    requests.push(batches);
    if (underWay > 1) throw new Error('two requests at one time');
    await new Promise<void>((resolve) => void clock.at(clock.now() + 5, resolve));
    underWay -= 1;
    return batches.map((batch): Outcome => {
      switch (fate()) {
        case 'good':
          return write(batch, true);
        case 'lost':
          return { kind: 'unknown' };
        default:
          return write(batch, false);
      }
    });
  };
  return { clock, log, lines, requests, partitions, transport };
}

const record = (partition: number, value: string, size = 0): Outgoing => ({
  topic: 't',
  partition,
  key: 'k',
  value: value.padEnd(size, ' '),
});

describe('the pump', () => {
  test('of records that are refused together, each is judged alone, and those that can be are written in order', async () => {
    const broker = scripted(() => 'good');
    const { clock, log } = broker;
    const refused = new Fault('bus.too_large', { status: 413, message: 'too large' });
    const isTooMuch = (records: Batch) => records.reduce((sum, { value }) => sum + value.length, 0) > 100;
    const transport = async (batches: readonly Batch[]) => {
      const fine = batches.filter((batch) => !isTooMuch(batch));
      const outcomes = await broker.transport(fine);
      return batches.map(
        (batch): Outcome =>
          isTooMuch(batch) ? { kind: 'refused', fault: refused } : (outcomes[fine.indexOf(batch)] as Outcome),
      );
    };
    const sender = new Pump({ transport, clock, log });
    const sizes = [40, 40, 40, 200, 40, 40];
    const sent = sizes.map((size, n) =>
      sender.send(record(1, String(n), size)).then(
        () => 'written',
        (error) => error.code,
      ),
    );
    await clock.advance(2000);
    const fates = ['written', 'written', 'written', 'bus.too_large', 'written', 'written'];
    expect(await Promise.all(sent)).toEqual(fates);
    expect(broker.partitions.get('t/1')?.map((value) => value.trim())).toEqual(['0', '1', '2', '4', '5']);
    // Afterwards they go together again.
    const later = [7, 8].map((n) => sender.send(record(1, String(n))));
    await clock.advance(100);
    await Promise.all(later);
    expect(broker.requests.at(-1)?.[0]).toHaveLength(2);
    await sender.close();
  });

  test.each(numbers(40, 1))(
    'seed %i: what is acknowledged is written once, in order, whatever requests suffer',
    async (seed) => {
      let state = seed * 2_654_435_761;
      const chance = () => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return state / 0x7fff_ffff;
      };
      const trouble = chance() * 0.6;
      const { clock, log, lines, partitions, transport } = scripted(() =>
        chance() > trouble ? 'good' : chance() > 0.5 ? 'lost' : 'unanswered',
      );
      const sender = new Pump({ transport, clock, log });
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
      expect(lines).toEqual([]);
      for (const partition of numbers(3)) {
        const written = partitions.get(`t/${partition}`) ?? [];
        expect(written).toEqual([...written].sort((a, b) => Number(a) - Number(b)));
        expect(new Set(written).size).toBe(written.length);
        expect(acknowledged[partition]?.filter((value) => !written.includes(value))).toEqual([]);
      }
    },
  );

  test('who waits too long hears whether it was sent; what was sent is written later all the same', async () => {
    let fate: Fate = 'lost';
    const { clock, log, partitions, transport } = scripted(() => fate);
    const sender = new Pump({ transport, clock, log });
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

  test('beyond its bounds nothing is taken, by count and by bytes', async () => {
    const { clock, log, transport } = scripted(() => 'lost');
    const sender = new Pump({ transport, clock, log, bounds: { records: 10, bytes: 5000 } });
    const few = numbers(10).map((n) => sender.send(record(0, `${n}`)).catch((error) => error.code));
    await expect(sender.send(record(0, 'x'))).rejects.toMatchObject({
      code: 'bus.full',
      status: 503,
      retryAfter: 1,
    });
    await clock.advance(9000);
    expect(new Set(await Promise.all(few))).toEqual(new Set(['bus.unknown']));
    const big = sender.send(record(1, 'big', 4500)).catch((error) => error.code);
    await expect(sender.send(record(1, 'more', 600))).rejects.toMatchObject({ code: 'bus.full' });
    const closed = sender.close();
    await clock.advance(5000);
    await closed;
    // Never sent: what came before it is not answered.
    expect(await big).toBe('bus.closed');
    await expect(sender.send(record(0, 'x'))).rejects.toMatchObject({ code: 'bus.closed' });
    expect(clock.pending()).toBe(0);
  });

  test('a request has 500 records and a mebibyte at most, and a larger record goes alone', async () => {
    const { clock, log, requests, transport } = scripted(() => 'good');
    const sender = new Pump({ transport, clock, log });
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

  test('while a part of what was sent is not answered, nothing later is sent', async () => {
    const { clock, log, partitions, requests, transport } = scripted(() => 'good');
    let isStuck = true;
    const sender = new Pump({
      transport: async (batches) => {
        const fine = batches.filter(([first]) => first?.partition !== 0 || !isStuck);
        const outcomes = await transport(fine);
        return batches.map((batch) => outcomes[fine.indexOf(batch)] ?? { kind: 'unknown' });
      },
      clock,
      log,
    });
    const sent = [0, 1].map((partition) => sender.send(record(partition, 'first')));
    await clock.advance(10);
    await sent[1];
    const later = sender.send(record(1, 'second'));
    await clock.advance(2000);
    expect(partitions.get('t/1')).toEqual(['first']);
    isStuck = false;
    await clock.advance(600);
    await Promise.all([...sent, later]);
    expect(partitions.get('t/0')).toEqual(['first']);
    expect(partitions.get('t/1')).toEqual(['first', 'second']);
    // What was written was not sent again.
    expect(
      requests.flat(2).filter(({ partition, value }) => partition === 1 && value === 'first'),
    ).toHaveLength(1);
  });

  test('what was sent when Kafka has lost count is unknown, and is not sent again', async () => {
    const { clock, log, partitions, transport } = scripted(() => 'good');
    let isLost = true;
    const sender = new Pump({
      transport: async (batches) => {
        if (!isLost) return transport(batches);
        isLost = false;
        return batches.map((_, index): Outcome => ({ kind: index === 0 ? 'lost' : 'unknown' }));
      },
      clock,
      log,
    });
    const sent = [0, 1].map((partition) => sender.send(record(partition, 'a')).catch(({ code }) => code));
    await clock.advance(10);
    expect(await Promise.all(sent)).toEqual(['bus.unknown', 'bus.unknown']);
    await Promise.all([sender.send(record(0, 'b')), clock.advance(10)]);
    expect([...partitions]).toEqual([['t/0', ['b']]]);
  });

  test('a word to a node whose topic is missing for a second is dropped; a command is not', async () => {
    const { clock, log } = scripted(() => 'good');
    const transport = async (batches: readonly Batch[]) => batches.map((): Outcome => ({ kind: 'missing' }));
    const sender = new Pump({ transport, clock, log });
    let isOver = false;
    const word = sender.send({ ...record(0, 'word'), isOptional: true }).then(() => {
      isOver = true;
    });
    await clock.advance(900);
    expect(isOver).toBe(false);
    await clock.advance(1000);
    await word;
    const command = sender.send(record(1, 'command')).catch((error) => error.code);
    await clock.advance(9000);
    expect(await command).toBe('bus.unknown');
  });
});
