import { describe, expect, it } from 'vitest';
import { mostBeginnings } from '../../../runtime/media/push/pusher.ts';
import { readAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { AAC_44100_MONO, AVC_240P } from '../../hls/feed.ts';
import { ONE, onAir } from './push-kit.ts';
import { kindOf, order, outline, pictures, Stage, settled, violations } from './stage.ts';

describe('the beginning of a push', () => {
  it('waits for a key frame, and puts metadata and headers before it', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await settled();
    expect(stage.reading('one')?.state).toBe('waiting');
    await broadcast.play({ ms: 480 });
    expect(stage.told()).toEqual([]);
    await broadcast.play({ ms: 1000 });
    expect(stage.told()).toEqual(['one connected']);
    expect(stage.reading('one')?.state).toBe('connected');
    const messages = stage.servers.last(ONE.url).messages();
    expect(outline(messages).slice(0, 5)).toEqual(['data', 'header', 'sound header', 'key', 'sound']);
    expect(violations(messages)).toEqual([]);
    expect(pictures(messages)[0]).toEqual({ publish: 1, number: 25, isKey: true, timestamp: 0 });
    // As much time passes as the encoder says.
    const last = pictures(messages).at(-1);
    expect(last?.timestamp).toBe(((last?.number ?? 0) - 25) * 40);
    expect(broadcast.fatal).toEqual([]);
  });

  it('tells the first picture at once, and later writes ten times a second', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 540 });
    const server = stage.servers.last(ONE.url);
    expect(pictures(server.messages())).toHaveLength(1);
    const { writes } = server;
    await broadcast.play({ ms: 10_000 });
    // And one more for each key frame, before which all else goes out.
    expect(server.writes - writes).toBeGreaterThan(70);
    expect(server.writes - writes).toBeLessThan(115);
  });

  it('writes what lies ready for long although no message follows', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 620 });
    const server = stage.servers.last(ONE.url);
    await stage.pass(1000);
    expect(pictures(server.messages()).at(-1)?.number).toBe(27);
    expect(stage.reading('one')?.queuedBytes).toBe(0);
  });

  it('says what is known in the metadata, and no more', async () => {
    const stage = new Stage();
    const broadcast = stage.broadcast();
    broadcast.attach();
    broadcast.metadata({
      ...{ width: 1, height: 1, framerate: 50, videocodecid: 7, audiocodecid: 10 },
      ...{ videodatarate: 2500, audiodatarate: -7, encoder: 'somebody', secret: 'x'.repeat(1000) },
    });
    broadcast.headers();
    broadcast.want(ONE, order('two', { videoOnly: true }));
    await settled();
    await broadcast.play({ ms: 1000 });
    const said = (id: string) => {
      const [{ body }] = stage.servers.last(order(id).url).messages();
      return readAmf0(body, 0, body.length);
    };
    expect(said('one')).toEqual([
      '@setDataFrame',
      'onMetaData',
      {
        ...{ width: 640, height: 360, framerate: 50, videocodecid: 7, videodatarate: 2500 },
        ...{ audiocodecid: 10, audiosamplerate: 48_000, audiosamplesize: 16, stereo: true },
        encoder: 'Millrace',
      },
    ]);
    expect(said('two')[2]).toEqual({
      ...{ width: 640, height: 360, framerate: 50, videocodecid: 7, videodatarate: 2500 },
      encoder: 'Millrace',
    });
  });

  it('leaves sound out when only pictures are wanted', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(order('one', { videoOnly: true }));
    await broadcast.play({ ms: 3000 });
    const messages = stage.servers.last(ONE.url).messages();
    expect(new Set(messages.map(kindOf))).toEqual(new Set(['data', 'header', 'key', 'delta']));
    expect(violations(messages)).toEqual([]);
  });

  it('begins with the first sound when the encoder said that there is nothing else', async () => {
    const stage = new Stage();
    const broadcast = stage.broadcast();
    broadcast.attach();
    broadcast.metadata({ audiocodecid: 10 });
    broadcast.headers({ video: false });
    broadcast.want(ONE, order('two', { videoOnly: true }));
    await broadcast.play({ ms: 500, video: false });
    expect(stage.told()).toEqual(['one connected']);
    expect(outline(stage.servers.last(ONE.url).messages())).toEqual(['data', 'sound header', 'sound']);
    expect(stage.reading('two')?.state).toBe('waiting');
    await stage.pass(120_000);
    expect(stage.reading('two')?.state).toBe('waiting');
  });

  it('begins without the sound that lags behind the first picture', async () => {
    const stage = new Stage();
    const broadcast = stage.broadcast();
    broadcast.begin({ at: 1000 });
    await broadcast.play({ ms: 500, lag: 300 });
    broadcast.want(ONE);
    await broadcast.play({ ms: 3000, lag: 300 });
    const messages = stage.servers.last(ONE.url).messages();
    const sounds = messages.filter((message) => kindOf(message) === 'sound').map((one) => one.timestamp);
    const steps = sounds.slice(1).map((time, index) => time - sounds[index]);
    expect(sounds[0]).toBeLessThan(25);
    expect(Math.min(...steps)).toBeGreaterThan(20);
    // 0.5 s until the key frame, and the lag.
    expect(sounds.at(-1)).toBeLessThan(2210);
  });

  it('waits a second for pictures of which nobody spoke, and begins without sound at once', async () => {
    const stage = new Stage();
    const broadcast = stage.broadcast();
    broadcast.begin({ video: false });
    broadcast.want(ONE);
    await broadcast.play({ ms: 900, video: false });
    expect(stage.told()).toEqual([]);
    await broadcast.play({ ms: 200, video: false });
    expect(stage.told()).toEqual(['one connected']);

    const silent = stage.broadcast('q');
    silent.begin({ audio: false });
    stage.pusher.want('q', [order('two')]);
    await settled();
    await silent.play({ ms: 40, audio: false });
    expect(stage.told('two')).toEqual(['two connected']);
  });

  it('goes on with pictures when they come late, from a key frame on', async () => {
    const stage = new Stage();
    const broadcast = stage.broadcast();
    broadcast.begin({ video: false });
    broadcast.want(ONE);
    await broadcast.play({ ms: 2000, video: false });
    broadcast.headers({ audio: false });
    await broadcast.play({ ms: 2000 });
    const messages = stage.servers.last(ONE.url).messages();
    expect(outline(messages).slice(0, 3)).toEqual(['data', 'sound header', 'sound']);
    expect(pictures(messages).length).toBeGreaterThan(45);
    const kinds = messages.map(kindOf);
    expect(kinds.indexOf('header')).toBeLessThan(kinds.indexOf('key'));
  });

  it('is connected to who answers late only once it said yes', async () => {
    const { stage, broadcast } = await onAir();
    stage.servers.answer = (attempt) => attempt.accept({ isAccepted: false });
    broadcast.want(ONE);
    await broadcast.play({ ms: 2000 });
    expect(stage.told()).toEqual([]);
    expect(stage.reading('one')?.state).toBe('connecting');
    stage.servers.last(ONE.url).sayYes();
    await settled();
    expect(stage.told()).toEqual(['one connected']);
    stage.servers.answer = (attempt) => attempt.accept({ isAccepted: false });
    stage.servers.last(ONE.url).refuse('closed');
    await broadcast.play({ ms: 4000 });
    stage.servers.last(ONE.url).refuse('connect');
    await settled();
    expect(stage.told()).toEqual(['one connected', 'one lost closed', 'one failed connect']);
  });
});

