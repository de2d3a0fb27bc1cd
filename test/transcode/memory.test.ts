import { describe, expect, it } from 'vitest';
import { Shares } from '../../runtime/base/shares.ts';
import { confined } from '../../runtime/media/ffmpeg/confinement.ts';
import { causeOf, wasShort } from '../../runtime/media/ffmpeg/end-cause.ts';
import {
  fitInto,
  fittingThreads,
  isSlowPreset,
  memoryOf,
  sizeOf,
} from '../../runtime/media/transcode/memory.ts';

const never = new AbortController().signal;
const mebibyte = 2 ** 20;
const budget = 1400 * mebibyte;
const [hd, uhd, huge] = [
  { width: 1920, height: 1080 },
  { width: 3840, height: 2160 },
  { width: 8192, height: 4320 },
];

describe('shares', () => {
  it('are given out up to the total, in the order of asking', async () => {
    const shares = new Shares(10);
    const [first] = await Promise.all([shares.take(6, never), shares.take(4, never)]);
    const order: string[] = [];
    const large = shares.take(9, never).then((back) => order.push('large') && back);
    const small = shares.take(1, never).then((back) => order.push('small') && back);
    first();
    first();
    await new Promise(setImmediate);
    // The small one would fit, and does not pass the large one.
    expect([order, shares.given]).toEqual([[], 4]);
    void large;
    void small;
  });

  it('of more than there is are all, and come back once', async () => {
    const shares = new Shares(10);
    const back = await shares.take(Number.POSITIVE_INFINITY, never);
    expect(shares.given).toBe(10);
    back();
    back();
    expect(shares.given).toBe(0);
  });

  it('are not waited for any more by those who left', async () => {
    const shares = new Shares(10);
    await shares.take(5, never);
    const leaving = new AbortController();
    const large = shares.take(10, leaving.signal);
    const small = shares.take(5, never);
    leaving.abort(new Error('left'));
    await expect(large).rejects.toThrow('left');
    await small;
    expect(shares.given).toBe(10);
    await expect(shares.take(1, leaving.signal)).rejects.toThrow('left');
  });
});

describe('the memory of a conversion', () => {
  const work = (from: { width: number; height: number }, to = from) => ({ from, to });

  it('lets two films of 1080p run side by side, and one of 4K alone', () => {
    expect(2 * memoryOf(work(hd), 2)).toBeLessThan(budget);
    expect(memoryOf(work(uhd), 2)).toBeLessThan(budget);
    expect(2 * memoryOf(work(uhd), 2)).toBeGreaterThan(budget);
  });

  it('of the largest pictures is all that there is, whatever the film says of its references', () => {
    expect(memoryOf(work(huge, { width: 640, height: 360 }), 1)).toBeGreaterThan(budget);
    expect(memoryOf({ from: undefined, to: hd }, 1)).toBe(Number.POSITIVE_INFINITY);
  });

  it('has as many threads as fit, one at least', () => {
    expect(fittingThreads(work(hd), { threads: 8, memory: budget })).toBe(8);
    expect(fittingThreads(work(uhd), { threads: 8, memory: budget })).toBe(2);
    expect(fittingThreads(work(huge), { threads: 8, memory: budget })).toBe(1);
  });

  it('counts bits, colours and slow presets', () => {
    const spec = (pixelFormat: string) => ({ tracks: [{ type: 'video', ...hd, pixelFormat }] }) as never;
    const bytes = ['yuv420p', 'yuv422p', 'yuv444p', 'yuv420p10le'].map(
      (one) => sizeOf(spec(one))?.pixelBytes,
    );
    expect(bytes).toEqual([1.5, 2, 3, 3]);
    expect(fitInto(uhd, { width: 1920, height: 1920 })).toEqual(hd);
    expect(
      ['veryfast', 'slow', undefined].map((preset) => isSlowPreset({ encoder: 'libx264', preset })),
    ).toEqual([false, true, true]);
    expect(memoryOf({ ...work(hd), isSlow: true }, 1)).toBeGreaterThan(memoryOf(work(hd), 1));
  });
});

describe('a confined process', () => {
  const all = { guard: ['setpriv', '--'], isolation: ['unshare', '--'], shell: '/bin/sh' };

  it('has no network unless it needs one, and what is missing is left out', () => {
    expect(confined(all, { hasNetwork: true }).slice(0, 4)).toEqual(['setpriv', '--', '/bin/sh', '-c']);
    expect(confined(all, { hasNetwork: false })[0]).toBe('unshare');
    const bare = { guard: [], isolation: [], shell: undefined };
    expect(confined(bare, { hasNetwork: false })).toEqual([]);
  });

  it('has limits, which reach the program', async () => {
    const limits = { memory: 300 * mebibyte, cpu: 60 };
    const own = { guard: [], isolation: [], shell: '/bin/sh' };
    const command = [
      ...confined(own, { limits, hasNetwork: true }),
      'sh',
      '-c',
      'ulimit -a; echo "$1"',
      'x',
      'a b',
    ];
    const { stdout } = Bun.spawn([...command], { stdin: 'ignore' });
    const text = await new Response(stdout).text();
    for (const line of [/data.* 307200$/m, /stack.* 2048$/m, /time.* 60$/m, /memory.* 1355776$/m, /^a b$/m])
      expect(text).toMatch(line);
    const free = confined(own, { limits: { hasDevice: true }, hasNetwork: true }).join(' ');
    expect(free).not.toContain('ulimit -v');
  });

  it('that got too little memory is found by its words, even if it ended well', () => {
    const end = (errors: string, code = 0) => ({ code, signal: undefined, errors });
    for (const words of [
      'Error while decoding stream #0:0: Cannot allocate memory',
      'x264 [error]: malloc of size 7332480 failed\nError while opening encoder for output stream',
      '[h264 @ 0x1] get_buffer() failed\n[h264 @ 0x1] decode_slice_header error',
    ])
      expect([causeOf(end(words, 1)), wasShort(end(words))]).toEqual(['memory', true]);
    expect(wasShort(end('[h264 @ 0x1] decode_slice_header error'))).toBe(false);
  });
});
