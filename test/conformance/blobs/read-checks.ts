import { type BlobRange, blobLimits } from '../../../core/ports/blobs.ts';
import { expect } from '../../kit/checked.ts';
import type { BlobCheck } from './check.ts';
import { bytesOf, hashOf, keysBelow, mebibyte, put, read } from './fixtures.ts';

export const readChecks: readonly BlobCheck[] = [
  {
    name: 'what is not there is absent, for whoever asks',
    async run({ blobs, folder }) {
      const key = `${folder}none.txt`;
      expect(await blobs.head(key)).toBeUndefined();
      expect(await blobs.get(key)).toEqual({ outcome: 'absent' });
      expect(await blobs.get(key, { range: { from: 0 } })).toEqual({ outcome: 'absent' });
      await put(blobs, `${folder}none.txt.txt`, 'x');
      await put(blobs, `${folder}none/a.txt`, 'x');
      expect(await blobs.head(key)).toBeUndefined();
      expect(await blobs.head(`${folder}none/a.txt.txt`)).toBeUndefined();
    },
  },
  {
    name: 'a range is answered to the byte, cut at the end, and beyond it said to be',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      const size = 700_001;
      const bytes = bytesOf(size);
      await put(blobs, key, bytes);
      const cases: [BlobRange, number, number][] = [
        [{ from: 0 }, 0, size],
        [{ from: 0, to: 1 }, 0, 1],
        [{ from: 1, to: 262_145 }, 1, 262_145],
        [{ from: 262_143, to: 262_145 }, 262_143, 262_145],
        [{ from: 500_000 }, 500_000, size],
        [{ from: size - 1 }, size - 1, size],
        [{ from: size - 1, to: size + 100 }, size - 1, size],
        [{ from: 5, to: Number.MAX_SAFE_INTEGER }, 5, size],
        [{ last: 1 }, size - 1, size],
        [{ last: 400_000 }, size - 400_000, size],
        [{ last: size }, 0, size],
        [{ last: size + 5 }, 0, size],
      ];
      for (const [range, from, to] of cases) {
        const got = await blobs.get(key, { range });
        expect([range, got]).toMatchObject([range, { outcome: 'ok', from, to, blob: { size } }]);
        const body = got.outcome === 'ok' ? await new Response(got.body).bytes() : new Uint8Array();
        expect([range, hashOf(body)]).toEqual([range, hashOf(bytes.subarray(from, to))]);
      }
      for (const range of [{ from: size }, { from: size + 1, to: size + 2 }])
        expect(await blobs.get(key, { range })).toEqual({ outcome: 'beyond', size });
      await put(blobs, key, '');
      expect(await read(blobs, key)).toEqual(new Uint8Array());
      for (const range of [{ from: 0 }, { from: 0, to: 1 }, { last: 1 }])
        expect(await blobs.get(key, { range })).toEqual({ outcome: 'beyond', size: 0 });
    },
  },
  {
    name: 'whoever reads while it is replaced or deleted gets what he began with, or a Fault',
    async run({ blobs, folder }) {
      const bytes = bytesOf(24 * mebibyte, 1);
      for (const change of ['replace', 'delete']) {
        const key = `${folder}${change}.bin`;
        await put(blobs, key, bytes);
        const got = await blobs.get(key);
        if (got.outcome !== 'ok') throw new Error(got.outcome);
        const pieces: Uint8Array[] = [];
        let isFault = false;
        try {
          for await (const piece of got.body) {
            if (pieces.length === 0)
              await (change === 'delete' ? blobs.delete([key]) : put(blobs, key, bytesOf(24 * mebibyte, 2)));
            pieces.push(piece.slice());
          }
        } catch (error) {
          expect(error).toMatchObject({ code: 'blobs.unavailable' });
          isFault = true;
        }
        const all = Buffer.concat(pieces);
        expect(isFault || all.length === bytes.length).toBe(true);
        expect(hashOf(all)).toBe(hashOf(bytes.subarray(0, all.length)));
      }
    },
  },
  {
    name: 'an aborted read ends with the reason, and a cancelled one quietly',
    async run({ blobs, folder }) {
      const key = `${folder}a.bin`;
      await put(blobs, key, bytesOf(24 * mebibyte));
      const abort = new AbortController();
      const reason = new Error('not wanted any more');
      const got = await blobs.get(key, { signal: abort.signal });
      if (got.outcome !== 'ok') throw new Error(got.outcome);
      const reader = got.body.getReader();
      expect((await reader.read()).done).toBe(false);
      abort.abort(reason);
      const rest = async () => {
        for (;;) if ((await reader.read()).done) return 'ended';
      };
      await expect(rest()).rejects.toBe(reason);
      await expect(blobs.get(key, { signal: abort.signal })).rejects.toBe(reason);
      const second = await blobs.get(key);
      if (second.outcome !== 'ok') throw new Error(second.outcome);
      const other = second.body.getReader();
      await other.read();
      await other.cancel();
      expect(await read(blobs, key, { range: { from: 0, to: 3 } })).toEqual(
        bytesOf(24 * mebibyte).slice(0, 3),
      );
    },
  },
  {
    name: 'a list is ascending by bytes, of its prefix alone, page by page without gap or repeat',
    async run({ blobs, folder }) {
      const names = [
        'a.txt',
        'a/b.txt',
        'a/b/c.txt',
        'a/b-c.txt',
        'a-b/c.txt',
        'a_b/c.txt',
        'a0/c.txt',
        'ab.txt',
      ];
      names.push('a/b.c.txt', 'b.txt', 'a/b/c/d.txt', 'a9.txt', '0.txt', 'z/a.txt');
      for (const name of names) await put(blobs, `${folder}l/${name}`, name);
      await put(blobs, `${folder}m.txt`, 'x');
      await put(blobs, `${folder}k/z.txt`, 'x');
      const all = names.map((name) => `${folder}l/${name}`).sort();
      for (const prefix of [
        'l/',
        'l/a',
        'l/a/',
        'l/a/b',
        'l/a/b/',
        'l/a-',
        'l/a/b.txt',
        'l/zz',
        'l/a.txt/',
        'n/',
      ]) {
        const expected = all.filter((key) => key.startsWith(`${folder}${prefix}`));
        expect([prefix, await keysBelow(blobs, `${folder}${prefix}`)]).toEqual([prefix, expected]);
        for (const limit of [1, 2, 5, all.length]) {
          const pages: string[] = [];
          let after: string | undefined;
          for (let page = 0; page <= all.length; page++) {
            const found = await blobs.list(`${folder}${prefix}`, { limit, ...(after && { after }) });
            expect(found.blobs.length).toBeLessThanOrEqual(limit);
            pages.push(...found.blobs.map(({ key }) => key));
            after = found.next;
            if (after === undefined) break;
          }
          expect([prefix, limit, pages]).toEqual([prefix, limit, expected]);
        }
      }
      const [first] = (await blobs.list(`${folder}l/`, { limit: 1 })).blobs;
      expect(first).toEqual(await blobs.head(first.key));
      expect((await blobs.list(`${folder}l/`, { limit: 3, after: `${folder}l/a/` })).blobs[0].key).toBe(
        `${folder}l/a/b-c.txt`,
      );
      expect(await keysBelow(blobs, '')).toContainAll(all);
    },
  },
  {
    name: 'what was deleted is gone, one that was not there too, and the others stay',
    async run({ blobs, folder }) {
      const keys = Array.from({ length: 40 }, (_, index) => `${folder}${index % 3}/${index}.txt`);
      await Promise.all(keys.map((key) => put(blobs, key, key)));
      await blobs.delete([...keys.slice(1), `${folder}none.txt`, `${folder}none/a.txt`, keys[1]]);
      await blobs.delete([]);
      expect(await keysBelow(blobs, folder)).toEqual([keys[0]]);
      await put(blobs, keys[1], 'again');
      expect(await keysBelow(blobs, folder)).toEqual([keys[0], keys[1]].sort());
    },
  },
  {
    name: 'puts and deletes in one folder at once disturb nobody',
    async run({ blobs, folder }) {
      const work = Array.from({ length: 8 }, async (_, index) => {
        for (let round = 0; round < 15; round++) {
          const key = `${folder}deep/er/${index}.txt`;
          await put(blobs, key, `${index} ${round}`);
          expect(await read(blobs, key)).toEqual(new Uint8Array(Buffer.from(`${index} ${round}`)));
          if (round < 14) await blobs.delete([key]);
        }
      });
      await Promise.all(work);
      expect((await keysBelow(blobs, folder)).length).toBe(8);
    },
  },
  {
    name: 'a key that is none is refused by name, whatever is done with it',
    async run({ blobs, folder }) {
      const { keyLength, segmentLength } = blobLimits;
      const wrong = [
        '',
        '/',
        'a',
        '.',
        '..',
        'a/',
        '/a.txt',
        'a//b.txt',
        '../a.txt',
        'a/../b.txt',
        './a.txt',
        'a/./b.txt',
      ];
      wrong.push(
        'a/..txt',
        '.a.txt',
        'a/.b.txt',
        'a.txt/',
        'a.txt/b.txt',
        'a.txt.',
        'a .txt',
        'a.txt ',
        'A.txt',
        'ä.txt',
      );
      wrong.push(
        'a\\b.txt',
        'a\0.txt',
        'a\n.txt',
        'a%2e.txt',
        'a*.txt',
        'c:a.txt',
        '-a.txt',
        'a-/b.txt',
        'con.txt',
        'nul/a.txt',
      );
      wrong.push(
        'lpt1.a.txt',
        `${'a'.repeat(segmentLength + 1)}.txt`,
        `${'ab/'.repeat(8)}a.txt`,
        '~/a.txt',
        'a.txt\u0000',
      );
      wrong.push(
        `${'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/'.repeat(6)}a.txt`.slice(-keyLength - 1),
      );
      const before = await keysBelow(blobs, folder);
      for (const key of wrong) {
        const calls = [
          () => blobs.put(key, new Uint8Array(1)),
          () => blobs.adopt(key, '/nowhere'),
          () => blobs.head(key),
          () => blobs.get(key),
          () => blobs.delete([`${folder}a.txt`, key]),
          () => blobs.uploads.begin(key, { partSize: 5 * mebibyte }),
        ];
        for (const call of calls) await expect(call(), key).rejects.toThrow(RangeError);
      }
      for (const prefix of ['../', '..', '/', '//', '/etc/', `${folder}../`, './'])
        expect(await blobs.list(prefix, { limit: 10 }).catch(() => ({ blobs: [] })), prefix).toMatchObject({
          blobs: [],
        });
      expect(await keysBelow(blobs, folder)).toEqual(before);
    },
  },
  {
    name: 'the longest key and every sign that a key may have are kept',
    async run({ blobs, folder }) {
      const { keyLength, segmentLength } = blobLimits;
      const front = `${folder}${'b'.repeat(segmentLength)}/${'c'.repeat(40)}/`;
      const long = `${front}${'d'.repeat(keyLength - front.length - 4)}.txt`;
      const keys = [long, `${folder}a_b-c/0.1_2-3.x_y-z.mp4`, `${folder}0.9`, `${folder}console/conx.txt`];
      expect(long.length).toBe(keyLength);
      for (const key of keys) await put(blobs, key, key);
      expect(await keysBelow(blobs, folder)).toEqual([...keys].sort());
      for (const key of keys) expect(await read(blobs, key)).toEqual(new Uint8Array(Buffer.from(key)));
    },
  },
  {
    name: 'what runs when it is closed is ended, and whoever comes later is told',
    async run({ folder, another }) {
      const blobs = await another();
      const key = `${folder}a.bin`;
      await put(blobs, key, bytesOf(24 * mebibyte));
      const got = await blobs.get(key);
      if (got.outcome !== 'ok') throw new Error(got.outcome);
      const reader = got.body.getReader();
      await reader.read();
      const hangs = Promise.withResolvers<void>();
      const putting = blobs.put(
        `${folder}b.bin`,
        (async function* () {
          yield new Uint8Array(10);
          hangs.resolve();
          await new Promise(() => {});
        })(),
      );
      putting.catch(() => {});
      await hangs.promise;
      await blobs.close();
      const fault = { name: 'Fault', code: 'blobs.closed', status: 503 };
      await expect(putting).rejects.toMatchObject(fault);
      const rest = async () => {
        for (;;) if ((await reader.read()).done) return;
      };
      await expect(rest()).rejects.toMatchObject(fault);
      await expect(blobs.head(key)).rejects.toMatchObject(fault);
      await expect(blobs.put(key, new Uint8Array(1))).rejects.toMatchObject(fault);
      await expect(blobs.list('', { limit: 1 })).rejects.toMatchObject(fault);
      await blobs.close();
    },
  },
];
