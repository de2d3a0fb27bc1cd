import { describe, expect, it } from 'vitest';
import { given, keyFrame } from './given.ts';

/** What the last picture was made of. */
async function lastOf(w: Awaited<ReturnType<typeof given>>['w']) {
  const order = w.stills.orders.at(-1);
  const media = await order?.open(new AbortController().signal);
  return { order, media };
}

describe('thumbnails in other formats', () => {
  it.each([
    ['jpg', 'jpeg'],
    ['png', 'png'],
    ['webp', 'webp'],
  ])('thumbnail.%s of films and broadcasts is image/%s', async (ending, format) => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    w.media.keyFrames.set(stream.playbackId, keyFrame('7'));
    for (const path of [`${base}/thumbnail.${ending}`, `/hls/${stream.playbackId}/thumbnail.${ending}`]) {
      const { status, headers } = await ask(path);
      expect([status, headers.get('content-type')]).toEqual([200, `image/${format}`]);
      expect((await lastOf(w)).media).toMatchObject({ format, width: 640, height: 640 });
    }
  });

  it('fit into the size that was asked for, and each size and format is a picture of its own', async () => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const boxOf = async (file: string) => {
      expect((await ask(`${base}/${file}`)).status).toBe(200);
      const { order, media } = await lastOf(w);
      return [media?.width, media?.height, order?.isOneOfMany];
    };
    expect(await boxOf('thumbnail.webp')).toEqual([640, 640, false]);
    expect(await boxOf('thumbnail.webp?width=320')).toEqual([320, 1920, true]);
    expect(await boxOf('thumbnail.webp?height=180')).toEqual([1920, 180, true]);
    expect(await boxOf('thumbnail.webp?width=1920&height=1080')).toEqual([1920, 1080, true]);
    expect(await boxOf('thumbnail.jpg?width=320')).toEqual([320, 1920, true]);
    expect(await boxOf('thumbnail.jpg')).toEqual([640, 640, false]);
    expect(new Set(w.stills.orders.map(({ key }) => key)).size).toBe(6);
    // Only what one process may make together.
    expect(w.stills.orders.filter(({ segment }) => segment !== undefined)).toHaveLength(1);
  });

  it('of a size that cannot be are refused', async () => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const wrong = ['width=15', 'width=1921', 'width=0', 'width=-1', 'height=1e3', 'height=', 'width=320.5'];
    for (const query of wrong) {
      const { status, code } = await ask(`${base}/thumbnail.png?${query}`);
      expect([query, status, code]).toEqual([query, 422, 'query.invalid']);
    }
    expect(w.stills.orders).toEqual([]);
  });
});

describe('animations of films', () => {
  it('show 5 s from the beginning, or what was asked for, of the segments that are shown then', async () => {
    const { w, ask, asset } = await given({ segments: 10 });
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const motionOf = async (file: string) => {
      const { status, headers } = await ask(`${base}/${file}`);
      const { media } = await lastOf(w);
      const begins = media?.pictures.map((picture) => picture.begins);
      return [status, headers.get('content-type'), media?.width, media?.motion, begins];
    };
    expect(await motionOf('animated.gif')).toEqual([
      ...[200, 'image/gif', 320, { from: 0, to: 5, fps: 15 }, [0, 2, 4]],
    ]);
    expect(await motionOf('animated.webp?start=3&end=4.5&width=640&height=200&fps=10')).toEqual([
      ...[200, 'image/webp', 640, { from: 1, to: 2.5, fps: 10 }, [0, 2]],
    ]);
    // It ends with the film.
    expect(await motionOf('animated.gif?start=19')).toEqual([
      ...[200, 'image/gif', 320, { from: 1, to: 6, fps: 15 }, [0]],
    ]);
    expect(await ask(`${base}/animated.gif?start=20`)).toMatchObject({ status: 404, code: 'still.none' });
  });

  it('are made of a bounded number of segments', async () => {
    const { w, ask, asset } = await given({ segments: 200, duration: 0.05 });
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    await ask(`${base}/animated.webp?end=10`);
    expect((await lastOf(w)).media?.pictures).toHaveLength(64);
  });

  it('of what cannot be are refused', async () => {
    const { w, ask, asset } = await given();
    await using _ = w;
    const { base, ready } = await asset();
    await ready();
    const wrong = [
      ...['start=x', 'start=-1', 'end=10.001', 'start=5&end=5.2', 'start=5&end=4', 'start=0&end=1e9'],
      ...['fps=0', 'fps=31', 'fps=x', 'width=641', 'width=8', 'height=2000'],
    ];
    for (const query of wrong) {
      const { status, code } = await ask(`${base}/animated.gif?${query}`);
      expect([query, status, code]).toEqual([query, 422, 'query.invalid']);
    }
    expect(w.stills.orders).toEqual([]);
  });
});
