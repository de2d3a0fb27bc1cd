import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../runtime/media/publish/memory-budget.ts';
import { LadderBroken, LadderFull } from '../../../runtime/media/renditions/ladder.ts';
import { parsePlaylist } from '../../hls/checker.ts';
import { play, sendHeaders } from '../../hls/feed.ts';
import { ScriptedTake } from '../../hls/scripted-take.ts';
import { broadcast, profileOf, settled, TWO } from './kit.ts';

test('where memory is short the renditions go, and the source does not notice', async () => {
  // With plenty: what source and renditions take.
  const plenty = new MemoryBudget({ limit: 1 << 30 });
  const free = broadcast({ memory: plenty.open() });
  const first = free.attach();
  sendHeaders(first.sink);
  await play(free.feed, first.sink, { seconds: 30, after: () => settled(1) });
  const all = plenty.held;
  free.feed.output.end();
  expect(plenty.held).toBe(0);
  const alone = broadcast({ memory: plenty.open(), profiles: [] });
  const second = alone.attach();
  sendHeaders(second.sink);
  let source = 0;
  await play(alone.feed, second.sink, {
    seconds: 30,
    after: () => {
      source = Math.max(source, plenty.held);
    },
  });
  alone.feed.output.end();
  expect(all).toBeGreaterThan(source * 1.3);

  for (const limit of [source * 1.02, (source + all) / 2, all]) {
    const budget = new MemoryBudget({ limit: Math.round(limit) });
    const { feed, maker, attach } = broadcast({ memory: budget.open() });
    const { sink, fatal } = attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 40, after: () => settled(1) });
    expect(fatal).toEqual([]);
    expect(sink.figures().issues).toEqual([]);
    expect(maker.errors.length).toBeGreaterThan(0);
    expect(maker.errors.every((error) => error instanceof LadderFull)).toBe(true);
    expect(parsePlaylist(await feed.text('source.m3u8')).segments.length).toBeGreaterThan(5);
    feed.output.end();
    await settled();
    expect(budget.held).toBe(0);
  }
});

test('a broadcast whose neighbours hold all there is gives up its renditions first', async () => {
  const budget = new MemoryBudget({ limit: 8 << 20 });
  const { feed, maker, attach } = broadcast({ memory: budget.open() });
  const { sink, fatal } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 20, after: () => settled(1) });
  expect((await feed.output.serve('r1.m3u8')).status).toBe(200);
  for (const neighbour of [1, 2, 3].map(() => budget.open().hold()))
    for (let size = 4096; neighbour.resize(size); ) size += 4096;
  expect(budget.held).toBeGreaterThan((8 << 20) - 8192);
  await play(feed, sink, { seconds: 8, from: 20_000, gop: 120, after: () => settled(1) });
  expect(maker.errors.some((error) => error instanceof LadderFull)).toBe(true);
  expect(fatal).toEqual([]);
});

test('no more renditions are made than may be', async () => {
  const profiles = Array.from({ length: 20 }, (_, index) => profileOf(`p${index}`));
  const { feed, maker, attach } = broadcast({ profiles });
  const { sink } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 5, after: () => settled(1) });
  await settled();
  expect(maker.ladder.profiles).toEqual(profiles.slice(0, 16));
  expect((await feed.output.serve('r16.m3u8')).status).toBe(200);
  expect((await feed.output.serve('r17.m3u8')).status).toBe(404);
});

test('a rendition that gives nothing: the others wait for it, and the window ends that', async () => {
  const { feed, maker, attach } = broadcast();
  const { sink } = attach();
  sendHeaders(sink);
  // The second rendition gives nothing more: the first waits for it.
  let count = 0;
  maker.garble = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const kept: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = view.getUint32(at);
      const isMoof = view.getUint32(at + 4) === 0x6d6f6f66;
      const whole = isMoof ? size + view.getUint32(at + size) : size;
      // tfhd lies behind moof, mfhd and the head of traf.
      if (!isMoof || view.getUint32(at + 8 + 16 + 8 + 12) === 1) kept.push(bytes.subarray(at, at + whole));
      at += whole;
    }
    count += kept.length;
    return Buffer.concat(kept);
  };
  await play(feed, sink, { seconds: 30, after: () => settled(1) });
  expect(count).toBeGreaterThan(100);
  expect(maker.errors.length).toBeGreaterThan(0);
  expect(maker.errors.map(String).every((text) => /live window/.test(text))).toBe(true);
  expect((await feed.output.serve('r1.m3u8')).status).toBe(404);
  expect((await feed.output.serve('source.m3u8')).status).toBe(200);
});

