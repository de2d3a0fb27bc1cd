import { expect, test } from 'vitest';
import type { BroadcastAttachment } from '../../runtime/media/broadcast/broadcast.ts';
import { AVC_240P, Feed, frame, play, send, sendHeaders, videoHeader } from './feed.ts';
import { ScriptedTake } from './scripted-take.ts';
import { Viewer } from './viewer.ts';

/** A feed whose publishes are recorded in one take. */
function recorded(config = {}) {
  const feed = new Feed(config);
  const take = new ScriptedTake();
  const troubles: unknown[] = [];
  const recording = { open: () => take.feed(), onTrouble: (error: unknown) => void troubles.push(error) };
  return { feed, take, troubles, recording, attach: () => feed.attach({}, recording) };
}

test('the recorder gets each part as it is cut, byte for byte what viewers get', async () => {
  const { feed, take, attach } = recorded({ window: 60 });
  const viewer = new Viewer(feed);
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 13, after: () => viewer.look() });
  feed.output.detach(grant.token);
  await viewer.look();
  expect(take.calls.at(0)).toBe('begin');
  expect(take.calls.at(-1)).toBe('end');
  expect(take.calls.filter((call) => !call.startsWith('part'))).toEqual(['begin', 'end']);
  const [first] = viewer.segments;
  expect(await take.bytes(take.inits[0].at, take.inits[0].at + take.inits[0].size)).toEqual(
    viewer.fetched.get(first.map),
  );
  expect(take.inits[0]).toMatchObject({
    codecs: ['avc1.64001e', 'mp4a.40.2'],
    width: 640,
    height: 360,
    frameRate: 30,
  });
  expect(viewer.segments.length).toBeGreaterThan(5);
  expect(take.count).toBe(viewer.segments.length);
  for (const [number, listed] of viewer.segments.entries()) {
    const { at, size, duration, wallStart } = take.segment(number);
    expect(
      Buffer.compare(await take.bytes(at, at + size), viewer.fetched.get(listed.uri) as Uint8Array),
    ).toBe(0);
    expect(duration).toBeCloseTo(listed.duration, 4);
    expect(Math.abs(wallStart - (listed.wall ?? 0))).toBeLessThanOrEqual(1);
  }
  // The first segment of a publish is one part, and listed as a segment only.
  const listed = viewer.segments.flatMap((segment) => segment.parts);
  expect(take.parts).toHaveLength(1 + listed.length);
  for (const [number, { isIndependent }] of listed.entries())
    expect(take.parts[number + 1].part.isIndependent).toBe(isIndependent);
  expect(take.parts.filter(({ part }) => part.startsSegment)).toHaveLength(take.count);
});

test('a publish that never plays feeds nothing', async () => {
  const { feed, take, attach } = recorded();
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 0.2 });
  feed.output.detach(grant.token);
  expect(feed.output.isPlayable).toBe(false);
  expect(take.calls).toEqual(['end']);
});

test('whoever comes back or takes over: the end of the one, then the beginning of the other', async () => {
  const { feed, take, attach } = recorded();
  const first = attach();
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 3 });
  const second = attach();
  sendHeaders(second.sink);
  // Inert: what the first still sends is nobody's.
  await play(feed, first.sink, { seconds: 2, from: 3000 });
  await play(feed, second.sink, { seconds: 3 });
  feed.output.detach(first.grant.token);
  feed.output.detach(second.grant.token);
  feed.clock.advance(5000);
  const third = attach();
  sendHeaders(third.sink);
  await play(feed, third.sink, { seconds: 3 });
  feed.output.end();
  const others = take.calls.filter((call) => !call.startsWith('part'));
  expect(others).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end']);
  expect(take.calls.every((call, at) => call !== 'begin' || take.calls[at + 1].startsWith('part S'))).toBe(
    true,
  );
});

test('another configuration begins anew without an end, and an init that no part follows is not told', async () => {
  const { feed, take, attach } = recorded();
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 4 });
  send(sink, 9, 4000, videoHeader(AVC_240P));
  await play(feed, sink, { seconds: 4, from: 4000 });
  send(sink, 9, 8000, videoHeader(AVC_240P.with(3, 14)));
  feed.output.detach(grant.token);
  expect(take.calls.filter((call) => !call.startsWith('part'))).toEqual(['begin', 'begin', 'end']);
  expect(take.inits.map(({ width }) => width)).toEqual([640, 322]);
});