describe('a push across publishes', () => {
  it('keeps its connection through hold, and goes on behind where it was', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 3020 });
    broadcast.detach();
    const server = stage.servers.last(ONE.url);
    // What was gathered goes out.
    expect(pictures(server.messages()).at(-1)?.number).toBe(87);
    await stage.pass(120_000);
    expect(stage.told()).toEqual(['one connected']);
    broadcast.begin({ at: 4_000_000_000 });
    await broadcast.play({ ms: 2000 });
    const messages = server.messages();
    expect(violations(messages)).toEqual([]);
    expect(new Set(pictures(messages).map(({ publish }) => publish))).toEqual(new Set([1, 2]));
    const begins = messages.findIndex((message) => kindOf(message) === 'key' && message.body[10] === 2);
    // The same headers are not said again.
    expect(messages.slice(begins - 2).filter((message) => kindOf(message).includes('header'))).toEqual([]);
    expect(stage.told()).toEqual(['one connected']);
    expect(stage.servers.attempts).toHaveLength(1);
  });

  it('puts other headers before the next key frame', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 3020 });
    // It takes over: nobody was away.
    broadcast.begin({ video: AVC_240P, audio: AAC_44100_MONO });
    await broadcast.play({ ms: 2000 });
    const messages = stage.servers.last(ONE.url).messages();
    expect(violations(messages, { headers: true })).toEqual([]);
    const headers = messages.filter((message) => kindOf(message).includes('header'));
    expect(headers).toHaveLength(4);
    expect([...(headers.at(-1)?.body.subarray(2) ?? [])]).toEqual([...AAC_44100_MONO]);
    const data = messages.filter((message) => kindOf(message) === 'data').at(-1)?.body ?? new Uint8Array();
    expect(readAmf0(data, 0, data.length)[2]).toMatchObject({ width: 322, height: 242 });
  });

  it('changes headers within a publish as well', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 2520 });
    broadcast.headers({ video: AVC_240P, audio: false });
    await broadcast.play({ ms: 2000 });
    const messages = stage.servers.last(ONE.url).messages();
    // Pictures between the header and its first key frame are of no use to anybody.
    const numbers = pictures(messages).map(({ number }) => number);
    expect(numbers.slice(numbers.indexOf(75), numbers.indexOf(75) + 2)).toEqual([75, 100]);
    const kinds = messages.map(kindOf);
    const at = kinds.lastIndexOf('header');
    expect(kinds.slice(at).find((kind) => kind === 'key' || kind === 'delta')).toBe('key');
    expect(kinds.filter((kind) => kind === 'header')).toHaveLength(2);
  });

  it('has a time that goes on when the clock of the encoder jumps', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 3000 });
    await broadcast.play({ ms: 3000, stamp: (time) => time + 90_000_000 });
    await broadcast.play({ ms: 3000, stamp: (time) => time + 90_000_000 - 2000 });
    await broadcast.play({ ms: 3000, stamp: (time) => time + 7 });
    const messages = stage.servers.last(ONE.url).messages();
    expect(violations(messages)).toEqual([]);
    const times = pictures(messages).map(({ timestamp }) => timestamp);
    const steps = times.slice(1).map((time, index) => time - times[index]);
    expect(Math.min(...steps)).toBeGreaterThan(0);
    expect(Math.max(...steps)).toBeLessThan(1100);
    expect(times.at(-1)).toBeLessThan(16_000);
  });
});

