import { expect, test } from 'vitest';
import { LentStream } from '../../runtime/base/lent-stream.ts';
import { SlabLine, Slabs, slabSize } from '../../runtime/media/live/slabs.ts';

/** Bytes of which each place tells where it is and whose. */
function media(count: number, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) bytes[i] = (i * 7 + (i >> 8) * 13 + seed * 31) & 255;
  return bytes;
}

test('what is added is read as it was, by any range across slabs', () => {
  const line = new SlabLine(new Slabs());
  const whole = media(5 * slabSize + 123, 1);
  for (let at = 0; at < whole.length; at += 40_001) line.add(whole.subarray(at, at + 40_001));
  expect(line.end).toBe(whole.length);
  const edges = [0, 1, slabSize - 1, slabSize, slabSize + 1, 3 * slabSize, whole.length - 1, whole.length];
  for (const from of edges)
    for (const to of edges.filter((edge) => edge >= from))
      expect(Buffer.compare(line.copy(from, to), whole.subarray(from, to))).toBe(0);
});

test('slabs are used again, the last one first, and what is not needed for a while is freed', () => {
  const slabs = new Slabs();
  const [a, b] = [slabs.take(), slabs.take()];
  slabs.release(a);
  slabs.release(b);
  expect(slabs.take()).toBe(b);
  slabs.release(b);
  expect(slabs.idle).toBe(2 * slabSize);
  // One of them was needed since the last time, though it came back.
  slabs.trim();
  expect(slabs.take()).toBe(b);
  slabs.release(b);
  slabs.trim();
  expect([slabs.idle, a.bytes.length, b.bytes.length]).toEqual([slabSize, 0, slabSize]);
  slabs.trim();
  expect([slabs.idle, b.bytes.length]).toEqual([0, 0]);
  expect(slabs.take().bytes).toHaveLength(slabSize);
});

test('a line that is let go of gives everything back, and goes on with other places', () => {
  const slabs = new Slabs();
  const line = new SlabLine(slabs);
  line.add(media(3 * slabSize + 10, 1));
  line.drop(slabSize - 1);
  expect(slabs.idle).toBe(0);
  line.drop(2 * slabSize + 5);
  expect(slabs.idle).toBe(2 * slabSize);
  line.clear();
  expect(slabs.idle).toBe(4 * slabSize);
  line.clear();
  expect(slabs.idle).toBe(4 * slabSize);
  const start = line.end;
  const next = media(slabSize + 1, 2);
  line.add(next);
  expect(slabs.idle).toBe(2 * slabSize);
  expect(Buffer.compare(line.copy(start, line.end), next)).toBe(0);
});

test('no reader sees bytes of others, however late, in whatever way it reads', async () => {
  const slabs = new Slabs();
  const [own, other] = [new SlabLine(slabs), new SlabLine(slabs)];
  const bytes = media(4 * slabSize, 1);
  own.add(bytes);
  const range = [1000, 3 * slabSize + 500] as const;
  const wanted = bytes.subarray(...range);
  const streamed = own.stream(...range);
  const lent = own.stream(...range).lender;
  const cancelled = own.stream(...range);
  const begun = own.stream(...range).getReader();
  const pieces = [(await begun.read()).value as Uint8Array];
  const borrowed = [(lent.next() as Uint8Array).slice()];
  // The publish is over, and another one takes all there is.
  own.clear();
  slabs.trim();
  slabs.trim();
  other.add(media(20 * slabSize, 9));
  for (let piece = lent.next(); piece; piece = lent.next()) borrowed.push(piece.slice());
  for (let read = await begun.read(); read.value; read = await begun.read()) pieces.push(read.value);
  const answer = await new Response(streamed).bytes();
  // The chunks are copies: still right when all slabs are someone else's.
  await cancelled.cancel();
  lent.end();
  lent.end();
  expect(lent.next()).toBeUndefined();
  expect(slabs.idle).toBe(4 * slabSize);
  other.add(media(4 * slabSize, 8));
  expect(slabs.idle).toBe(0);
  for (const read of [Buffer.concat(borrowed), Buffer.concat(pieces), answer])
    expect(Buffer.compare(read, wanted)).toBe(0);
});

test('a stream that nobody reads or cancels keeps its slabs from everybody else', () => {
  const slabs = new Slabs();
  const line = new SlabLine(slabs);
  line.add(media(2 * slabSize, 1));
  const forgotten = line.stream(0, 10);
  line.clear();
  expect(slabs.idle).toBe(slabSize);
  slabs.trim();
  slabs.trim();
  expect(forgotten.lender.next()).toEqual(media(10, 1));
});

test('a lent stream takes nothing from its lender before it is read, and ends it once it is', async () => {
  const told: string[] = [];
  const lender = {
    next: () => {
      told.push('next');
      return told.length > 2 ? undefined : Uint8Array.of(told.length);
    },
    end: () => void told.push('end'),
  };
  const answer = new Response(new LentStream(lender));
  await Promise.resolve();
  expect(told).toEqual([]);
  expect(answer.body).toBeInstanceOf(LentStream);
  expect(await answer.bytes()).toEqual(Uint8Array.of(1, 2));
  expect(told).toEqual(['next', 'next', 'next', 'end']);
});
