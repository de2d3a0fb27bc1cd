import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as path } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import type { FilmPlayback, Inspector } from '../../core/ports/inspector.ts';
import { inspector, maxRunning, maxSilence, maxWaiting } from '../../runtime/media/mp4/inspect/inspector.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { film, ftyp, join, mdat, mvhd, trak } from './build.ts';

const good = film(mvhd(), trak());
const { signal } = new AbortController();
const folder = mkdtempSync(path(tmpdir(), 'millrace-inspector-'));
const clock = virtualClock({ start: 0 });
let running: Inspector | undefined;

afterEach(() => running?.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const begin = (options: Partial<Parameters<typeof inspector>[0]> = {}): Inspector => {
  running = inspector({ clock, ...options });
  return running;
};
const pieces = (bytes: Uint8Array) => ({
  size: bytes.length,
  read: async (from: number, to: number) => bytes.slice(from, to),
});

it('inspects a file of this machine, and one that is read piece by piece', async () => {
  const inspections = begin();
  const file = path(folder, 'good.mp4');
  writeFileSync(file, good);
  const said = await inspections.inspect({ path: file }, { signal });
  expect(said).toMatchObject({ ok: true, spec: { format: 'mp4', tracks: [{ codec: 'h264' }] } });
  expect(await inspections.inspect(pieces(good), { signal })).toEqual(said);
  const bad = await inspections.inspect(pieces(join(ftyp, mdat)), { signal });
  expect(bad).toEqual({ ok: false, reason: expect.stringContaining('no moov box') });
});

it('says what the disk says, and throws what a read threw', async () => {
  const inspections = begin();
  const nowhere = inspections.inspect({ path: path(folder, 'nowhere.mp4') }, { signal });
  await expect(nowhere).rejects.toThrow(/cannot be inspected: .*ENOENT/);
  const lost = new Error('the store is gone');
  const broken = inspections.inspect({ size: 100, read: () => Promise.reject(lost) }, { signal });
  await expect(broken).rejects.toBe(lost);
  expect(await inspections.inspect(pieces(good), { signal })).toMatchObject({ ok: true });
});

/** Takes all places but one, for good. */
const occupy = (inspections: Inspector) => {
  const never = { size: 100, read: () => new Promise<Uint8Array>(() => {}) };
  for (let taken = 1; taken < maxRunning; taken += 1)
    void inspections.inspect(never, { signal }).catch(() => {});
};

it('inspects so many at once; further ones wait', async () => {
  const inspections = begin();
  const both = Promise.withResolvers<void>();
  let reading = 0;
  let most = 0;
  const slow = {
    size: good.length,
    async read(from: number, to: number) {
      reading += 1;
      most = Math.max(most, reading);
      if (reading === maxRunning) both.resolve();
      await both.promise;
      await new Promise((resolve) => setImmediate(resolve));
      reading -= 1;
      return good.slice(from, to);
    },
  };
  const all = Array.from({ length: 5 }, () => inspections.inspect(slow, { signal }));
  expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true);
  expect(most).toBe(maxRunning);
});

it('refuses an inspection when too many wait', async () => {
  const inspections = begin();
  const never = { size: 100, read: () => new Promise<Uint8Array>(() => {}) };
  const all = Array.from({ length: maxRunning + maxWaiting }, () => inspections.inspect(never, { signal }));
  const lost = Promise.allSettled(all);
  await expect(inspections.inspect(never, { signal })).rejects.toMatchObject({
    code: 'inspection.unavailable',
  });
  await inspections.close();
  expect((await lost).every(({ status }) => status === 'rejected')).toBe(true);
});

