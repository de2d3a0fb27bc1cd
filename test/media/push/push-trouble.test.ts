import { describe, expect, it } from 'vitest';
import { ONE, onAir } from './push-kit.ts';
import { kindOf, order, pictures, Stage, settled, violations } from './stage.ts';

describe('an attempt that fails', () => {
  it('is made again after 1, 2, 4, … 60 s, and tells each', async () => {
    const { stage, broadcast } = await onAir();
    stage.servers.answer = (attempt) => attempt.refuse('rejected');
    const began = stage.clock.now();
    const at: number[] = [];
    stage.servers.onOpen = () => void at.push(stage.clock.now() - began);
    broadcast.want(ONE);
    await settled();
    expect(stage.reading('one')).toMatchObject({
      state: 'connecting',
      retryAt: began + 1000,
      trouble: { reason: 'rejected' },
    });
    await stage.pass(200_000);
    expect(at.map((ms) => ms / 1000)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
    expect(stage.told()).toEqual(at.map(() => 'one failed rejected'));
    expect(stage.pusher.totals().troubles).toEqual({ rejected: 9 });
  });

  it('waits less at the next loss only when it was connected for a minute', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    const lose = async (after: number) => {
      await broadcast.play({ ms: after });
      stage.servers.last(ONE.url).refuse('closed');
      await settled();
      return (stage.reading('one')?.retryAt ?? 0) - stage.clock.now();
    };
    expect(await lose(2000)).toBe(1000);
    expect(await lose(5000)).toBe(2000);
    expect(await lose(50_000)).toBe(4000);
    expect(await lose(70_000)).toBe(1000);
    expect(await lose(3000)).toBe(2000);
    const each = ['one connected', 'one lost closed'];
    expect(stage.told()).toEqual([...each, ...each, ...each, ...each, ...each]);
  });

  it('is not made while nobody publishes, and at once when somebody does', async () => {
    const { stage, broadcast } = await onAir();
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000 });
    broadcast.detach();
    stage.servers.last(ONE.url).refuse('closed');
    broadcast.want(ONE, order('two'));
    await stage.pass(30_000);
    expect(stage.servers.attempts).toHaveLength(1);
    expect(stage.reading('one')).toMatchObject({ state: 'connecting', trouble: { reason: 'closed' } });
    expect(stage.reading('two')?.state).toBe('connecting');
    broadcast.begin();
    await settled();
    await broadcast.play({ ms: 500 });
    expect(stage.told()).toEqual(['one connected', 'one lost closed', 'one connected', 'two connected']);
  });

  it('is given up when nobody ever answers', async () => {
    const { stage, broadcast } = await onAir();
    stage.servers.answer = () => {};
    broadcast.want(ONE);
    await stage.pass(61_000);
    expect(stage.servers.to(ONE.url)[0].how).toBe('aborted');
    expect(stage.told()).toEqual(['one failed timeout']);
  });

  it('says so when nothing can be pushed to the URL, or to no more', async () => {
    const { stage, broadcast } = await onAir({ targets: 1 });
    broadcast.want(ONE, order('two'), order('three', { url: 'https://secret.example/' }));
    await broadcast.play({ ms: 1000 });
    expect(stage.told()).toEqual(['two failed full', 'three failed url', 'one connected']);
    broadcast.want(order('two'));
    await broadcast.play({ ms: 3000 });
    expect(stage.told('two').at(-1)).toBe('two connected');
    expect(JSON.stringify([stage.facts, stage.pusher.readings(), stage.lines])).not.toContain('secret');
  });
});