/** All that viewers see of a broadcast, without the random prefix of its files. */
async function seen(recording?: BroadcastAttachment['recording']) {
  const feed = new Feed();
  const texts: string[] = [];
  const { sink, grant, fatal } = feed.attach({}, recording);
  sendHeaders(sink);
  await play(feed, sink, {
    seconds: 12,
    after: async () => {
      if (!feed.output.isPlayable) return;
      const text = (await feed.text('source.m3u8')).replaceAll(/[0-9a-f]{12}_/g, '_');
      if (text !== texts.at(-1)) texts.push(text);
    },
  });
  const { issues, ...figures } = sink.figures();
  feed.output.detach(grant.token);
  return { texts, figures, fatal, issues };
}

const troubles: [string, Partial<NonNullable<BroadcastAttachment['recording']>>, ScriptedTake['takes']][] = [
  ['takes nothing', {}, false],
  ['throws at each part', {}, 'throws'],
  ['has no feed', { open: () => undefined }, true],
  ['throws when it is asked for a feed', { open: () => raise() }, true],
  [
    'throws at everything',
    {
      open: () => ({
        begin: raise,
        part: raise,
        end: raise,
        get issues() {
          return raise();
        },
        get written() {
          return raise();
        },
      }),
    },
    true,
  ],
];

function raise(): never {
  throw new Error('a fault of the recorder');
}

test.each(troubles)('viewers do not notice a recorder that %s', async (_, change, takes) => {
  const take = new ScriptedTake();
  take.takes = takes;
  const recording = { open: () => take.feed(), onTrouble: () => {}, ...change };
  const { issues, ...with_ } = await seen(recording);
  const { issues: none, ...without } = await seen();
  expect(with_).toEqual(without);
  expect(with_.texts.length).toBeGreaterThan(30);
  expect(none).toEqual([]);
  // One that takes nothing says itself what is wrong.
  expect(issues).toHaveLength(takes === false ? 0 : 1);
});

test('after a fault it goes on with the next segment that a decoder can begin with, behind its init', async () => {
  const { feed, take, troubles: told, attach } = recorded();
  const { sink } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 5 });
  expect(sink.figures().issues).toEqual([]);
  take.takes = 'throws';
  await play(feed, sink, { seconds: 5, from: 5000 });
  expect(told).toHaveLength(1);
  expect(sink.figures().issues).toEqual([expect.stringContaining('recording')]);
  take.takes = true;
  take.calls.length = 0;
  await play(feed, sink, { seconds: 5, from: 10_000 });
  expect(take.calls.slice(0, 3)).toEqual(['begin', 'part S I', 'part']);
  expect(sink.figures().issues).toEqual([]);
  expect(told).toHaveLength(1);
});

test('what is wrong with the recording is an issue of the broadcast for as long as it is', async () => {
  const { feed, take, attach } = recorded();
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  take.issues = ['The disk is full. Make room on it.'];
  expect(sink.figures().issues).toEqual(take.issues);
  expect(feed.output.figures()?.issues).toEqual(take.issues);
  take.issues = [];
  expect(sink.figures().issues).toEqual([]);
  feed.output.detach(grant.token);
});

test('the part for which the window has no room any more is recorded all the same', async () => {
  const { feed, take, attach } = recorded({ windowBytes: 400_000 });
  const { sink, fatal } = attach();
  sendHeaders(sink);
  let sent = 0;
  for (let time = 0; fatal.length === 0; time += 33) {
    expect(time).toBeLessThan(60_000);
    feed.clock.advance(33);
    send(sink, 9, time, frame({ isKey: time % 1980 === 0, size: 10_000, mark: sent & 255 }));
    sent += 1;
  }
  const parts = await feed.text('source.m3u8');
  const listed = take.parts.length - 1;
  expect(parts).toContain('_seg');
  // Frame by frame up to the last that was cut: each is marked.
  const bytes = Buffer.concat(take.parts.map((part) => part.bytes));
  const marks = [...Array(256).keys()].filter((mark) => bytes.includes(Buffer.alloc(9000, mark)));
  expect(marks.length).toBeGreaterThanOrEqual(sent - 1 - 11);
  const viewed = take.parts.slice(0, listed).reduce((sum, part) => sum + part.part.duration, 0);
  expect(viewed).toBeLessThan(take.parts.reduce((sum, part) => sum + part.part.duration, 0));
  const [lost] = take.parts.slice(-1);
  expect(lost.bytes.length).toBeGreaterThan(90_000);
  expect(feed.output.figures()?.segments).toBe(
    take.parts.filter(({ part }) => part.startsSegment).length - 1,
  );
});
