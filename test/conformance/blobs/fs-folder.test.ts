import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { killWhileWriting } from './crash.ts';
import { bytesOf, mebibyte, put, testFolder } from './fixtures.ts';

/** What is true of a directory beside the promises of the port. */
describe('blobs in a folder', () => {
  const place = mkdtempSync(join(tmpdir(), 'millrace-folder-'));
  const opened: Blobs[] = [];
  let folder = '';
  const open = async (at = folder): Promise<Blobs> => {
    const blobs = fsBlobs({ folder: at });
    opened.push(blobs);
    await blobs.open();
    return blobs;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(place, 'blobs-'));
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
    rmSync(place, { recursive: true });
  });

  test('a blob is a file of its name, and nothing else lies about', async () => {
    const blobs = await open();
    await put(blobs, 'recordings/a/source.mp4', 'bytes');
    expect(readFileSync(join(folder, 'recordings/a/source.mp4'), 'utf8')).toBe('bytes');
    expect(readdirSync(folder).sort()).toEqual(['.scratch', 'recordings']);
    expect(readdirSync(join(folder, '.scratch'))).toEqual([]);
    await blobs.delete(['recordings/a/source.mp4']);
    expect(readdirSync(folder).sort()).toEqual(['.scratch']);
  });

  test('a delete that died before its folders were gone is finished by who repeats it', async () => {
    const blobs = await open();
    await put(blobs, 'kept/a/a.txt', 'bytes');
    mkdirSync(join(folder, 'left/a'), { recursive: true });
    await blobs.delete(['left/a/a.txt', 'kept/a/b.txt', 'none/a.txt']);
    expect(readdirSync(folder).sort()).toEqual(['.scratch', 'kept']);
  });

  test('a link in the way is followed by nobody', async () => {
    const blobs = await open();
    const outside = mkdtempSync(join(place, 'outside-'));
    writeFileSync(join(outside, 'secret.txt'), 'secret');
    symlinkSync(outside, join(folder, 'linked'));
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(outside, 'secret.txt'), join(folder, 'real/secret.txt'));
    for (const key of ['linked/secret.txt', 'linked/new.txt', 'linked/deeper/new.txt']) {
      const fault = { code: 'blobs.unavailable', message: expect.stringContaining('leads out of') };
      await expect(blobs.get(key)).rejects.toMatchObject(fault);
      await expect(blobs.head(key)).rejects.toMatchObject(fault);
      await expect(blobs.put(key, new Uint8Array(1))).rejects.toMatchObject(fault);
      await expect(blobs.put(key, new Uint8Array(1), { ifAbsent: true })).rejects.toMatchObject(fault);
      await expect(blobs.delete([key])).rejects.toMatchObject(fault);
    }
    await expect(blobs.get('real/secret.txt')).rejects.toMatchObject({ code: 'blobs.unavailable' });
    expect((await blobs.list('', { limit: 10 })).blobs).toEqual([]);
    await expect(blobs.list('linked/', { limit: 10 })).rejects.toMatchObject({ code: 'blobs.unavailable' });
    // A put replaces the link itself.
    await put(blobs, 'real/secret.txt', 'mine');
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    const link = join(place, 'file-link');
    symlinkSync(join(outside, 'secret.txt'), link);
    await expect(blobs.adopt('a.txt', link)).rejects.toThrow('not a file');
    expect(readdirSync(join(folder, '.scratch'))).toEqual([]);
  });

  test('the folder itself may be a link', async () => {
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    const blobs = await open(link);
    await put(blobs, 'a/b.txt', 'x');
    expect(existsSync(join(folder, 'a/b.txt'))).toBe(true);
  });

  test('files of others are not listed, and are in nobody’s way', async () => {
    const blobs = await open();
    mkdirSync(join(folder, 'Other.Folder'));
    mkdirSync(join(folder, 'lost+found'));
    for (const name of [
      '.DS_Store',
      'Thumbs.db',
      'UPPER.txt',
      'lost+found/a.txt',
      'Other.Folder/a.txt',
      'no-ending',
    ])
      writeFileSync(join(folder, name), 'x');
    await put(blobs, 'a.txt', 'x');
    expect((await blobs.list('', { limit: 10 })).blobs.map(({ key }) => key)).toEqual(['a.txt']);
  });

  test('a version is told from the next by its etag, also where the disk uses an inode again', async () => {
    const blobs = await open();
    const etags = new Set<string>();
    for (let round = 0; round < 300; round++) {
      etags.add(await put(blobs, 'a.txt', 'same'));
      if (round % 2 === 0) await blobs.delete(['a.txt']);
    }
    expect(etags.size).toBe(300);
  });

  test('what dead processes left is swept at the start, and nothing of those alive', async () => {
    const blobs = await open();
    const hangs = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const source = async function* () {
      yield bytesOf(1000);
      hangs.resolve();
      await end.promise;
    };
    const putting = blobs.put('a.txt', source());
    await hangs.promise;
    const [own] = readdirSync(join(folder, '.scratch'));
    const [machine, , start] = own.split('.')[0].split('-');
    const dead = [`${machine}-${process.pid}-${Number(start) + 1}.a`, `${machine}-4194000-1.b`, 'nobody.c'];
    const others = ['0123456789abcdef-1-1.new', '0123456789abcdef-1-1.old'];
    for (const name of [...dead, ...others]) writeFileSync(join(folder, '.scratch', name), 'x');
    for (const name of ['0123456789abcdef-1-1.old', 'nobody.c'])
      utimesSync(join(folder, '.scratch', name), new Date(), new Date(Date.now() - 2 * 3_600_000));
    await open();
    expect(readdirSync(join(folder, '.scratch')).sort()).toEqual(['0123456789abcdef-1-1.new', own].sort());
    end.resolve();
    expect(await putting).toMatchObject({ outcome: 'ok', size: 1000 });
  });

  test('whatever ends a put, no file of it is left', async () => {
    const blobs = await open();
    const etag = await put(blobs, 'a.txt', 'there');
    const broken = async function* () {
      yield bytesOf(1000);
      throw new Error('broken');
    };
    await expect(blobs.put('a.txt', broken())).rejects.toThrow('broken');
    await expect(blobs.put('a.txt', new Uint8Array(3), { size: 4 })).rejects.toThrow('bytes');
    await expect(blobs.put('a.txt', new Uint8Array(3), { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(await blobs.put('a.txt', new Uint8Array(3), { ifAbsent: true })).toEqual({ outcome: 'conflict' });
    mkdirSync(join(folder, 'b.txt'));
    await expect(blobs.put('b.txt', new Uint8Array(3))).rejects.toMatchObject({ code: 'blobs.unavailable' });
    expect(await blobs.put('c.txt', new Uint8Array(3), { ifAbsent: true })).toMatchObject({ outcome: 'ok' });
    expect((await blobs.head('a.txt'))?.etag).toBe(etag);
    expect(readdirSync(join(folder, '.scratch'))).toEqual([]);
  });

  test('a folder that cannot be used is named at the start', async () => {
    writeFileSync(join(folder, 'file'), 'x');
    const fault = { code: 'blobs.folder', message: expect.stringContaining(folder) };
    await expect(open(join(folder, 'file'))).rejects.toMatchObject(fault);
    await expect(open(join(folder, 'file/below'))).rejects.toMatchObject(fault);
    await expect(open('/proc/millrace-blobs')).rejects.toMatchObject({ code: 'blobs.folder' });
  });

  test('a file that was cut short by somebody is a Fault, never a short body', async () => {
    const blobs = await open();
    await put(blobs, 'a.bin', bytesOf(mebibyte));
    const got = await blobs.get('a.bin');
    if (got.outcome !== 'ok') throw new Error(got.outcome);
    const reader = got.body.getReader();
    await reader.read();
    writeFileSync(join(folder, 'a.bin'), bytesOf(300_000));
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return;
    };
    await expect(rest()).rejects.toMatchObject({
      code: 'blobs.unavailable',
      message: expect.stringContaining('ends at'),
    });
  });

  test('files are closed, whatever becomes of a read', { timeout: 20_000 }, async () => {
    const blobs = await open();
    await put(blobs, 'a.bin', bytesOf(mebibyte));
    const count = () => readdirSync('/proc/self/fd').length;
    const before = count();
    for (let round = 0; round < 20; round++) {
      const abort = new AbortController();
      const all = await Promise.all(
        [0, 1, 2].map(() => blobs.get('a.bin', round % 2 ? {} : { signal: abort.signal })),
      );
      for (const [index, got] of all.entries()) {
        if (got.outcome !== 'ok') throw new Error(got.outcome);
        if (index === 0) await new Response(got.body).bytes();
        else if (round % 2) await got.body.cancel();
      }
      abort.abort();
      await blobs.get('a.bin', { range: { from: 2 * mebibyte } });
    }
    await blobs.head('a.bin');
    await put(blobs, 'b.bin', 'x');
    expect(count()).toBeLessThanOrEqual(before + 2);
  });

  test('a kill loses nothing that was acknowledged and shows nothing half', {
    timeout: 120_000,
  }, async () => {
    for (let round = 0; round < 6; round++) {
      const after = 30 + Math.random() * 400;
      await killWhileWriting(open, { folder: testFolder(), options: { folder }, after });
      expect(readdirSync(join(folder, '.scratch'))).toEqual([]);
    }
  });
});
