import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import type { DiskLook, DiskState } from '../../runtime/base/disk.ts';
import { DiskWatch, diskPlaces } from '../../runtime/boot/disk-watch.ts';
import { Room } from '../../runtime/drivers/intake/room.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const mebibyte = 1_048_576;

/** Disks as a test says, by folder. */
function disks(states: Record<string, Partial<DiskState>>) {
  const look: DiskLook = async (folder) => {
    const state = states[folder];
    if (!state) throw Object.assign(new Error(`ENOENT: ${folder}`), { code: 'ENOENT' });
    return { free: 0, size: 1000, device: 1, ...state };
  };
  return { states, look };
}

const full = { code: 'intake.full', status: 507 };

describe('room for files', () => {
  it('is what is free beyond the reserve', async () => {
    const { look } = disks({ spool: { free: 100 } });
    const room = new Room({ spool: 'spool', reserve: 40, look });
    await expect(room.claim(61)).rejects.toMatchObject(full);
    const claim = await room.claim(60);
    await expect(room.check(1)).rejects.toMatchObject(full);
    await room.check(0);
    claim.release();
    await room.check(60);
  });

  it('is counted together: who asks first has it, however many ask at one time', async () => {
    const { look } = disks({ spool: { free: 100 } });
    const room = new Room({ spool: 'spool', reserve: 0, look });
    const ends = await Promise.allSettled([60, 60, 30, 30, 10].map((bytes) => room.claim(bytes)));
    expect(ends.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true]);
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject(full);
  });

  it('that is written is counted by the disk and no longer as promised', async () => {
    const { look, states } = disks({ spool: { free: 100 } });
    const room = new Room({ spool: 'spool', reserve: 0, look });
    const claim = await room.claim(80);
    states.spool = { free: 30 };
    claim.toWrite = 10;
    await room.check(20);
    await expect(room.check(21)).rejects.toMatchObject(full);
  });

  it('is asked for anew by what is longer than it was said to be, and others keep theirs', async () => {
    const { look } = disks({ spool: { free: 100 } });
    const room = new Room({ spool: 'spool', reserve: 0, look });
    const [one, other] = [await room.claim(40), await room.claim(40)];
    await room.extend(one, { toWrite: 60, size: 60 });
    await expect(room.extend(other, { toWrite: 41, size: 41 })).rejects.toMatchObject(full);
    // What was refused holds nothing any more.
    await room.check(40);
  });

  it('is also needed where files end, when that is a disk of its own, until they are there', async () => {
    const { look, states } = disks({ spool: { free: 100 }, store: { free: 50, device: 2 } });
    const room = new Room({ spool: 'spool', store: 'store', reserve: 0, look });
    await expect(room.claim(51)).rejects.toMatchObject(full);
    const claim = await room.claim(30);
    claim.toWrite = 0;
    await expect(room.check(21)).rejects.toMatchObject(full);
    claim.release();
    await room.check(50);
    states.store = { free: 50, device: 1 };
    await room.check(100);
  });

  it('is not known of a disk that does not answer', async () => {
    const { look } = disks({});
    const room = new Room({ spool: 'spool', reserve: 0, look });
    await expect(room.claim(1)).rejects.toMatchObject({ code: 'intake.unavailable', status: 503 });
  });
});

describe('the watch over disks', () => {
  const places = { films: { folder: '/data/films', reserve: 100 * mebibyte, beyond: 'films are refused' } };

  async function watched(states: Record<string, Partial<DiskState>>) {
    const its = disks(states);
    const clock = virtualClock({ start: 0, idle: async () => {} });
    const lines: string[] = [];
    const log = jsonLog({ level: 'debug', now: () => clock.now(), write: (line) => lines.push(line) });
    const watch = new DiskWatch(places, { clock, log, look: its.look });
    const metrics = new Metrics();
    watch.measure(metrics);
    await watch.start();
    return { ...its, clock, watch, metrics, said: () => lines.map((line) => JSON.parse(line)) };
  }

  it('says once that one is nearly full, and once that it has room again', async () => {
    const w = await watched({ '/data/films': { free: 101 * mebibyte, size: 500 * mebibyte } });
    expect([w.watch.issues, w.said()]).toEqual([[], []]);
    w.states['/data/films'] = { free: 99 * mebibyte };
    await w.clock.advance(30_000);
    expect(w.watch.issues).toEqual(['A disk is nearly full: films are refused. Free some space.']);
    expect(w.said()).toMatchObject([
      { level: 'warn', message: 'a disk is nearly full: films are refused', free: 99 * mebibyte },
    ]);
    // Some more than the reserve, so that it is not said again and again.
    w.states['/data/films'] = { free: 163 * mebibyte };
    await w.clock.advance(30_000);
    expect([w.watch.issues.length, w.said().length]).toEqual([1, 1]);
    w.states['/data/films'] = { free: 165 * mebibyte };
    await w.clock.advance(30_000);
    expect(w.watch.issues).toEqual([]);
    expect(w.said()[1]).toMatchObject({ level: 'info', place: 'films' });
    w.watch.stop();
    expect(w.clock.pending()).toBe(0);
  });

  it('tells in metrics how it is now', async () => {
    const w = await watched({ '/data/films': { free: 7, size: 500 } });
    w.states['/data/films'] = { free: 5, size: 500 };
    const text = await w.metrics.fresh();
    expect(text).toContain('millrace_disk_free_bytes{place="films"} 5\n');
    expect(text).toContain('millrace_disk_size_bytes{place="films"} 500\n');
    expect(text).toContain(`millrace_disk_reserve_bytes{place="films"} ${100 * mebibyte}\n`);
    w.watch.stop();
  });

  it('looks at the folder above one that is not there yet, and says nothing of what nobody knows', async () => {
    const w = await watched({ '/data': { free: 7 } });
    expect(w.watch.issues).toHaveLength(1);
    delete w.states['/data'];
    expect(await w.metrics.fresh()).not.toContain('millrace_disk_free_bytes{');
    w.watch.stop();
  });
});

it('uploads leave twice what recordings do, unless the config says otherwise', () => {
  const of = (uploads: { reserve?: number }, blobs: 'fs' | 's3' = 'fs') =>
    diskPlaces({ dataDir: '/data', recording: { reserve: 512 }, uploads, drivers: { blobs } });
  expect(of({}).recordings).toMatchObject({ folder: '/data/recordings', reserve: 512 * mebibyte });
  expect(of({}).uploads).toMatchObject({ folder: '/data/uploads', reserve: 1024 * mebibyte });
  expect(of({ reserve: 1 }).blobs).toMatchObject({ folder: '/data/blobs', reserve: mebibyte });
  expect(of({}, 's3')).not.toHaveProperty('blobs');
});