it('hands over what playback needs, and counts as running until that is kept', async () => {
  const inspections = begin();
  occupy(inspections);
  const kept = Promise.withResolvers<void>();
  const given = Promise.withResolvers<FilmPlayback>();
  const stop = new AbortController();
  const first = inspections.inspect(pieces(good), {
    signal: stop.signal,
    keep(playback) {
      given.resolve(playback);
      return kept.promise;
    },
  });
  const { hls, head } = await given.promise;
  expect([hls?.index.length, hls?.heads.length, head?.from]).toEqual([
    ...[expect.any(Number), 1],
    ftyp.length,
  ]);
  let isSecondBegun = false;
  const second = inspections.inspect(
    {
      size: good.length,
      async read(from, to) {
        isSecondBegun = true;
        return good.slice(from, to);
      },
    },
    { signal },
  );
  // The signal does not end what is being stored.
  stop.abort(new Error('the upload was cancelled'));
  await clock.advance(120_000);
  expect(isSecondBegun).toBe(false);
  kept.resolve();
  expect(await first).toMatchObject({ ok: true, spec: { format: 'mp4' } });
  expect(await second).toMatchObject({ ok: true });
});

it('throws what keeping it threw, and goes on', async () => {
  const inspections = begin();
  occupy(inspections);
  const full = new Error('the store is full');
  const keep = () => Promise.reject(full);
  await expect(inspections.inspect(pieces(good), { signal, keep })).rejects.toBe(full);
  const bad = await inspections.inspect(pieces(join(ftyp, mdat)), { signal, keep });
  expect(bad).toEqual({ ok: false, reason: expect.stringContaining('no moov box') });
  expect(await inspections.inspect(pieces(good), { signal })).toMatchObject({ ok: true });
});

it('gives up what nobody waits for, and goes on with the next', async () => {
  const inspections = begin();
  occupy(inspections);
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const never = inspections.inspect(
    {
      size: 100,
      read() {
        asked.resolve();
        return new Promise(() => {});
      },
    },
    { signal: stop.signal },
  );
  const next = inspections.inspect(pieces(good), { signal });
  await asked.promise;
  const reason = new Error('the upload was cancelled');
  stop.abort(reason);
  await expect(never).rejects.toBe(reason);
  expect(await next).toMatchObject({ ok: true });
  await expect(inspections.inspect(pieces(good), { signal: stop.signal })).rejects.toBe(reason);
});

it('ends a thread that says nothing for too long; others go on', async () => {
  const inspections = begin({ worker: new URL('./stuck-child.ts', import.meta.url) });
  const stuck = inspections.inspect(pieces(new Uint8Array(1)), { signal });
  const next = inspections.inspect(pieces(new Uint8Array(2)), { signal });
  const ended = expect(stuck).rejects.toMatchObject({
    code: 'inspection.unavailable',
    message: expect.stringContaining('its thread was silent for 60000 ms'),
  });
  await expect(next).resolves.toMatchObject({ ok: false });
  await clock.advance(maxSilence);
  await ended;
});

it('does not blame the thread for what the store takes long to read', async () => {
  const inspections = begin();
  const bytes = Promise.withResolvers<Uint8Array>();
  const asked = Promise.withResolvers<void>();
  const slow = inspections.inspect(
    {
      size: good.length,
      read() {
        asked.resolve();
        return bytes.promise;
      },
    },
    { signal },
  );
  await asked.promise;
  await clock.advance(10 * maxSilence);
  bytes.resolve(good);
  expect(await slow).toMatchObject({ ok: true });
});

it('says so when its thread cannot run', async () => {
  const inspections = begin({ worker: new URL('./no-such-file.ts', import.meta.url) });
  await expect(inspections.inspect(pieces(good), { signal })).rejects.toMatchObject({
    code: 'inspection.unavailable',
  });
});

it('ends what runs when it is closed', async () => {
  const inspections = begin();
  const never = inspections.inspect({ size: 100, read: () => new Promise(() => {}) }, { signal });
  const lost = expect(never).rejects.toMatchObject({ code: 'inspection.unavailable' });
  await inspections.close();
  await lost;
  await expect(inspections.inspect(pieces(good), { signal })).rejects.toMatchObject({
    code: 'inspection.unavailable',
  });
});
