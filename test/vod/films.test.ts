import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Blobs } from '../../core/ports/blobs.ts';
import { Films } from '../../core/vod/films.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';
import { givenFilm, indexOf } from './film.ts';

const MiB = 1_048_576;
const { signal } = new AbortController();

/** Films over blobs whose reads are counted, and stopped by `hold` until it is opened. */
function given(bytes = 16 * MiB) {
  const blobs = modelBlobs();
  const read: string[] = [];
  const gate = { hold: undefined as Promise<void> | undefined };
  const counted: Pick<Blobs, 'get'> = {
    async get(key, options) {
      read.push(key);
      await gate.hold;
      options?.signal?.throwIfAborted();
      return blobs.get(key, options);
    },
  };
  return { blobs, read, gate, films: new Films({ blobs: counted, bytes }) };
}

describe('an index', () => {
  it('is read once, however many ask at one time, and kept', async () => {
    const { blobs, read, films } = given();
    const film = await givenFilm(blobs, { id: 'a' });
    const all = await Promise.all(Array.from({ length: 200 }, () => films.index(film, { signal })));
    expect(all.every((one) => one?.count === 5)).toBe(true);
    expect(read).toEqual([film.index.key]);
    expect(await films.index(film, { signal })).toBe(all[0]);
    expect(read.length).toBe(1);
  });

  it('goes on being read for the others when one leaves, and ends with the last', async () => {
    const { blobs, read, gate, films } = given();
    const film = await givenFilm(blobs, { id: 'a' });
    const held = Promise.withResolvers<void>();
    gate.hold = held.promise;
    const one = new AbortController();
    const leaving = films.index(film, { signal: one.signal });
    const staying = films.index(film, { signal });
    one.abort();
    await expect(leaving).rejects.toMatchObject({ code: 'server.busy' });
    held.resolve();
    expect((await staying)?.count).toBe(5);
    expect(read.length).toBe(1);
    const { bytes } = films;
    const other = await givenFilm(blobs, { id: 'b' });
    gate.hold = new Promise(() => {});
    const two = new AbortController();
    const alone = films.index(other, { signal: two.signal });
    two.abort();
    await expect(alone).rejects.toMatchObject({ code: 'server.busy' });
    gate.hold = undefined;
    expect((await films.index(other, { signal }))?.count).toBe(5);
    expect(bytes).toBe(film.index.size);
  });

  it('that is not there is undefined and leaves nothing behind; one that failed is read again', async () => {
    const { blobs, films } = given();
    const film = await givenFilm(blobs, { id: 'a' });
    await blobs.delete([film.index.key]);
    expect(await films.index(film, { signal })).toBeUndefined();
    expect(films.bytes).toBe(0);
    await blobs.put(film.index.key, Buffer.alloc(film.index.size, 0xff));
    await expect(films.index(film, { signal })).rejects.toThrow('no index of segments');
    await blobs.put(film.index.key, indexOf(6));
    await expect(films.index(film, { signal })).rejects.toThrow('another size');
    await blobs.put(film.index.key, indexOf(4));
    await expect(films.index(film, { signal })).rejects.toThrow('another size');
    expect(films.bytes).toBe(0);
    await blobs.put(film.index.key, indexOf(5));
    expect((await films.index(film, { signal }))?.count).toBe(5);
  });
});

describe('what is kept', () => {
  it('stays within its bytes: what was used longest ago makes room', async () => {
    const { blobs, read, films } = given(200_000);
    const made = [];
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
      made.push(await givenFilm(blobs, { id, index: indexOf(1000) }));
    for (const film of made) {
      await films.index(film, { signal });
      await films.index(made[0], { signal });
      expect(films.bytes).toBeLessThanOrEqual(200_000);
    }
    expect(read.length).toBe(6);
    await films.index(made[1], { signal });
    expect(read.length).toBe(7);
  });

  it('is refused where there is no room for it, with all else thrown out', async () => {
    const { blobs, films } = given(100_000);
    const small = await givenFilm(blobs, { id: 'a' });
    const large = await givenFilm(blobs, { id: 'b', index: indexOf(2000) });
    await films.index(small, { signal });
    await expect(films.index(large, { signal })).rejects.toMatchObject({ code: 'server.busy', status: 503 });
    expect((await films.index(small, { signal }))?.count).toBe(5);
  });

  it('takes no more than so many films at one time', async () => {
    const { blobs, gate, films } = given();
    const made = [];
    for (let i = 0; i < 20; i += 1) made.push(await givenFilm(blobs, { id: `f${i}` }));
    const held = Promise.withResolvers<void>();
    gate.hold = held.promise;
    const asked = made.map((film) =>
      films.index(film, { signal }).then(
        () => 'ok',
        ({ code }) => code,
      ),
    );
    held.resolve();
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter((outcome) => outcome === 'ok').length).toBe(16);
    expect(outcomes.filter((outcome) => outcome === 'server.busy').length).toBe(4);
  });
});

it('writes a playlist once for all, and compresses it once', async () => {
  const { blobs, read, films } = given();
  const film = await givenFilm(blobs, { id: 'a', index: indexOf(3000) });
  const made = await Promise.all(Array.from({ length: 50 }, () => films.playlist(film, { signal })));
  expect(new Set(made).size).toBe(1);
  const [{ plain, gzip } = { plain: new Uint8Array(), gzip: new Uint8Array() }] = made;
  expect(gunzipSync(gzip).equals(plain)).toBe(true);
  expect(gzip.length * 5).toBeLessThan(plain.length);
  expect(read).toEqual([film.index.key]);
  expect(films.bytes).toBe(film.index.size + plain.length + gzip.length);
});