describe('a URL that can never be pushed to', () => {
  it.each([
    ['srt://secret.example', 'name a port'],
    ['srt://secret.example:9000?mode=listener', 'mode'],
    ['rtmp://secret.example', 'no key'],
  ])('is told, as rows from before it was refused may have it, and takes no place: %s', async (url, says) => {
    const { stage, broadcast } = await onAir({ targets: 1 });
    broadcast.want(order('bad', { url }), ONE);
    await broadcast.play({ ms: 1000 });
    expect(stage.told()).toEqual(['bad failed url', 'one connected']);
    const { trouble } = stage.pusher.readings().find(({ id }) => id === 'bad') ?? {};
    expect(trouble).toMatchObject({ reason: 'url', message: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(trouble?.message).toContain(says);
    expect(JSON.stringify([stage.facts, stage.pusher.readings(), stage.lines])).not.toContain('secret');
  });
});

describe('a server that takes less', () => {
  const SIZE = 20_000;
  /** 500 kB a second; a queue of one MiB. */
  const small = { queue: 1_048_576 };

  it('gets whole groups of pictures only, and goes on at a key frame', async () => {
    const { stage, broadcast } = await onAir(small);
    broadcast.want(ONE, order('two'));
    await broadcast.play({ ms: 2000, size: SIZE });
    const server = stage.servers.last(ONE.url);
    server.stall(10_000);
    await broadcast.play({ ms: 20_000, size: SIZE });
    expect(stage.told('one')).toEqual(['one connected', 'one slow slow']);
    expect(stage.reading('one')).toMatchObject({ state: 'connected', trouble: { reason: 'slow' } });
    expect(stage.reading('one')?.queuedBytes).toBeLessThanOrEqual(1_048_576);
    server.drain();
    await broadcast.play({ ms: 3000, size: SIZE });
    const messages = server.messages();
    expect(violations(messages)).toEqual([]);
    const got = pictures(messages);
    const gaps = got.slice(1).filter(({ number }, index) => number !== got[index].number + 1);
    expect(gaps).toHaveLength(1);
    expect(gaps[0].isKey).toBe(true);
    // The headers stand before the picture that it goes on with.
    const index = messages.findIndex((message) => pictures([message])[0]?.number === gaps[0].number);
    expect(messages.slice(index - 3, index).map(kindOf)).toEqual(['data', 'header', 'sound header']);
    const dropped = stage.reading('one')?.droppedFrames ?? 0;
    expect(got.length + dropped + 25).toBe((got.at(-1)?.number ?? 0) + 1);
    expect(stage.pusher.totals().droppedFrames).toBe(dropped);

    // The other did not notice.
    const other = pictures(stage.servers.last(order('two').url).messages());
    expect(other.map(({ number }) => number)).toEqual(other.map((_, at) => at + 25));
    expect(stage.reading('two')?.droppedFrames).toBe(0);
    expect(broadcast.fatal).toEqual([]);
  });

  it('is told to be slow once, and again when it has kept up for 10 s', async () => {
    const { stage, broadcast } = await onAir(small);
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000, size: SIZE });
    const server = stage.servers.last(ONE.url);
    const starve = async () => {
      server.stall();
      await broadcast.play({ ms: 5000, size: SIZE });
      server.drain();
    };
    await starve();
    await broadcast.play({ ms: 8000, size: SIZE });
    await starve();
    expect(stage.told()).toEqual(['one connected', 'one slow slow']);
    await broadcast.play({ ms: 12_000, size: SIZE });
    expect(stage.reading('one')?.trouble).toBeUndefined();
    await starve();
    expect(stage.told()).toEqual(['one connected', 'one slow slow', 'one slow slow']);
    expect(violations(server.messages())).toEqual([]);
  });

  it('is slow for as long as it never takes all there is', async () => {
    const { stage, broadcast } = await onAir(small);
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000, size: SIZE });
    const server = stage.servers.last(ONE.url);
    server.stall();
    for (let second = 0; second < 60; second += 1) {
      await broadcast.play({ ms: 1000, size: SIZE });
      server.drain(300_000);
    }
    expect(stage.told()).toEqual(['one connected', 'one slow slow']);
    const got = pictures(server.messages());
    // What it takes it gets.
    expect(got.length * (SIZE + 29)).toBeGreaterThan(17_000_000);
    expect(violations(server.messages())).toEqual([]);
  });

  it('of sound alone gets the newest', async () => {
    const stage = new Stage({ queue: 300_000 });
    const broadcast = stage.broadcast();
    broadcast.begin({ video: false });
    broadcast.want(ONE);
    await broadcast.play({ ms: 3000, video: false });
    const server = stage.servers.last(ONE.url);
    server.stall();
    await broadcast.play({ ms: 80_000, video: false });
    expect(stage.told()).toEqual(['one connected', 'one slow slow']);
    server.drain();
    await broadcast.play({ ms: 1000, video: false });
    const messages = server.messages();
    expect(violations(messages)).toEqual([]);
    expect(messages.at(-1)?.timestamp).toBeGreaterThan(82_000);
    expect(stage.reading('one')).toMatchObject({ droppedFrames: 0, trouble: { reason: 'slow' } });
    expect(stage.reading('one')?.queuedBytes).toBeLessThan(2000);
  });

  it('is lost when it takes nothing for 90 s, though much was let go meanwhile', async () => {
    const { stage, broadcast } = await onAir(small);
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000, size: SIZE });
    const server = stage.servers.last(ONE.url);
    server.stall();
    await broadcast.play({ ms: 88_000, size: SIZE });
    expect(stage.told().at(-1)).toBe('one slow slow');
    await broadcast.play({ ms: 3000, size: SIZE });
    expect(stage.told().slice(0, 3)).toEqual(['one connected', 'one slow slow', 'one lost stalled']);
    expect(server.how).toBe('aborted');
    await broadcast.play({ ms: 2000, size: SIZE });
    expect(stage.told('one').at(-1)).toBe('one connected');
    expect(violations(stage.servers.last(ONE.url).messages())).toEqual([]);
  });

  it('is not lost while it takes a little now and then', async () => {
    const { stage, broadcast } = await onAir(small);
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000, size: SIZE });
    const server = stage.servers.last(ONE.url);
    server.stall();
    for (let minute = 0; minute < 5; minute += 1) {
      await broadcast.play({ ms: 60_000, size: SIZE });
      server.drain(1);
    }
    expect(stage.told()).toEqual(['one connected', 'one slow slow']);
  });

  it('takes no more memory than all may have together, and nothing from one that keeps up', async () => {
    const memory = 4 * 1_048_576;
    const { stage, broadcast } = await onAir({ queue: 1_048_576, memory });
    const orders = Array.from({ length: 12 }, (_, index) => order(`s${index}`));
    broadcast.want(ONE, ...orders);
    await broadcast.play({ ms: 1000, size: SIZE });
    for (const { url } of orders) stage.servers.last(url).stall(5);
    let most = 0;
    for (let second = 0; second < 30; second += 1) {
      await broadcast.play({ ms: 1000, size: SIZE });
      const queued = stage.pusher.readings().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);
      most = Math.max(most, queued);
    }
    expect(most).toBeLessThanOrEqual(memory);
    expect(most).toBeGreaterThan(memory / 4);
    expect(stage.reading('one')?.droppedFrames).toBe(0);
    for (const { url } of orders) stage.servers.last(url).drain();
    await broadcast.play({ ms: 2000, size: SIZE });
    for (const { url } of [ONE, ...orders])
      expect(violations(stage.servers.last(url).messages())).toEqual([]);
    broadcast.want();
    await stage.pass(1000);
    expect(stage.pusher.totals()).toMatchObject({ connected: 0, connecting: 0 });
  });

  it('leaves out a picture that is larger than everything it may hold', async () => {
    const { stage, broadcast } = await onAir({ queue: 200_000 });
    broadcast.want(ONE);
    await broadcast.play({ ms: 1000 });
    await broadcast.play({ ms: 1000, size: 300_000 });
    await broadcast.play({ ms: 2000 });
    const messages = stage.servers.last(ONE.url).messages();
    expect(violations(messages)).toEqual([]);
    expect(stage.told()).toEqual(['one connected', 'one slow slow']);
    expect(pictures(messages).at(-1)?.number).toBeGreaterThan(100);
  });
});

