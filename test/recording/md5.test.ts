import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Md5, Md5State, md5, md5OfEight } from '../../runtime/media/recording/md5/md5.ts';
import { randomNumbers } from './random-numbers.ts';

const piece = 1024;
const machines = { one: md5({ piece }), eight: md5OfEight({ piece }) as Md5 };

/** A message, and how far it was taken in. */
class Message {
  readonly state = new Md5State();
  readonly bytes: Uint8Array;

  constructor(size: number, random: (below: number) => number) {
    this.bytes = Uint8Array.from({ length: size }, () => random(256));
  }

  get due(): number {
    const left = this.bytes.length - this.state.bytes;
    return left - (left % 64);
  }

  get digest(): string {
    return machines.one.digest(this.state, this.bytes.subarray(this.state.bytes));
  }

  get expected(): string {
    return createHash('md5').update(this.bytes).digest('hex');
  }
}

function takeIn(messages: readonly Message[], { machine, bytes }: { machine: Md5; bytes: number }): void {
  for (const [number, { bytes: all, state }] of messages.entries())
    machine.room(number).set(all.subarray(state.bytes, state.bytes + bytes));
  machine.take(
    messages.map(({ state }) => state),
    bytes,
  );
}

test('of no byte up to three blocks it is what the library says', () => {
  const random = randomNumbers(1);
  for (let size = 0; size <= 192; size += 1) {
    const message = new Message(size, random);
    takeIn([message], { machine: machines.one, bytes: message.due });
    expect(message.digest, `${size} bytes`).toBe(message.expected);
  }
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])('of %i side by side each is its own', (count) => {
  const random = randomNumbers(count);
  const messages = Array.from({ length: count }, () => new Message(piece + 63, random));
  takeIn(messages, { machine: machines.eight, bytes: piece });
  expect(messages.map(({ digest }) => digest)).toEqual(messages.map(({ expected }) => expected));
});

test.each([1, 2, 3, 4, 5])('alone and side by side take turns, by pieces of any length (%i)', (seed) => {
  const random = randomNumbers(seed);
  const messages = Array.from({ length: 20 }, () => new Message(random(20_000), random));
  for (;;) {
    const due = messages.filter((message) => message.due > 0).sort(() => random(2) - 0.5);
    if (due.length === 0) break;
    const machine = random(3) === 0 ? machines.one : machines.eight;
    const chosen = due.slice(0, 1 + random(machine.width));
    const most = Math.min(piece, ...chosen.map((message) => message.due));
    takeIn(chosen, { machine, bytes: 64 * (1 + random(Math.floor(most / 64))) });
  }
  expect(messages.map(({ digest }) => digest)).toEqual(messages.map(({ expected }) => expected));
});

test('a message of more than 2^32 bits has its whole length in the end', () => {
  const state = new Md5State();
  const machine = md5({ piece: 1_048_576 });
  for (let n = 0; n < 513; n += 1) machine.take([state], 1_048_576);
  // head -c $((513 * 1048576 + 1)) /dev/zero | md5sum
  expect(machine.digest(state, new Uint8Array(1))).toBe('68cc756b1976a190ee199e2d0453569f');
});
