import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { virtualClock } from '../../runtime/drivers/clock/virtual.ts';
import { type Hashable, HashTurns } from '../../runtime/media/recording/hash-turns.ts';
import type { Md5State } from '../../runtime/media/recording/md5/md5.ts';
import { TakeHash } from '../../runtime/media/recording/take-hash.ts';
import { MemoryIo } from './memory-io.ts';

const limits = { hashPiece: 1024, hashBehind: 10_000 };

class Growing implements Hashable {
  readonly io = new MemoryIo();
  readonly hash = new TakeHash();
  isOpen = true;
  isBroken = false;
  toLookThrough = 3;

  /** Of the take with this number. */
  grow(number: number, size: number): void {
    this.io.write(
      this.io.size,
      Uint8Array.from({ length: size }, (_, n) => (n * 7 + number * 13) & 0xff),
    );
  }

  get isHashable(): boolean {
    return !this.isBroken && (!this.isOpen || this.hash.due(this.io.size) > 0);
  }

  lookThrough(): void {
    this.toLookThrough -= 1;
    this.isOpen = this.toLookThrough <= 0;
  }

  get unhashed(): number {
    return this.isOpen ? this.hash.due(this.io.size) : 0;
  }

  readUnhashed(into: Uint8Array): Md5State | undefined {
    if (this.isBroken) return undefined;
    this.hash.read(this.io, into);
    return this.hash.md5;
  }

  get done(): number {
    return this.hash.md5.bytes;
  }
}

function setUp(count: number) {
  const clock = virtualClock({ start: 0 });
  const opened: Growing[] = [];
  const turns = new HashTurns<Growing>({ clock, limits, onOpened: (take) => opened.push(take) });
  const takes = Array.from({ length: count }, () => new Growing());
  /** All grow, and are hashed as far as they are now. */
  const grow = async (sizeOf: (number: number) => number) => {
    for (const [number, take] of takes.entries()) take.grow(number, sizeOf(number));
    for (const take of takes) turns.add(take);
    turns.soon();
    await clock.advance(60_000);
  };
  const digests = () =>
    takes.map(({ hash, io }) => {
      while (hash.due(io.size) > 0) hash.step(io, { to: io.size, md5: turns.alone });
      return hash.digest(io, { size: io.size, md5: turns.alone });
    });
  const expected = () =>
    takes.map(({ io }) => ({
      md5: createHash('md5').update(io.bytes).digest('hex'),
      sha256: createHash('sha256').update(io.bytes).digest('hex'),
    }));
  return { takes, opened, grow, digests, expected };
}

test('seven wait for the eighth, and then all of it is hashed', async () => {
  const few = setUp(7);
  await few.grow(() => 5000);
  expect(few.takes.map(({ done }) => done)).toEqual(Array(7).fill(0));
  expect(few.digests()).toEqual(few.expected());

  const many = setUp(8);
  await many.grow(() => 5000);
  expect(many.takes.map(({ done }) => done)).toEqual(Array(8).fill(4992));
  expect(many.digests()).toEqual(many.expected());
});

test('one that is far behind is hashed alone, until it is no more', async () => {
  const { takes, grow, digests, expected } = setUp(3);
  await grow((number) => (number === 1 ? 15_000 : 9000));
  const [, far] = takes.map(({ done }) => done);
  expect(far).toBeGreaterThan(5000);
  expect(far).toBeLessThan(7000);
  expect(takes[0]?.done).toBe(0);
  expect(digests()).toEqual(expected());
});

test('many that grow as they like are hashed side by side, and none for another', async () => {
  const { takes, grow, digests, expected } = setUp(29);
  for (let round = 1; round <= 20; round += 1) await grow((number) => (number * 997 * round) % 3001);
  // Of no take is more left than what it may be behind.
  for (const { io, done } of takes) expect(io.size - done).toBeLessThan(limits.hashBehind + 64);
  expect(takes.filter(({ done }) => done > 0).length).toBeGreaterThan(25);
  expect(digests()).toEqual(expected());
});

test('one that cannot be read does not hold up the others, and goes on when it can', async () => {
  const { takes, grow, digests, expected } = setUp(9);
  const [broken] = takes;
  if (!broken) throw new Error('there are nine');
  broken.isBroken = true;
  await grow(() => 5000);
  expect(takes.map(({ done }) => done)).toEqual([0, ...Array(8).fill(4992)]);
  broken.isBroken = false;
  await grow(() => 5000);
  expect(digests()).toEqual(expected());
});

test('a file that was not looked at yet is opened, and that is told', async () => {
  const { takes, opened, grow } = setUp(2);
  for (const take of takes) take.isOpen = false;
  await grow(() => 0);
  expect(opened).toEqual(takes);
});