describe('an error of our own', () => {
  it.each(['open', 'write', 'leave', 'abort'] as const)(
    'in %s never reaches the broadcast',
    async (where) => {
      const { stage, broadcast } = await onAir();
      const error = new TypeError('Invalid URL: rtmp://secret.example/one');
      const throws = () => {
        throw error;
      };
      if (where === 'open') stage.servers.onOpen = throws;
      stage.servers.answer = (attempt) => {
        if (where === 'write') attempt.onWrite = throws;
        if (where === 'leave') attempt.end = throws;
        if (where === 'abort') {
          attempt.end = throws;
          attempt.stall(10);
        }
        attempt.accept();
      };
      broadcast.want(ONE);
      await broadcast.play({ ms: 3000 });
      if (where === 'open')
        expect(stage.told().slice(0, 2)).toEqual(['one failed connect', 'one failed connect']);
      if (where === 'write')
        expect(stage.told().slice(0, 2)).toEqual(['one failed closed', 'one failed closed']);
      broadcast.want();
      await broadcast.play({ ms: 3000 });
      expect(stage.told().at(-1)).toBe('one ended');
      expect(broadcast.fatal).toEqual([]);
      expect(stage.lines.length).toBeGreaterThan(0);
      expect(stage.lines.join()).not.toContain('secret');
    },
  );

  it('of who is told goes no further', async () => {
    const { stage, broadcast } = await onAir();
    stage.pusher.tell(() => {
      throw new Error('nobody listens');
    });
    broadcast.want(ONE);
    await broadcast.play({ ms: 3000 });
    expect(stage.lines).toHaveLength(1);
    expect(pictures(stage.servers.last(ONE.url).messages()).length).toBeGreaterThan(50);
  });

  it('ends nothing twice when the connection breaks within a write', async () => {
    const { stage, broadcast } = await onAir();
    stage.servers.answer = (attempt) => {
      attempt.onWrite = () => {
        if (attempt.writes === 12) attempt.refuse('closed');
      };
      attempt.accept();
    };
    broadcast.want(ONE);
    await broadcast.play({ ms: 5000 });
    expect(stage.told().slice(0, 3)).toEqual(['one connected', 'one lost closed', 'one connected']);
    expect(stage.servers.to(ONE.url)[0].how).toBe('broken');
    await stage.pass(1000);
    expect(stage.reading('one')?.queuedBytes).toBe(0);
    expect(violations(stage.servers.last(ONE.url).messages())).toEqual([]);
  });
});
