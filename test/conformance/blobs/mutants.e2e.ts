import { mkdtempSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import type { BlobCheck } from './check.ts';
import { testFolder } from './fixtures.ts';
import { modelBlobs } from './model.ts';
import { blobChecks, partChecks } from './suite.ts';

const withUploads = (blobs: Blobs, change: Partial<Blobs['uploads']>): Blobs => ({
  ...blobs,
  uploads: { ...blobs.uploads, ...change },
});

/** Drivers with one fault each: the suite is worth something only if the check that is about it fails. */
const mutants: Record<string, { breaks: string; mutate: (blobs: Blobs) => Blobs }> = {
  'ignores ifAbsent': {
    breaks: 'a put if absent is put once, and the loser changes nothing',
    mutate: (blobs) => ({
      ...blobs,
      put: (key, source, { ifAbsent, ...options } = {}) => blobs.put(key, source, options),
    }),
  },
  'looks whether it is absent, then puts': {
    breaks: 'of twenty conditional puts at once exactly one succeeds, and it is what is there',
    mutate: (blobs) => ({
      ...blobs,
      async put(key, source, { ifAbsent, ...options } = {}) {
        if (ifAbsent && (await blobs.head(key))) return { outcome: 'conflict' };
        return blobs.put(key, source, options);
      },
    }),
  },
  'takes the size for the etag': {
    breaks: 'a put replaces the blob, and its etag becomes another',
    mutate: (blobs) => ({
      ...blobs,
      async put(key, source, options) {
        const outcome = await blobs.put(key, source, options);
        return outcome.outcome === 'ok' ? { ...outcome, etag: `${outcome.size}` } : outcome;
      },
    }),
  },
  'reads one byte too many': {
    breaks: 'a range is answered to the byte, cut at the end, and beyond it said to be',
    mutate: (blobs) => ({
      ...blobs,
      get: (key, { range, ...options } = {}) =>
        blobs.get(key, {
          ...options,
          ...(range && { range: range.last !== undefined ? { last: range.last + 1 } : range }),
        }),
    }),
  },
  'answers all of it where a range lies beyond the end': {
    breaks: 'a range is answered to the byte, cut at the end, and beyond it said to be',
    mutate: (blobs) => ({
      ...blobs,
      async get(key, options) {
        const got = await blobs.get(key, options);
        return got.outcome === 'beyond' ? blobs.get(key) : got;
      },
    }),
  },
  'keeps what a broken source gave': {
    breaks: 'what a source throws is thrown as it is, and nothing of it stays',
    mutate: (blobs) => ({
      ...blobs,
      async put(key, source, options) {
        if (source instanceof Uint8Array) return blobs.put(key, source, options);
        const pieces: Uint8Array[] = [];
        try {
          for await (const piece of source) pieces.push(piece.slice());
        } catch (error) {
          await blobs.put(key, Buffer.concat(pieces));
          throw error;
        }
        return blobs.put(key, Buffer.concat(pieces), options);
      },
    }),
  },
  'does not copy what a source gives': {
    breaks: 'sources of every kind and length are put whole',
    mutate: (blobs) => ({
      ...blobs,
      async put(key, source, options) {
        if (source instanceof Uint8Array) return blobs.put(key, source, options);
        return blobs.put(key, Buffer.concat(await Array.fromAsync(source)), options);
      },
    }),
  },
  'lists in the order of deletion': {
    breaks: 'a list is ascending by bytes, of its prefix alone, page by page without gap or repeat',
    mutate: (blobs) => ({
      ...blobs,
      async list(prefix, options) {
        const page = await blobs.list(prefix, options);
        return { ...page, blobs: page.blobs.toReversed() };
      },
    }),
  },
  'forgets that there is another page': {
    breaks: 'a list is ascending by bytes, of its prefix alone, page by page without gap or repeat',
    mutate: (blobs) => ({
      ...blobs,
      list: async (prefix, options) => ({ blobs: (await blobs.list(prefix, options)).blobs }),
    }),
  },
  'deletes the first key alone': {
    breaks: 'what was deleted is gone, one that was not there too, and the others stay',
    mutate: (blobs) => ({ ...blobs, delete: (keys) => blobs.delete(keys.slice(0, 1)) }),
  },
  'copies what it should adopt': {
    breaks: 'a file is adopted: it is gone, and its bytes are the blob; a refused one stays',
    mutate: (blobs) => ({
      ...blobs,
      async adopt(key, file, options) {
        await copyFile(file, `${file}.copy`);
        return blobs.adopt(key, `${file}.copy`, options);
      },
    }),
  },
  'shows an upload before it is complete': {
    breaks: 'parts in any order and side by side become one blob, which nobody sees before',
    mutate: (blobs) =>
      withUploads(blobs, {
        async part(upload, part) {
          await blobs.put(upload.key, part.bytes);
          return blobs.uploads.part(upload, part);
        },
      }),
  },
  'keeps the first of two parts': {
    breaks: 'a part that is given again replaces the former one, and those behind the size are dropped',
    mutate: (blobs) =>
      withUploads(blobs, {
        async part(upload, part) {
          const parts = await blobs.uploads.parts(upload);
          if (parts !== 'gone' && parts.some(({ number }) => number === part.number)) return 'ok';
          return blobs.uploads.part(upload, part);
        },
      }),
  },
  'forgets a completed upload': {
    breaks: 'a completion that is repeated is answered as before, until the blob is another one',
    mutate(blobs) {
      const done = new Set<string>();
      return withUploads(blobs, {
        async complete(upload, options) {
          if (done.has(upload.id)) return { outcome: 'gone' };
          const outcome = await blobs.uploads.complete(upload, options);
          if (outcome.outcome === 'ok') done.add(upload.id);
          return outcome;
        },
      });
    },
  },
  'completes without its condition': {
    breaks: 'a condition holds for a completion, and after a conflict the upload is still there',
    mutate: (blobs) =>
      withUploads(blobs, { complete: (upload, { size }) => blobs.uploads.complete(upload, { size }) }),
  },
  'finds no unfinished uploads': {
    breaks: 'uploads that nobody finished are found and can be swept',
    mutate: (blobs) => withUploads(blobs, { unfinished: async () => [] }),
  },
  'takes any key': {
    breaks: 'a key that is none is refused by name, whatever is done with it',
    mutate: (blobs) => ({ ...blobs, head: async (key) => blobs.head(key).catch(() => undefined) }),
  },
};

describe('the suite bites', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mutants-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const outcomeOf = async (check: BlobCheck, mutate: (blobs: Blobs) => Blobs) => {
    const model = modelBlobs();
    const driverOf = () => (partChecks.includes(check) ? model : fsBlobs({ folder }));
    const driver = driverOf();
    const opened: Blobs[] = [driver];
    const another = async () => {
      const other = driverOf();
      opened.push(other);
      return mutate(other);
    };
    const run = check.run({ blobs: mutate(driver), folder: testFolder(), another });
    const outcome = await run.then(
      () => 'passed',
      () => 'failed',
    );
    for (const one of opened) await one.close();
    return outcome;
  };

  test.each(Object.entries(mutants))('a driver that %s', async (_, { breaks, mutate }) => {
    const check = [...blobChecks, ...partChecks].find(({ name }) => name === breaks);
    if (!check) throw new Error(`no check is called ${breaks}`);
    expect(await outcomeOf(check, mutate)).toBe('failed');
    expect(await outcomeOf(check, (blobs) => blobs)).toBe('passed');
  });
});
