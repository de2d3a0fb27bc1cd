import { describe, expect, it } from 'vitest';
import { filmSound } from '../../core/vod/film-sound.ts';
import { worldBlobs } from '../kit/world-blobs.ts';
import { readSamples } from '../mp4/cut.ts';
import { recordClip } from './recorded.ts';

const { signal } = new AbortController();
const most = 10_000_000;

async function recorded() {
  const blobs = worldBlobs();
  const film = await recordClip(blobs, {
    folder: 'assets/a',
    stretches: [
      { from: 0, to: 4 },
      { from: 6, to: 10 },
    ],
  });
  return { ...film, blobs };
}

/** The film as one file: its index in front. */
function whole({ head, video, file }: Awaited<ReturnType<typeof recorded>>): Uint8Array {
  return Buffer.concat([head, video.subarray(file.head?.from, file.head?.to)]);
}

describe('the sound of a film', () => {
  it('has every sample of the sound with its time, and nothing else', async () => {
    const film = await recorded();
    const sound = await filmSound(film.file, { blobs: film.blobs, most, signal });
    const { soun, vide } = await readSamples(whole(film));
    expect(vide).toHaveLength(film.pictures);
    expect(soun).toHaveLength(film.sounds);
    expect(await readSamples(sound as Uint8Array)).toEqual({ soun });
    const bytes = soun?.reduce((sum, sample) => sum + sample.bytes.length / 2, 0) ?? 0;
    expect(sound?.length).toBeLessThan(film.video.length / 4);
    expect(sound?.length).toBeGreaterThan(bytes);
  });

  it('is the same from blobs that come in small pieces', async () => {
    const film = await recorded();
    const expected = await filmSound(film.file, { blobs: film.blobs, most, signal });
    const get: typeof film.blobs.get = async (key, options) => {
      const got = await film.blobs.get(key, options);
      if (got.outcome !== 'ok') return got;
      const bytes = await new Response(got.body as never).bytes();
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += 333) yield bytes.slice(at, at + 333);
      };
      return { ...got, body: new Response(pieces() as never).body as never };
    };
    expect(await filmSound(film.file, { blobs: { get }, most, signal })).toEqual(expected);
  });

  it('is refused when it is too large, and where there is no index', async () => {
    const { file, blobs, video } = await recorded();
    await expect(filmSound(file, { blobs, most: 10_000, signal })).rejects.toThrow(/expected at most 10000/);
    await expect(filmSound({ video: file.video }, { blobs, most, signal })).rejects.toThrow(
      'no index in front',
    );
    await blobs.put(file.video.key, video.subarray(0, video.length / 2));
    await expect(filmSound(file, { blobs, most, signal })).rejects.toThrow('the film ends before its sound');
    await blobs.delete([file.video.key]);
    await expect(filmSound(file, { blobs, most, signal })).rejects.toThrow('is not there');
  });

  it('is none in a film of pictures', async () => {
    const { file, head, blobs } = await recorded();
    const mute = Buffer.from(head);
    mute.write('vide', mute.indexOf('soun'), 'latin1');
    await blobs.put(file.head?.key ?? '', mute);
    expect(await filmSound(file, { blobs, most, signal })).toBeUndefined();
  });
});
