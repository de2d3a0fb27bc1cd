import { expect, test } from 'vitest';
import { MemoryBudget } from '../../runtime/media/publish/memory-budget.ts';
import { frame } from '../hls/feed.ts';
import { grant, sendHeaders, station, until } from './kit.ts';

/** A station where the first letter of a key names the account. `limit`: of the account of the next publish. */
const shared = (memory: number, limit: () => { liveBytes?: number } = () => ({})) =>
  station(
    async ({ key }) => ({ ...grant({ token: key, playbackId: key }), account: key.slice(0, 1), ...limit() }),
    { memory },
  );

type Station = Awaited<ReturnType<typeof station>>;

/** A broadcast of so many seconds, with ten key frames of `size` bytes in each. */
async function holding(s: Station, key: string, { size, seconds }: { size: number; seconds: number }) {
  const encoder = await s.encoder(key);
  let end: { code?: string } | undefined;
  void encoder.closed.then((closed) => {
    end = closed as never;
  });
  sendHeaders(encoder);
  let sent = 0;
  const isRead = () => end !== undefined || (s.media.figures(key)?.bytes ?? 0) >= sent * size;
  const send = async (more: number) => {
    // A second at a time: what the socket does not take at once is dropped.
    for (let second = 0; second < more; second += 1) {
      for (const last = sent + 10; sent < last; sent += 1)
        encoder.sendVideo(frame({ isKey: true, size }), sent * 100);
      await until(`${key} to be read`, isRead);
    }
  };
  await send(seconds);
  return { send, end: () => end, held: () => heldBy(s, key) };
}

const heldBy = (s: Station, key: string) =>
  s.media.readings().find(({ grant: { token } }) => token === key)?.memory ?? 0;

test('an account that takes the live memory ends its own largest broadcast, and not that of another', async () => {
  await using s = await shared(20_000_000);
  const modest = await holding(s, 'b1', { size: 60_000, seconds: 1 });
  const largest = await holding(s, 'a1', { size: 58_000, seconds: 11 });
  const others = [
    await holding(s, 'a2', { size: 25_000, seconds: 11 }),
    await holding(s, 'a3', { size: 25_000, seconds: 11 }),
  ];
  // More than an average broadcast may have, and less than the part of its account.
  await modest.send(14);
  await until('the largest to end', () => largest.end() !== undefined);
  expect(largest.end()).toMatchObject({ code: 'NetStream.Publish.Rejected' });
  expect([modest, ...others].map(({ end }) => end())).toEqual([undefined, undefined, undefined]);
  expect(modest.held()).toBeGreaterThan(20_000_000 / 4);
  expect(await s.playlist('b1')).toContain('#EXTM3U');
  expect(await s.playlist('a1')).toBeUndefined();
  expect(s.lines.join()).toContain('the largest of an account');
});

test('an account beyond its own limit ends its largest broadcast, though there is memory', async () => {
  let limit = {};
  await using s = await shared(2 ** 30, () => limit);
  const largest = await holding(s, 'a1', { size: 30_000, seconds: 10 });
  const small = await holding(s, 'a2', { size: 12_000, seconds: 2 });
  const other = await holding(s, 'b1', { size: 30_000, seconds: 10 });
  limit = { liveBytes: largest.held() + small.held() + 1_500_000 };
  const next = await holding(s, 'a3', { size: 26_000, seconds: 10 });
  await until('the largest to end', () => largest.end() !== undefined);
  expect([small, other, next].map(({ end }) => end())).toEqual([undefined, undefined, undefined]);
  limit = { liveBytes: small.held() + next.held() };
  await expect(s.encoder('a4')).rejects.toMatchObject({ code: 'NetStream.Publish.Rejected' });
});

test('the largest of the account that holds most ends for one that holds less than its part', () => {
  const budget = new MemoryBudget({ limit: 1000 });
  const ended: string[] = [];
  const output = (account: string, name: string) => {
    const share = budget.open(account);
    share.onEvicted = () => ended.push(name);
    return share.hold();
  };
  const [a1, a2, b1, c1] = [output('a', 'a1'), output('a', 'a2'), output('b', 'b1'), output('c', 'c1')];
  expect([a1.resize(300), a2.resize(400), b1.resize(250)]).toEqual([true, true, true]);
  expect(c1.resize(40)).toBe(true);
  expect(c1.resize(200)).toBe(true);
  expect([ended, budget.held]).toEqual([['a2'], 750]);
  // What has ended asks for nothing, and takes nothing.
  expect(a2.resize(900)).toBe(true);
  expect(budget.heldBy('a')).toBe(300);
  // Nobody holds more than its part: who asks for more than that does not get it.
  expect(b1.resize(600)).toBe(false);
  expect(ended).toEqual(['a2']);
});

test('a broadcast may begin while another account holds everything', () => {
  const budget = new MemoryBudget({ limit: 10_000_000 });
  const ended: string[] = [];
  const share = budget.open('a');
  share.onEvicted = () => ended.push('a1');
  expect(share.hold().resize(9_500_000)).toBe(true);
  expect(budget.mayBegin('a')).toBe(false);
  expect(budget.mayBegin('b', 1000)).toBe(false);
  expect(ended).toEqual([]);
  expect(budget.mayBegin('b')).toBe(true);
  expect([ended, budget.held]).toEqual([['a1'], 0]);
});
