/** What servers get that a rendition is pushed to: media from the hand of an encoder, a scripted transcoder, and scripted servers. */
import { expect, it } from 'vitest';
import type { PushOrder } from '../../../core/ports/pusher.ts';
import type { OutputConfig } from '../../../runtime/media/live/config.ts';
import { BufferPool } from '../../../runtime/media/live/pool.ts';
import { Slabs } from '../../../runtime/media/live/slabs.ts';
import type { MediaSink } from '../../../runtime/media/publish/sink.ts';
import { readAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { AVC_240P, OnAir, OPUS_STEREO, type PlayOptions, play, send, sendHeaders } from '../../hls/feed.ts';
import { ScriptedMaker, settled, TWO } from '../renditions/kit.ts';
import { shownOf } from '../renditions/process.ts';
import type { Received } from './scripted-server.ts';
import { kindOf, order, outline, Stage } from './stage.ts';

const SMALL = order('small', { profile: '240p' });
const SOURCE = order('source');

/** A playlist with two renditions. */
function onAir(config: Partial<OutputConfig> = {}, limits: ConstructorParameters<typeof Stage>[0] = {}) {
  const stage = new Stage(limits);
  const maker = new ScriptedMaker();
  const { clock, pusher } = stage;
  const output = new OnAir({
    ...{ clock, config, transcoder: maker, pool: new BufferPool({ limit: 1 << 24 }), slabs: new Slabs() },
    relay: pusher.relayFor('p'),
    relayOf: (profile) => pusher.relayFor('p', profile),
  });
  let publishes = 0;
  let sink: MediaSink;
  /** Where the encoder's stamps are, seconds. */
  let at = 0;
  const air = {
    ...{ stage, maker, output },
    want: (...orders: PushOrder[]) => pusher.want('p', orders),
    attach(profiles = TWO, options: { hasHeaders?: boolean } = {}) {
      publishes += 1;
      at = 0;
      sink = output.attach({
        grant: {
          ...{ granted: true, token: `t${publishes}`, streamId: 's', sessionId: 'x', playbackId: 'p' },
          ...{ mediaSequence: 100, discontinuitySequence: publishes, targetDuration: 0, profiles },
        },
        onPlayable: () => {},
        onFatal: (reason) => expect(reason).toBe(''),
      });
      if (options.hasHeaders !== false) sendHeaders(sink);
      return sink;
    },
    detach: () => output.detach(`t${publishes}`),
    async play(seconds: number, options: Partial<PlayOptions> = {}) {
      const { after = async () => {} } = options;
      await play(stage, sink, {
        ...{ cts: () => 66, ...options, seconds, from: at * 1000 },
        after: async () => {
          await settled(2);
          await after();
        },
      });
      at += seconds;
      await settled();
    },
    /** What came to the server of an order, by all connections together. */
    received: ({ url }: PushOrder) => stage.servers.to(url).flatMap((attempt) => attempt.messages()),
  };
  return air;
}

const isPicture = (message: Received) => ['key', 'delta'].includes(kindOf(message));

interface Pushed {
  /** When it is shown, ticks of the playlist's timeline. */
  readonly shown: number;
  /** The same by the message that it came in, ms after the first of the connection. */
  readonly time: number;
  readonly isKey: boolean;
}

function picturesIn(messages: readonly Received[]): Pushed[] {
  return messages.filter(isPicture).map(({ body, timestamp }) => ({
    shown: shownOf(body.subarray(5)),
    time: timestamp + (((body[2] << 24) | (body[3] << 16) | (body[4] << 8)) >> 8),
    isKey: body[0] >> 4 === 1,
  }));
}

/** Where something is missing between pictures, at 30 a second: the picture behind each gap. */
function gapsIn(pictures: readonly Pushed[]): Pushed[] {
  return pictures.filter(({ shown }, n) => n > 0 && Math.abs(shown - pictures[n - 1].shown - 3000) > 90);
}

/** Headers first, no picture without those that it is made of, time goes on, picture and sound lie where they belong. */
function check(messages: readonly Received[]): void {
  expect(outline(messages).slice(0, 4)).toEqual(['data', 'header', 'sound header', 'key']);
  const pictures = picturesIn(messages);
  for (const { isKey } of gapsIn(pictures)) expect(isKey).toBe(true);
  const [first] = pictures;
  for (const { shown, time } of pictures)
    expect(Math.abs(time - first.time - (shown - first.shown) / 90)).toBeLessThan(2);
  const times = messages.map(({ timestamp }) => timestamp);
  // Of two that are decoded at one time either may be first; both are rounded.
  for (const [n, time] of times.entries()) if (n > 0) expect(time).toBeGreaterThanOrEqual(times[n - 1] - 1);
}

it('gets its pictures and the sound of the source, in order, under its own headers', async () => {
  const { stage, attach, play, want, received, maker } = onAir();
  attach();
  want(SMALL, SOURCE);
  await play(9);
  expect(maker.errors).toEqual([]);
  expect(stage.told().sort()).toEqual(['small connected', 'source connected']);
  const messages = received(SMALL);
  check(messages);
  const [{ body: data }, header, sound] = messages;
  expect(readAmf0(data, 0, data.length)[2]).toMatchObject({
    ...{ width: 322, height: 242, videocodecid: 7, videodatarate: 200 },
    ...{ audiocodecid: 10, audiosamplerate: 48_000, stereo: true },
  });
  expect([...header.body]).toEqual([0x17, 0, 0, 0, 0, ...AVC_240P]);
  expect([...sound.body]).toEqual([0xaf, 0, 0x11, 0x90]);
  const pictures = picturesIn(messages);
  expect(gapsIn(pictures)).toEqual([]);
  expect(pictures.length).toBeGreaterThan(150);
  expect(pictures[0].time).toBe(66);
  const sounds = messages.filter((message) => kindOf(message) === 'sound').map(({ timestamp }) => timestamp);
  expect(sounds.length).toBeGreaterThan(250);
  for (const [n, time] of sounds.entries()) if (n > 0) expect(time - sounds[n - 1]).toBeLessThan(23);
  // The source is what the encoder sent, from the next key frame on; the newest wait to be written together.
  expect(received(SOURCE).filter(isPicture).length).toBeGreaterThan(200);
});

it('misses no picture when the transcoder dies, on the same connection', async () => {
  const { stage, attach, play, want, received, maker } = onAir();
  attach();
  want(SMALL, SOURCE);
  await play(5);
  for (let deaths = 0; deaths < 3; deaths += 1) {
    maker.kill();
    await play(2.7);
  }
  expect(maker.runs.length).toBeGreaterThan(3);
  expect(stage.servers.attempts).toHaveLength(2);
  const messages = received(SMALL);
  check(messages);
  expect(gapsIn(picturesIn(messages))).toEqual([]);
  expect(picturesIn(messages).length).toBeGreaterThan(300);
});

it('gets nothing while the rendition is not made, and goes on at a key frame', async () => {
  const { stage, attach, play, want, received, maker } = onAir({ window: 6 });
  attach();
  want(SMALL, SOURCE);
  await play(5);
  // For longer than the window has media.
  maker.isHeld = true;
  await play(4);
  const before = received(SMALL).length;
  await play(20);
  expect(received(SMALL)).toHaveLength(before);
  expect(stage.reading('small')?.state).toBe('connected');
  maker.isHeld = false;
  maker.wake();
  await play(12);
  const messages = received(SMALL);
  expect(messages.length).toBeGreaterThan(before + 200);
  check(messages);
  expect(gapsIn(picturesIn(messages))).toHaveLength(1);
  expect(stage.servers.attempts).toHaveLength(2);
  expect(stage.told('small')).toEqual(['small connected']);
});

it('keeps its connection while the encoder is away, and its time goes on', async () => {
  const { stage, attach, detach, play, want, received, output } = onAir();
  attach();
  want(SMALL, SOURCE);
  await play(6);
  detach();
  await settled();
  await stage.pass(3000);
  const before = picturesIn(received(SMALL));
  attach();
  await play(6);
  const messages = received(SMALL);
  const times = messages.filter(isPicture).map(({ timestamp }) => timestamp);
  for (const [n, time] of times.entries()) if (n > 0) expect(time).toBeGreaterThan(times[n - 1]);
  const after = picturesIn(messages).slice(before.length);
  expect(after[0].isKey).toBe(true);
  expect(after.length).toBeGreaterThan(60);
  expect(gapsIn(before.concat(after))).toHaveLength(1);
  expect(stage.servers.attempts).toHaveLength(2);
  output.end();
  await settled();
  expect(stage.told('small')).toEqual(['small connected', 'small ended']);
  expect(stage.pusher.readings()).toEqual([]);
});

it('connects to nobody before there is something of it, nor while the encoder is away', async () => {
  const { stage, attach, detach, play, want, maker } = onAir();
  maker.isHeld = true;
  attach();
  want(SMALL);
  await play(5);
  expect(stage.servers.attempts).toEqual([]);
  expect(stage.reading('small')).toMatchObject({ state: 'connecting' });
  maker.isHeld = false;
  maker.wake();
  await play(3);
  expect(stage.told()).toEqual(['small connected']);
  detach();
  await settled();
  stage.servers.last(SMALL.url).refuse('closed');
  await stage.pass(60_000);
  expect(stage.servers.attempts).toHaveLength(1);
  attach();
  await play(6);
  expect(stage.told('small')).toEqual(['small connected', 'small lost closed', 'small connected']);
});

it('is another push when its profile is another, whose end is told first', async () => {
  const { stage, attach, play, want, received } = onAir();
  attach();
  want(order('one'), order('two', { profile: '240p' }));
  await play(6);
  // Both at one time, in either direction.
  want(order('one', { profile: '240p' }), order('two'));
  await play(5);
  for (const id of ['one', 'two'])
    expect(stage.told(id)).toEqual([`${id} connected`, `${id} ended`, `${id} connected`]);
  const [former, later] = stage.servers.to(order('two').url).map((attempt) => attempt.messages());
  check(former);
  expect(later.find((message) => kindOf(message) === 'header')?.body).not.toEqual(
    former.find((message) => kindOf(message) === 'header')?.body,
  );
  want(order('one', { profile: 'unknown' }));
  await settled();
  expect(stage.pusher.readings()).toEqual([]);
  expect(received(order('one')).length).toBeGreaterThan(0);
});

it('gives up its place before it takes one for another profile', async () => {
  const { stage, attach, play, want } = onAir({}, { targets: 1 });
  attach();
  want(SMALL);
  await play(5);
  for (const profile of ['source', '360p', '240p']) {
    want({ ...SMALL, profile });
    await play(5);
  }
  expect(stage.told().join()).toBe(Array(4).fill('small connected').join(',small ended,'));
});

it('gets the end of a broadcast, though the transcoder has it yet when that is over', async () => {
  const { stage, attach, play, want, received, output, maker } = onAir();
  attach();
  want(SMALL);
  await play(5.1);
  maker.isHeld = true;
  await play(1.7);
  const over = output.end();
  expect(stage.told('small')).toEqual(['small connected']);
  maker.isHeld = false;
  maker.wake();
  await over;
  expect(stage.told('small')).toEqual(['small connected', 'small ended']);
  const pictures = picturesIn(received(SMALL));
  expect(gapsIn(pictures)).toEqual([]);
  // 30 a second, from the key frame on with which it was connected.
  expect((6.8 * 30 - pictures.length) % 60).toBe(0);
});

it('ends when the next publish wants other renditions', async () => {
  const { stage, attach, detach, play, want } = onAir();
  attach();
  want(SMALL, SOURCE);
  await play(5);
  detach();
  attach([TWO[0]]);
  await play(5);
  expect(stage.told('small')).toEqual(['small connected', 'small ended']);
  expect(stage.told('source')).toEqual(['source connected']);
});

it('has Opus as Enhanced RTMP has it', async () => {
  const { attach, play, want, received } = onAir();
  const sink = attach(TWO, { hasHeaders: false });
  const name = [...'Opus'].map((char) => char.charCodeAt(0));
  sendHeaders(sink, { audio: new Uint8Array() });
  send(sink, 8, 0, Uint8Array.of(0x90, ...name, ...OPUS_STEREO));
  want(SMALL);
  let due = 0;
  let pictures = 0;
  await play(6, {
    audio: false,
    after: async () => {
      pictures += 1;
      // 20 ms each.
      for (; due <= (pictures * 1000) / 30; due += 20)
        send(sink, 8, due, Uint8Array.of(0x91, ...name, 0xfc, 1, 2, due & 255));
    },
  });
  const sounds = received(SMALL)
    .filter(({ type }) => type === 8)
    .map(({ body }) => [...body]);
  expect(sounds[0]).toEqual([0x90, ...name, ...OPUS_STEREO]);
  expect(sounds.length).toBeGreaterThan(100);
  for (const [n, body] of sounds.slice(1).entries())
    expect(body).toEqual([0x91, ...name, 0xfc, 1, 2, (sounds[1][8] + 20 * n) & 255]);
});
