import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../runtime/media/publish/memory-budget.ts';
import { drainTimeout } from '../../../runtime/media/renditions/live/live-ladder.ts';
import { parsePlaylist } from '../../hls/checker.ts';
import { play, sendHeaders } from '../../hls/feed.ts';
import { ScriptedTake } from '../../hls/scripted-take.ts';
import { broadcast, settled } from './kit.ts';

/** Takes by the name of their profile. */
class Takes {
  readonly #takes = new Map<string, ScriptedTake>();
  readonly recording = {
    open: (rendition = 'source') => this.of(rendition).feed(),
    onTrouble: (error: unknown) => {
      throw error;
    },
  };

  of(name: string): ScriptedTake {
    const take = this.#takes.get(name) ?? new ScriptedTake();
    this.#takes.set(name, take);
    return take;
  }

  /** What is recorded of each rendition is what is recorded of the source, to its end. */
  expectWhole(): void {
    const rows = (name: string) => {
      const take = this.of(name);
      return Array.from({ length: take.count }, (_, number) => {
        const { duration, wallStart, isDiscontinuity } = take.segment(number);
        return [duration.toFixed(4), Math.round(wallStart / 4), isDiscontinuity];
      });
    };
    expect(rows('source').length).toBeGreaterThan(1);
    for (const name of ['360p', '240p']) {
      expect(rows(name)).toEqual(rows('source'));
      expect(this.of(name).calls.at(-1)).toBe('end');
    }
  }
}

/** On the air, recorded, and some seconds old. */
async function recorded(options: { takes?: Takes; isRecorded?: boolean; seconds?: number } = {}) {
  const { takes = new Takes(), isRecorded = true, seconds = 7.2 } = options;
  const budget = new MemoryBudget({ limit: 1 << 28 });
  const made = broadcast({ memory: budget.open(), ...(isRecorded && { recording: takes.recording }) });
  const publisher = made.attach();
  sendHeaders(publisher.sink);
  await play(made.feed, publisher.sink, { seconds, after: () => settled(1) });
  return { ...made, publisher, takes, budget };
}

/** Nobody makes anything, nothing is held, nothing is waited for. */
function expectOver({ feed, maker, budget }: Awaited<ReturnType<typeof recorded>>): void {
  expect([maker.ends, maker.errors, feed.output.bytes, budget.held, feed.clock.timers]).toEqual([
    ...[1, [], 0, 0, 0],
  ]);
}

test.each([
  ['cleanly', true],
  ['in the middle', false],
])('a broadcast that ends %s is recorded to its end in all renditions', async (_, isDetached) => {
  const air = await recorded();
  const { feed, publisher, takes } = air;
  if (isDetached) feed.output.detach(publisher.grant.token);
  const over = feed.output.end();
  expect(over).toBeInstanceOf(Promise);
  expect(air.maker.ends).toBe(0);
  await over;
  takes.expectWhole();
  expectOver(air);
});

test('whoever comes back after a clean end goes on with recordings that have no hole', async () => {
  const takes = new Takes();
  for (let turn = 0; turn < 3; turn += 1) {
    const { feed, publisher } = await recorded({ takes, seconds: 5 + turn / 3 });
    feed.output.detach(publisher.grant.token);
    await feed.output.end();
  }
  takes.expectWhole();
  expect(takes.of('240p').inits).toHaveLength(3);
});

test('it is made after the hold of a broadcast as well, and then there is nothing to wait for', async () => {
  const air = await recorded();
  air.feed.output.detach(air.publisher.grant.token);
  await settled();
  air.takes.expectWhole();
  expect(air.feed.output.end()).toBeUndefined();
  expectOver(air);
});

test('a short broadcast, of which nothing was made when it ended, has all of it', async () => {
  const air = await recorded({ seconds: 0.1 });
  air.maker.isHeld = true;
  await play(air.feed, air.publisher.sink, { from: 100, seconds: 5, after: () => settled(1) });
  expect(air.takes.of('240p').calls).toEqual([]);
  air.feed.output.detach(air.publisher.grant.token);
  const over = air.feed.output.end();
  air.maker.isHeld = false;
  air.maker.wake();
  await over;
  air.takes.expectWhole();
  expectOver(air);
});

test('a process that dies at the end is followed by one that makes the rest', async () => {
  const air = await recorded();
  air.maker.isHeld = true;
  await play(air.feed, air.publisher.sink, { from: 7200, seconds: 2.5, after: () => settled(1) });
  const over = air.feed.output.end();
  air.maker.isHeld = false;
  air.maker.kill();
  await over;
  expect(air.maker.runs).toHaveLength(2);
  air.takes.expectWhole();
  expectOver(air);
});

test('viewers have nothing of it: all is 404 at once', async () => {
  const { feed, maker, budget } = await recorded();
  const ask = (file: string, query = '') => feed.output.serve(file, new URLSearchParams(query));
  const { open, segments, hint } = parsePlaylist(await feed.text('r1.m3u8'));
  const waiting = [
    ask('r1.m3u8', `_HLS_msn=${open.sequence + 1}`),
    ask('source.m3u8', `_HLS_msn=${open.sequence + 1}`),
    ask(hint as string),
  ];
  maker.isHeld = true;
  const over = feed.output.end();
  for (const answer of waiting) expect((await answer).status).toBe(404);
  for (const file of ['index.m3u8', 'source.m3u8', 'r1.m3u8', 'r2.m3u8', segments[1].uri, segments[1].map])
    expect([file, (await ask(file)).status]).toEqual([file, 404]);
  expect([feed.output.waiting, feed.output.isWatched('r1.m3u8')]).toEqual([0, false]);
  expect(maker.ladder.isListed(0)).toBe(false);
  expect(budget.held).toBeGreaterThan(0);
  maker.isHeld = false;
  maker.wake();
  await over;
});

test('what hangs is waited for as long as the limit says', async () => {
  const air = await recorded();
  const { feed, maker, takes, budget } = air;
  maker.isHeld = true;
  const over = feed.output.end();
  feed.clock.advance(drainTimeout - 1);
  await settled();
  expect([maker.ends, takes.of('240p').calls.at(-1) === 'end']).toEqual([0, false]);
  expect(budget.held).toBeGreaterThan(0);
  feed.clock.advance(1);
  await over;
  expect(takes.of('240p').calls.at(-1)).toBe('end');
  await settled();
  expectOver(air);
});

test('ended once more, it is not waited for any longer', async () => {
  const air = await recorded();
  air.maker.isHeld = true;
  const over = air.feed.output.end();
  void air.feed.output.end();
  await over;
  await settled();
  expectOver(air);
});

test('with nobody to make it for, or nobody who makes it, it is over at once', async () => {
  const alone = await recorded({ isRecorded: false });
  expect(alone.feed.output.end()).toBeUndefined();
  await settled();
  expectOver(alone);
  const refused = await recorded({ seconds: 0.1 });
  refused.maker.isHeld = true;
  await play(refused.feed, refused.publisher.sink, { from: 100, seconds: 5, after: () => settled(1) });
  refused.maker.isWilling = false;
  refused.maker.kill();
  await settled();
  expect(refused.feed.output.end()).toBeUndefined();
});