test('whatever a process writes, the source goes on, and renditions come back', async () => {
  let seed = 11;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const { feed, maker, source, attach, look } = broadcast({ isUneven: true });
  const { sink, fatal } = attach();
  sendHeaders(sink);
  let isGarbled = true;
  maker.garble = (bytes) => {
    if (!isGarbled || bytes.length === 0 || random(3) > 0) return bytes;
    const copy = bytes.slice();
    for (let i = random(12); i >= 0; i -= 1) copy[random(copy.length)] = random(256);
    return copy;
  };
  await play(feed, sink, { seconds: 60, after: () => settled(1) });
  isGarbled = false;
  // Until nothing is listed any more that was changed.
  await play(feed, sink, { seconds: 20, from: 60_000, after: () => settled(1) });
  await play(feed, sink, { seconds: 8, from: 80_000, after: look });
  expect(fatal).toEqual([]);
  expect(maker.errors.length).toBeGreaterThan(5);
  for (const error of maker.errors) expect(error).toBeInstanceOf(LadderBroken);
  expect((await feed.output.serve('r1.m3u8')).status).toBe(200);
  expect(source.segments.length).toBeGreaterThan(4);
});

test('each rendition is recorded in a take of its own, to the end of each publish', async () => {
  const takes = new Map<string | undefined, ScriptedTake>();
  const opened: (string | undefined)[] = [];
  const recording = {
    open: (rendition?: string) => {
      opened.push(rendition);
      const take = takes.get(rendition) ?? new ScriptedTake();
      takes.set(rendition, take);
      return take.feed();
    },
    onTrouble: (error: unknown) => {
      throw error;
    },
  };
  const { feed, maker, renditions, attach, look } = broadcast({ recording, config: { window: 60 } });
  for (let turn = 0; turn < 3; turn += 1) {
    const { sink, grant } = attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 5, after: look });
    if (turn === 1) maker.kill();
    feed.output.detach(grant.token);
    await look();
    expect(takes.get('240p')?.calls.at(-1)).toBe('end');
    feed.clock.advance(2000);
  }
  expect(opened).toEqual(Array(3).fill([undefined, '360p', '240p']).flat());
  expect(maker.errors).toEqual([]);
  const source = takes.get(undefined) as ScriptedTake;
  for (const [index, name] of ['360p', '240p'].entries()) {
    const take = takes.get(name) as ScriptedTake;
    const others = take.calls.filter((call) => !call.startsWith('part'));
    expect(others).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end']);
    expect(take.count).toBe(source.count);
    for (const [number, listed] of renditions[index].segments.entries()) {
      const { at, size, duration, wallStart } = take.segment(number);
      const bytes = await take.bytes(at, at + size);
      expect(Buffer.compare(bytes, renditions[index].fetched.get(listed.uri) as Uint8Array)).toBe(0);
      expect(duration).toBeCloseTo(source.segment(number).duration, 5);
      expect(Math.abs(wallStart - source.segment(number).wallStart)).toBeLessThanOrEqual(1);
    }
  }
  feed.output.end();
  expect(takes.get('360p')?.calls.at(-1)).toBe('end');
});

test('a publish of which no rendition was made feeds no take of one', async () => {
  const opened: (string | undefined)[] = [];
  const recording = {
    open: (rendition?: string) => {
      opened.push(rendition);
      return new ScriptedTake().feed();
    },
    onTrouble: () => {},
  };
  const { feed, maker, attach } = broadcast({ recording, profiles: TWO });
  maker.isHeld = true;
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3, after: () => settled(1) });
  feed.output.detach(grant.token);
  feed.output.end();
  await settled();
  expect(opened).toEqual([undefined]);
});
