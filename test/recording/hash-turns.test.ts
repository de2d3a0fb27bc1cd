import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Hashable, HashTurns } from '../../runtime/media/recording/hash-turns.ts';
import { TakeHash } from '../../runtime/media/recording/take-hash.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { MemoryIo } from './memory-io.ts';

const limits = { hashPiece: 1024 };

class Growing implements Hashable {
  readonly io = new MemoryIo();
  readonly digest = new TakeHash();
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
    return !this.isBroken && (!this.isOpen || this.unhashed > 0);
  }

  lookThrough(): void {
    this.toLookThrough -= 1;
    this.isOpen = this.toLookThrough <= 0;
  }

  get unhashed(): number {
    return this.isOpen ? this.io.size - this.digest.bytes : 0;
  }

  hash(into: Uint8Array): void {
    this.digest.step(this.io, { to: this.io.size, into });
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
    takes.map(({ digest, io }) => {
      while (digest.bytes < io.size) digest.step(io, { to: io.size, into: new Uint8Array(700) });
      return digest.digest();
    });
  const expected = () =>
    takes.map(({ io }) => ({
      md5: createHash('md5').update(io.bytes).digest('hex'),
      sha256: createHash('sha256').update(io.bytes).digest('hex'),
    }));
  return { takes, opened, grow, digests, expected };
}

test('whole pieces are hashed while a take grows, the rest when it is sealed', async () => {
  const { takes, grow, digests, expected } = setUp(3);
  await grow((number) => number * 1500);
  expect(takes.map(({ digest }) => digest.bytes)).toEqual([0, 1024, 2048]);
  expect(digests()).toEqual(expected());
});

test('many that grow as they like are hashed in turn, and none for another', async () => {
  const { takes, grow, digests, expected } = setUp(29);
  for (let round = 1; round <= 20; round += 1) await grow((number) => (number * 997 * round) % 3001);
  for (const { unhashed } of takes) expect(unhashed).toBeLessThan(limits.hashPiece);
  expect(takes.filter(({ digest }) => digest.bytes > 0).length).toBeGreaterThan(25);
  expect(digests()).toEqual(expected());
});

test('one that cannot be read does not hold up the others, and goes on when it can', async () => {
  const { takes, grow, digests, expected } = setUp(9);
  const [broken] = takes;
  if (!broken) throw new Error('there are nine');
  broken.isBroken = true;
  await grow(() => 5000);
  expect(takes.map(({ digest }) => digest.bytes)).toEqual([0, ...Array(8).fill(4096)]);
  broken.isBroken = false;
  await grow(() => 5000);
  expect(digests()).toEqual(expected());
});

test('a hash that begins again is that of all bytes', async () => {
  const { takes, grow, digests, expected } = setUp(1);
  await grow(() => 5000);
  takes[0]?.digest.restart();
  await grow(() => 5000);
  expect(digests()).toEqual(expected());
});

test('a file that was not looked at yet is opened, and reported as open', async () => {
  const { takes, opened, grow } = setUp(2);
  for (const take of takes) take.isOpen = false;
  await grow(() => 0);
  expect(opened).toEqual(takes);
});
