import { expect, it } from 'vitest';
import { FairSlots } from '../../../runtime/media/push/pusher.ts';
import { order, pictures, Stage, settled } from './stage.ts';

it('gives one owner three quarters, and the rest to those who come, each no more than his part', () => {
  const places = new FairSlots(100);
  const taken = (owner: string) => {
    let count = 0;
    while (places.take(owner)) count += 1;
    return count;
  };
  expect(taken('greedy')).toBe(75);
  expect(taken('one')).toBe(25);
  expect(places.take('two')).toBe(false);
  for (let n = 0; n < 30; n += 1) places.give('greedy');
  expect(taken('two')).toBe(30);
  for (let n = 0; n < 40; n += 1) places.give('greedy');
  for (let n = 0; n < 40; n += 1) places.give('nobody');
  expect(taken('one')).toBe(15);
  expect(taken('two')).toBe(4);
  expect(taken('greedy')).toBe(21);
});

it('an account with many targets leaves places to others', async () => {
  const stage = new Stage({ targets: 100 });
  const greedy = ['a', 'b'].map((id) => stage.broadcast(id));
  for (const broadcast of greedy) {
    broadcast.begin();
    broadcast.want(...Array.from({ length: 50 }, (_, index) => order(`${index}`, { owner: 'greedy' })));
  }
  const modest = stage.broadcast('c');
  modest.begin();
  modest.want(...Array.from({ length: 20 }, (_, index) => order(`m${index}`, { owner: 'modest' })));
  await settled();
  const states = (id: string) =>
    stage.pusher.readings().filter((one) => one.playbackId === id && one.state === 'waiting').length;
  expect(states('a') + states('b')).toBe(75);
  expect(states('c')).toBe(20);
});

it('an account with many targets over SRT leaves processes of ffmpeg to others, and places to its own of RTMP', async () => {
  const stage = new Stage({ processes: 20 });
  const orders = (owner: string, kind: string, count: number) => {
    const path = kind === 'rtmp' ? '/app/' : '?streamid=';
    return Array.from({ length: count }, (_, index) =>
      order(`${kind}${index}`, { owner, url: `${kind}://secret.example:9000${path}${owner}-${index}` }),
    );
  };
  const greedy = stage.broadcast('a');
  greedy.begin();
  greedy.want(...orders('greedy', 'SRT', 30), ...orders('greedy', 'rtmp', 30));
  const modest = stage.broadcast('b');
  modest.begin();
  modest.want(...orders('modest', 'srt', 6));
  await settled();
  const waiting = (id: string, kind: string) =>
    stage.pusher
      .readings()
      .filter((one) => one.playbackId === id && one.state === 'waiting' && one.id.startsWith(kind)).length;
  expect([waiting('a', 'SRT'), waiting('a', 'rtmp'), waiting('b', 'srt')]).toEqual([15, 30, 5]);
  expect(stage.reading('SRT29')?.trouble).toEqual({
    reason: 'full',
    message: 'This server runs as many processes of ffmpeg as it may.',
  });
  greedy.want();
  await stage.pass(10_000);
  expect(waiting('b', 'srt')).toBe(6);
});

it('what waits for the stalled targets of one account costs no other account a picture', async () => {
  const stage = new Stage({ memory: 8 * 1_048_576, queue: 1_048_576, stall: 3_600_000 });
  const greedy = stage.broadcast('greedy');
  greedy.begin();
  greedy.want(...Array.from({ length: 50 }, (_, index) => order(`g${index}`, { owner: 'greedy' })));
  const modest = stage.broadcast('modest');
  modest.begin();
  modest.want(order('m', { owner: 'modest' }));
  await settled();
  for (const attempt of stage.servers.attempts) if (attempt.url.includes('/g')) attempt.stall(2000);
  await greedy.play({ ms: 4000, size: 20_000 });
  // Larger than what 51 pushes may have each, smaller than what two owners may.
  await modest.play({ ms: 2000, size: 250_000 });
  expect(stage.reading('m')).toMatchObject({ state: 'connected', droppedFrames: 0 });
  expect(pictures(stage.servers.last(order('m').url).messages())).toHaveLength(50);
});
