import { type Blobs, type BlobUpload, blobLimits } from '../../../core/ports/blobs.ts';
import { expect } from '../../kit/checked.ts';
import type { BlobCheck } from './check.ts';
import { bytesOf, hashOf, mebibyte, put, read, unfinishedBelow } from './fixtures.ts';

const partSize = 5 * mebibyte;
const size = 2 * partSize + 1000;
const bytes = bytesOf(size, 7);
const partOf = (number: number) => ({
  number,
  bytes: bytes.subarray((number - 1) * partSize, number * partSize),
});

async function uploadAll(blobs: Blobs, key: string): Promise<BlobUpload> {
  const upload = await blobs.uploads.begin(key, { partSize });
  for (const number of [3, 1, 2]) expect(await blobs.uploads.part(upload, partOf(number))).toBe('ok');
  return upload;
}

export const uploadChecks: readonly BlobCheck[] = [
  {
    name: 'parts in any order and side by side become one blob, which nobody sees before',
    async run({ blobs, folder }) {
      const key = `${folder}a.mp4`;
      const upload = await blobs.uploads.begin(key, { partSize });
      expect(upload).toEqual({ key, id: upload.id, partSize });
      expect(typeof upload.id).toBe('string');
      expect(JSON.parse(JSON.stringify(upload))).toEqual(upload);
      expect(
        await Promise.all([3, 1, 2].map((number) => blobs.uploads.part(upload, partOf(number)))),
      ).toEqual(['ok', 'ok', 'ok']);
      expect(await blobs.head(key)).toBeUndefined();
      expect((await blobs.list(folder, { limit: 10 })).blobs).toEqual([]);
      expect(await blobs.uploads.parts(upload)).toEqual([
        { number: 1, size: partSize },
        { number: 2, size: partSize },
        { number: 3, size: 1000 },
      ]);
      const done = await blobs.uploads.complete(upload, { size });
      expect(done).toMatchObject({ outcome: 'ok', size });
      expect(await blobs.head(key)).toMatchObject({
        size,
        etag: (done as { etag: string }).etag,
        type: 'video/mp4',
      });
      expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(bytes));
    },
  },
  {
    name: 'a part that is given again replaces the former one, and those behind the size are dropped',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      const upload = await blobs.uploads.begin(key, { partSize });
      await blobs.uploads.part(upload, { number: 1, bytes: bytesOf(partSize, 1) });
      await blobs.uploads.part(upload, { number: 2, bytes: bytesOf(2000, 2) });
      await blobs.uploads.part(upload, { number: 3, bytes: bytesOf(3000, 3) });
      await blobs.uploads.part(upload, { number: 2, bytes: bytesOf(1000, 4) });
      expect(await blobs.uploads.parts(upload)).toMatchObject([
        { size: partSize },
        { size: 1000 },
        { size: 3000 },
      ]);
      const done = await blobs.uploads.complete(upload, { size: partSize + 1000 });
      expect(done).toMatchObject({ outcome: 'ok', size: partSize + 1000 });
      const all = Buffer.concat([bytesOf(partSize, 1), bytesOf(1000, 4)]);
      expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(all));
    },
  },
  {
    name: 'what is missing is named, nothing is made of it, and it goes on from there',
    async run({ blobs, folder, another }) {
      const key = `${folder}a.bin`;
      const upload = await blobs.uploads.begin(key, { partSize });
      const missing = (numbers: number[]) => ({ outcome: 'incomplete', missing: numbers });
      expect(await blobs.uploads.parts(upload)).toEqual([]);
      expect(await blobs.uploads.complete(upload, { size })).toEqual(missing([1, 2, 3]));
      await blobs.uploads.part(upload, partOf(2));
      await blobs.uploads.part(upload, { number: 3, bytes: bytes.subarray(0, 999) });
      expect(await blobs.uploads.complete(upload, { size })).toEqual(missing([1, 3]));
      const other = await another();
      await other.uploads.part(JSON.parse(JSON.stringify(upload)), partOf(1));
      await other.uploads.part(upload, partOf(3));
      expect(await other.uploads.parts(upload)).toHaveLength(3);
      expect(await blobs.uploads.complete(upload, { size: size + 1 })).toEqual(missing([3]));
      const most = await blobs.uploads.complete(upload, { size: 5000 * partSize });
      expect((most as { missing: readonly number[] }).missing).toHaveLength(blobLimits.missingShown);
      expect(await blobs.head(key)).toBeUndefined();
      expect(await other.uploads.complete(upload, { size })).toMatchObject({ outcome: 'ok', size });
      expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(bytes));
      await other.close();
    },
  },
  {
    name: 'a completion that is repeated is answered as before, until the blob is another one',
    async run({ blobs, folder, another }) {
      const key = `${folder}a.bin`;
      const upload = await uploadAll(blobs, key);
      const done = await blobs.uploads.complete(upload, { size, ifAbsent: true });
      expect(done).toMatchObject({ outcome: 'ok', size });
      expect(await blobs.uploads.complete(upload, { size, ifAbsent: true })).toEqual(done);
      const other = await another();
      expect(await other.uploads.complete(upload, { size, ifAbsent: true })).toEqual(done);
      await other.close();
      expect(await blobs.uploads.parts(upload)).toBe('gone');
      expect(await blobs.uploads.part(upload, partOf(1))).toBe('gone');
      await blobs.uploads.abort(upload);
      expect((await blobs.head(key))?.size).toBe(size);
      await put(blobs, key, 'another');
      expect(await blobs.uploads.complete(upload, { size })).toEqual({ outcome: 'gone' });
      expect(Buffer.from((await read(blobs, key)) as Uint8Array).toString()).toBe('another');
    },
  },
  {
    name: 'an aborted upload is gone, as often as it is aborted',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      const upload = await uploadAll(blobs, key);
      await blobs.uploads.abort(upload);
      await blobs.uploads.abort(upload);
      expect(await blobs.uploads.part(upload, partOf(1))).toBe('gone');
      expect(await blobs.uploads.parts(upload)).toBe('gone');
      expect(await blobs.uploads.complete(upload, { size })).toEqual({ outcome: 'gone' });
      expect(await blobs.head(key)).toBeUndefined();
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
    },
  },
  {
    name: 'a condition holds for a completion, and after a conflict the upload is still there',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      await put(blobs, key, 'first');
      const upload = await uploadAll(blobs, key);
      const conflict = { outcome: 'conflict' };
      expect(await blobs.uploads.complete(upload, { size, ifAbsent: true })).toEqual(conflict);
      expect(Buffer.from((await read(blobs, key)) as Uint8Array).toString()).toBe('first');
      expect(await blobs.uploads.parts(upload)).toHaveLength(3);
      expect(await blobs.uploads.complete(upload, { size })).toMatchObject({ outcome: 'ok' });
      const second = await uploadAll(blobs, `${folder}b.bin`);
      expect(await blobs.uploads.complete(second, { size, ifAbsent: true })).toMatchObject({ outcome: 'ok' });
      expect(hashOf((await read(blobs, `${folder}b.bin`)) as Uint8Array)).toBe(hashOf(bytes));
    },
  },
  {
    name: 'uploads that nobody finished are found and can be swept',
    async run({ blobs, folder, another }) {
      const before = Date.now() - 60_000;
      const keys = ['a.bin', 'b/c.bin', 'b/d.bin', 'a.bin'].map((name) => `${folder}${name}`);
      for (const key of keys) await blobs.uploads.begin(key, { partSize });
      const done = await uploadAll(blobs, `${folder}e.bin`);
      await blobs.uploads.complete(done, { size });
      const found = await unfinishedBelow(blobs, folder);
      expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort());
      expect(new Set(found.map(({ id }) => id)).size).toBe(4);
      for (const { begun } of found) expect(Math.abs(begun - Date.now())).toBeLessThan(60_000);
      expect(await blobs.uploads.unfinished({ before: Date.now() + 60_000, limit: 2 })).toHaveLength(2);
      const old = await blobs.uploads.unfinished({ before, limit: 1000 });
      expect(old.filter(({ key }) => key.startsWith(folder))).toEqual([]);
      const other = await another();
      for (const one of await unfinishedBelow(other, folder)) await other.uploads.abort(one);
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
      expect((await blobs.head(`${folder}e.bin`))?.size).toBe(size);
      await other.close();
    },
  },
  {
    name: 'a size beyond the bounds is refused',
    async run({ blobs, folder }) {
      const { parts } = blobLimits;
      const upload = await blobs.uploads.begin(`${folder}a.bin`, { partSize });
      for (const wrong of [0, -1, Number.NaN, parts * partSize + 1])
        await expect(blobs.uploads.complete(upload, { size: wrong })).rejects.toThrow('size');
      expect(await blobs.uploads.part(upload, { number: parts, bytes: new Uint8Array(1) })).toBe('ok');
      const reason = new Error('not wanted');
      const signal = AbortSignal.abort(reason);
      const aborted = blobs.uploads.part(upload, { number: 1, bytes: new Uint8Array(1), signal });
      await expect(aborted).rejects.toBe(reason);
      await blobs.uploads.abort(upload);
    },
  },
];