describe('what is wanted', () => {
  it('ends, begins, and begins anew what differs, and touches nothing else', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE, order('two'), order('three'));
    await broadcast.play({ ms: 1000 });
    const [one, two, three] = ['one', 'two', 'three'].map((id) => stage.servers.last(order(id).url));
    stage.facts.length = 0;
    const moved = order('two', { url: 'srt://elsewhere.example:9000' });
    broadcast.want(moved, { ...ONE }, order('four'));
    broadcast.want(order('four'), moved, { ...ONE }, { ...ONE });
    await broadcast.play({ ms: 1000 });
    expect(stage.told().slice(0, 2)).toEqual(['two ended', 'three ended']);
    expect(stage.told().slice(2).toSorted()).toEqual(['four connected', 'two connected']);
    expect([one.how, two.how, three.how]).toEqual([undefined, 'left', 'left']);
    expect(stage.servers.to(ONE.url)).toHaveLength(1);
    broadcast.want({ ...ONE, videoOnly: true }, moved, order('four'));
    expect(one.how).toBe('left');
    await broadcast.play({ ms: 1000 });
    expect(stage.told('one')).toEqual(['one ended', 'one connected']);
    expect(stage.pusher.totals()).toMatchObject({ connected: 3, connecting: 0 });
  });

  it('means nothing for an unknown playlist, nor after the end', async () => {
    const { stage, broadcast } = await onAir();
    stage.pusher.want('unknown', [ONE]);
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000 });
    void broadcast.output.end();
    broadcast.want(ONE);
    await stage.pass(10_000);
    expect(stage.told()).toEqual(['one connected', 'one ended']);
    expect(stage.servers.last(ONE.url).how).toBe('left');
    expect(stage.pusher.readings()).toEqual([]);
    expect(stage.clock.timers).toBe(0);
  });

  it('ends all of them when the pusher is closed', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000 });
    stage.pusher.close();
    broadcast.want(order('two'));
    await broadcast.play({ ms: 1000 });
    expect(stage.told()).toEqual(['one connected', 'one ended']);
    expect(stage.servers.attempts).toHaveLength(1);
    expect(stage.clock.timers).toBe(0);
  });

  it('aborts what stands in the middle of a message', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000 });
    const server = stage.servers.last(ONE.url);
    server.stall(300);
    await broadcast.play({ ms: 1000 });
    broadcast.want();
    expect(server.how).toBe('aborted');
    await settled();
    expect(stage.told().at(-1)).toBe('one ended');
  });
});

