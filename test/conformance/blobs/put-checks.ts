import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '../../kit/checked.ts';
import type { BlobCheck } from './check.ts';
import { bytesOf, hashOf, inPieces, keysBelow, mebibyte, put, read, unfinishedBelow } from './fixtures.ts';

export const putChecks: readonly BlobCheck[] = [
  {
    name: 'what was put is there, with its size, type and time, and the same for everybody',
    async run({ blobs, folder, another }) {
      const key = `${folder}a/source.mp4`;
      const bytes = bytesOf(100_001);
      const before = Date.now();
      const outcome = await blobs.put(key, bytes);
      expect(outcome).toMatchObject({ outcome: 'ok', size: 100_001 });
      expect((outcome as { etag: string }).etag).toMatch(/^[!#-~]+$/);
      expect(Object.keys(outcome).sort()).toEqual(['etag', 'outcome', 'size']);
      const other = await another();
      for (const one of [blobs, other]) {
        const facts = await one.head(key);
        expect(facts).toEqual({
          ...outcome,
          outcome: undefined,
          key,
          type: 'video/mp4',
          modified: facts?.modified,
        });
        expect(facts?.modified).toBeGreaterThan(before - 2000);
        expect(facts?.modified).toBeLessThan(Date.now() + 2000);
        const got = await one.get(key);
        expect(got).toMatchObject({ outcome: 'ok', blob: facts, from: 0, to: 100_001 });
        expect(await read(one, key)).toEqual(bytes);
      }
      await other.close();
    },
  },
  {
    name: 'the type follows from the ending, and what a browser would run is none',
    async run({ blobs, folder }) {
      const types = {
        'a.json': 'application/json',
        'a.jpg': 'image/jpeg',
        'a.html': 'application/octet-stream',
      };
      for (const [name, type] of Object.entries(types)) {
        await put(blobs, `${folder}${name}`, '{}');
        expect((await blobs.head(`${folder}${name}`))?.type).toBe(type);
      }
    },
  },
  {
    name: 'sources of every kind and length are put whole',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      for (const length of [0, 1, 99_999, 300_000, 5 * mebibyte + 7, 10 * mebibyte]) {
        const bytes = bytesOf(length, length);
        for (const kind of ['bytes', 'pieces', 'stream', 'known'] as const) {
          const source =
            kind === 'bytes'
              ? bytes
              : kind === 'stream'
                ? (new Blob([bytes as never]).stream() as unknown as AsyncIterable<Uint8Array>)
                : inPieces(bytes);
          const outcome = await blobs.put(key, source, kind === 'known' ? { size: length } : {});
          expect(outcome).toMatchObject({ outcome: 'ok', size: length });
          const got = await read(blobs, key);
          expect([kind, length, hashOf(got as Uint8Array)]).toEqual([kind, length, hashOf(bytes)]);
          expect((await blobs.head(key))?.size).toBe(length);
        }
      }
    },
  },
  {
    name: 'a put replaces the blob, and its etag becomes another',
    async run({ blobs, folder }) {
      const key = `${folder}a.txt`;
      const etags = new Set<string>();
      for (let round = 0; round < 20; round++) {
        etags.add(await put(blobs, key, `${round % 10}${round > 9 ? 'x' : 'y'}`));
        expect((await blobs.head(key))?.etag).toBe([...etags].at(-1));
      }
      expect(etags.size).toBe(20);
      expect(await keysBelow(blobs, folder)).toEqual([key]);
    },
  },
  {
    name: 'a source of another length than said is refused, stopped, and changes nothing',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      const etag = await put(blobs, key, 'before');
      for (const size of [9 * mebibyte, 1_000_000, 1_999_999, 2_000_001, 0]) {
        let isStopped = false;
        const source = async function* () {
          try {
            yield* inPieces(bytesOf(2_000_000));
          } finally {
            isStopped = true;
          }
        };
        const fault = { name: 'Fault', code: 'blobs.wrong_length', retry: false };
        await expect(blobs.put(key, source(), { size })).rejects.toMatchObject(fault);
        expect(isStopped).toBe(true);
        await expect(blobs.put(key, new Uint8Array(3), { size })).rejects.toMatchObject(fault);
      }
      expect((await blobs.head(key))?.etag).toBe(etag);
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
    },
  },
  {
    name: 'what a source throws is thrown as it is, and nothing of it stays',
    async run({ blobs, folder }) {
      const mistake = new Error('the source is broken');
      for (const length of [0, 1000, 10 * mebibyte]) {
        const source = async function* () {
          yield* inPieces(bytesOf(length));
          throw mistake;
        };
        await expect(blobs.put(`${folder}a.bin`, source())).rejects.toBe(mistake);
      }
      expect(await keysBelow(blobs, folder)).toEqual([]);
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
    },
  },
  {
    name: 'an aborted put ends at once, even when its source hangs, and nothing of it stays',
    async run({ blobs, folder }) {
      for (const length of [0, 1000, 10 * mebibyte]) {
        const abort = new AbortController();
        const reason = new Error('not wanted any more');
        const hangs = Promise.withResolvers<void>();
        const source = async function* () {
          yield* inPieces(bytesOf(length));
          hangs.resolve();
          await new Promise(() => {});
        };
        const outcome = blobs.put(`${folder}a.bin`, source(), { signal: abort.signal });
        outcome.catch(() => {});
        await hangs.promise;
        abort.abort(reason);
        await expect(outcome).rejects.toBe(reason);
        await expect(blobs.put(`${folder}a.bin`, new Uint8Array(1), { signal: abort.signal })).rejects.toBe(
          reason,
        );
      }
      expect(await keysBelow(blobs, folder)).toEqual([]);
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
    },
  },
  {
    name: 'a put if absent is put once, and the loser changes nothing',
    async run({ blobs, folder }) {
      for (const length of [10, 10 * mebibyte]) {
        const key = `${folder}a${length}.bin`;
        const first = bytesOf(length, 1);
        const won = await blobs.put(key, inPieces(first), { ifAbsent: true });
        expect(won.outcome).toBe('ok');
        const lost = await blobs.put(key, inPieces(bytesOf(length, 2)), { ifAbsent: true });
        expect(lost).toEqual({ outcome: 'conflict' });
        expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(first));
        await blobs.delete([key]);
        expect(await blobs.put(key, first, { ifAbsent: true })).toMatchObject({ outcome: 'ok' });
      }
      expect(await unfinishedBelow(blobs, folder)).toEqual([]);
    },
  },
  {
    name: 'of twenty conditional puts at once exactly one succeeds, and it is what is there',
    async run({ blobs, folder, another }) {
      const others = [blobs, await another()];
      for (let round = 0; round < 5; round++) {
        const key = `${folder}${round}/race.txt`;
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            others[index % 2].put(key, Buffer.from(`${index} of ${round}`), { ifAbsent: true }),
          ),
        );
        const winners = outcomes.flatMap(({ outcome }, index) => (outcome === 'ok' ? [index] : []));
        expect([round, winners.length]).toEqual([round, 1]);
        const text = Buffer.from((await read(blobs, key)) as Uint8Array).toString();
        expect(text).toBe(`${winners[0]} of ${round}`);
      }
      await others[1].close();
    },
  },
  {
    name: 'a file is adopted: it is gone, and its bytes are the blob; a refused one stays',
    async run({ blobs, folder }) {
      const place = mkdtempSync(join(tmpdir(), 'millrace-adopt-'));
      try {
        for (const length of [0, 1000, 10 * mebibyte]) {
          const file = join(place, 'spool');
          const key = `${folder}${length}.mp4`;
          writeFileSync(file, bytesOf(length));
          const fault = { code: 'blobs.wrong_length' };
          await expect(blobs.adopt(key, file, { size: length + 1 })).rejects.toMatchObject(fault);
          const outcome = await blobs.adopt(key, file, { ifAbsent: true });
          expect(outcome).toMatchObject({ outcome: 'ok', size: length });
          expect((await blobs.head(key))?.etag).toBe((outcome as { etag: string }).etag);
          expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(bytesOf(length)));
          await expect(stat(file)).rejects.toThrow('ENOENT');
          writeFileSync(file, 'another');
          expect(await blobs.adopt(key, file, { ifAbsent: true })).toEqual({ outcome: 'conflict' });
          expect((await stat(file)).size).toBe(7);
        }
      } finally {
        rmSync(place, { recursive: true });
      }
    },
  },
];