describe('targets that change all the time', () => {
  it('call nobody every second: beyond a bound each waits for the longest time', async () => {
    const { stage, broadcast } = await onAir();
    stage.servers.answer = (attempt) => attempt.refuse('closed');
    const all = (round: number) =>
      Array.from({ length: 50 }, (_, index) => order(`${index}`, { url: `rtmp://victim.example/${round}` }));
    for (let round = 0; round < 60; round += 1) {
      broadcast.want(...all(round));
      await stage.pass(900);
    }
    expect(stage.servers.attempts).toHaveLength(mostBeginnings);
    expect(stage.reading('0')).toMatchObject({
      state: 'connecting',
      trouble: { reason: 'full', message: expect.stringContaining('changed too often') },
      retryAt: stage.clock.now() - 900 + 60_000,
    });
    // Nothing was begun, so nothing is told; and what is left in peace is tried.
    expect(stage.told().filter((fact) => fact.endsWith('ended')).length).toBe(59 * 50);
    stage.servers.answer = (attempt) => attempt.accept();
    await stage.pass(60_000);
    expect(stage.servers.to('rtmp://victim.example/59')).toHaveLength(50);
    expect(stage.pusher.totals().connecting).toBe(50);
    await broadcast.play({ ms: 2000 });
    expect(stage.pusher.totals().connected).toBe(50);
  });

  it('are bounded across the playlists of one stream, and not by those of others', async () => {
    const stage = new Stage();
    const most = mostBeginnings;
    stage.servers.answer = (attempt) => attempt.refuse('closed');
    const attempts = async (playbackId: string) => {
      const before = stage.servers.attempts.length;
      const broadcast = stage.broadcast(playbackId);
      broadcast.begin();
      broadcast.want(...Array.from({ length: 50 }, (_, index) => order(`${index}`)));
      await settled();
      void broadcast.output.end();
      return stage.servers.attempts.length - before;
    };
    for (let round = 0; round < most / 50; round += 1) expect(await attempts('p')).toBe(50);
    expect(await attempts('p')).toBe(0);
    expect(await attempts('other')).toBe(50);
    await stage.pass(60_000);
    expect(await attempts('p')).toBe(50);
  });
});
