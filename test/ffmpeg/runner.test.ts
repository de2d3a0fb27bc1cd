import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { hiddenFile } from '../../runtime/media/ffmpeg/hidden-file.ts';
import type { FfmpegProcess } from '../../runtime/media/ffmpeg/process.ts';
import {
  ffmpegRunner,
  type RunnerOptions,
  startPause,
  unsureFor,
} from '../../runtime/media/ffmpeg/runner.ts';
import { hastenedClock } from '../kit/hastened-clock.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { anyCommand, fakeFfmpeg, heeds } from './fake.ts';

const clock = systemClock();

function runnerWith(options: Partial<RunnerOptions>) {
  const lines: string[] = [];
  const log = jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) });
  return { runner: ffmpegRunner({ clock, log, ...options }), lines };
}

const started = (outcome: { ok: boolean }): FfmpegProcess => {
  expect(outcome).toMatchObject({ ok: true });
  return outcome as FfmpegProcess;
};

it('learns what its ffmpeg is and can, once', async () => {
  await using fake = await fakeFfmpeg('exit 0');
  const { runner, lines } = runnerWith({ path: fake.path });
  const [about] = await Promise.all([runner.about(), runner.about()]);
  expect(about).toMatchObject({ path: fake.path, version: '7.1.1-fake', libavformat: 61 * 65_536 + 7 });
  expect([...(about?.protocols ?? [])]).toEqual(['pipe', 'srt']);
  await runner.about();
  expect(lines.filter((line) => line.includes('ffmpeg is used'))).toHaveLength(1);
  runner.close();
});

it('says once that there is none, and finds one that comes later', async () => {
  await using fake = await fakeFfmpeg('exit 0');
  const path = `${fake.folder}/later`;
  const time = virtualClock({ start: 0 });
  const { runner, lines } = runnerWith({ clock: time, path, sweepDelay: 1e9 });
  expect(await runner.about()).toBeUndefined();
  expect(await runner.start({ command: anyCommand, handlers: {} })).toEqual({ ok: false, reason: 'missing' });
  await time.advance(61_000);
  expect(await runner.about()).toBeUndefined();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('there is no ffmpeg');
  await rename(fake.path, path);
  expect(await runner.about()).toBeUndefined();
  await time.advance(61_000);
  expect(await runner.about()).toMatchObject({ path });
  runner.close();
});

it('notices that it was removed, and that it is back', async () => {
  await using fake = await fakeFfmpeg('exit 0');
  const time = virtualClock({ start: 0 });
  const { runner } = runnerWith({ clock: time, path: fake.path, sweepDelay: 1e9 });
  expect(await runner.about()).toMatchObject({ path: fake.path });
  await rename(fake.path, `${fake.path}.away`);
  expect(await runner.about()).toBeUndefined();
  expect(await runner.start({ command: anyCommand, handlers: {} })).toEqual({ ok: false, reason: 'missing' });
  await rename(`${fake.path}.away`, fake.path);
  await time.advance(61_000);
  expect(await runner.about()).toMatchObject({ path: fake.path });
  runner.close();
});

it('takes one that does not answer as missing', async () => {
  await using fake = await fakeFfmpeg('exit 0');
  await Bun.write(fake.path, '#!/bin/sh\nexec sleep 60\n');
  const { runner } = runnerWith({ clock: hastenedClock(50), sweepDelay: 1e9, path: fake.path });
  expect(await runner.about()).toBeUndefined();
  await Bun.write(fake.path, '#!/bin/sh\nexec yes ffmpeg version 7\n');
  const other = runnerWith({ path: fake.path }).runner;
  expect(await other.about()).toBeUndefined();
});

it('runs as many as it may at one time, and no more', async () => {
  await using fake = await fakeFfmpeg('exec cat');
  const { runner } = runnerWith({ path: fake.path, processes: 3 });
  const order = { command: anyCommand, handlers: {} };
  const outcomes = await Promise.all([1, 2, 3, 4, 5].map(() => runner.start(order)));
  expect(outcomes.map((one) => (one.ok ? 'runs' : one.reason))).toEqual([
    'runs',
    'runs',
    'runs',
    'full',
    'full',
  ]);
  const first = started(outcomes[0]);
  first.end();
  await first.ended;
  started(await runner.start(order));
  expect(runner.running).toBe(3);
  runner.close();
  for (const one of outcomes) if (one.ok) await one.ended;
  expect(await runner.start(order)).toEqual({ ok: false, reason: 'closed' });
});

it('starts one after the other with a pause between, and none that nobody wants any more', async () => {
  await using fake = await fakeFfmpeg('exec cat');
  const time = virtualClock({ start: 1_000_000 });
  const { runner } = runnerWith({ clock: time, path: fake.path, sweepDelay: 1e9 });
  await runner.about();
  const asked: number[] = [];
  const isWanted = () => asked.push(time.now()) === 0;
  const outcomes = [1, 2, 3, 4].map(() => runner.start({ command: anyCommand, handlers: {}, isWanted }));
  while (asked.length < 4) {
    await new Promise((resolve) => setImmediate(resolve));
    await time.advance(10);
  }
  for (const one of await Promise.all(outcomes)) expect(one).toEqual({ ok: false, reason: 'unwanted' });
  for (const n of [1, 2, 3]) expect(asked[n] - asked[n - 1]).toBeGreaterThanOrEqual(startPause);
  expect(runner.running).toBe(0);
  // What waits when the server stops does not wait on.
  const late = [1, 2].map(() => runner.start({ command: anyCommand, handlers: {} }));
  runner.close();
  for (const one of await Promise.all(late)) expect(one).toEqual({ ok: false, reason: 'closed' });
});

it('leaves none behind after 50 starts and stops', async () => {
  await using fake = await fakeFfmpeg('exec cat >/dev/null');
  const { runner } = runnerWith({ path: fake.path });
  const pids: number[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    const one = started(await runner.start({ command: anyCommand, handlers: {} }));
    pids.push(one.pid);
    if (turn % 2 === 0) one.end();
    else one.kill();
    await one.ended;
  }
  expect(runner.running).toBe(0);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
  runner.close();
});

it('hides what is hidden from the command line and from the disk, and hands little of its own on', async () => {
  await using fake = await fakeFfmpeg(
    'tr "\\0" " " </proc/$$/cmdline; echo; cat /proc/self/fd/3; env; ls -l /proc/self/fd/3; echo "passphrase is wonderland-9" >&2; exit 1',
  );
  const { runner, lines } = runnerWith({
    path: fake.path,
    env: { PATH: process.env.PATH, FFREPORT: 'file=/tmp/x', http_proxy: 'http://x', MILLRACE_KEY: 'mine' },
  });
  let out = '';
  const one = started(
    await runner.start({
      command: {
        ...anyCommand,
        output: { ...anyCommand.output, hidden: { passphrase: 'wonderland-9', mode: 'caller' } },
      },
      handlers: {
        onOutput(bytes) {
          out += Buffer.from(bytes).toString();
        },
      },
    }),
  );
  const { errors } = await one.ended;
  const [arguments_, ...rest] = out.split('\n');
  expect(arguments_).toContain('-fpre /proc/self/fd/3');
  expect(arguments_).not.toContain('wonderland');
  expect(rest).toContain('passphrase=wonderland-9');
  expect(rest).toContain('mode=caller');
  expect(out).not.toMatch(/FFREPORT|http_proxy|MILLRACE_KEY/);
  const [, folder] = /-> (\S+)\/options \(deleted\)/.exec(out) ?? [];
  expect(folder).toContain('millrace-ffmpeg-');
  expect(existsSync(folder)).toBe(false);
  expect(errors).toBe('passphrase is ***\n');
  expect(lines.join()).not.toContain('wonderland');
  runner.close();
});

it('says once that an ffmpeg shows what should be hidden, and hides it at least from what is logged', async () => {
  await using fake = await fakeFfmpeg('echo "$*" >&2; exit 1', { hides: false });
  const { runner, lines } = runnerWith({ path: fake.path });
  const output = { ...anyCommand.output, hidden: { passphrase: 'wonder land-9' } };
  for (let turn = 0; turn < 2; turn += 1) {
    const one = started(await runner.start({ command: { ...anyCommand, output }, handlers: {} }));
    expect((await one.ended).errors).toContain('-passphrase ***');
  }
  expect(lines.filter((line) => line.includes('process list'))).toHaveLength(1);
  expect(lines.join()).not.toContain('wonder');
  runner.close();
});

describe('an ffmpeg that could not be asked whether it hides', () => {
  const output = { ...anyCommand.output, hidden: { passphrase: 'wonderland-9' } };
  const hidden = { command: { ...anyCommand, output }, handlers: {} };

  it.each([
    ['hangs', 'exec sleep 60'],
    ['is killed', 'kill -9 $$'],
    ['gets no memory', "echo 'Cannot allocate memory' >&2; exit 1"],
    ['gets no file', "echo '/proc/self/fd/3: Too many open files' >&2; exit 1"],
    ['is not found by what guards it', 'exit 127'],
    ['says nothing', 'exit 1'],
  ])('because it %s gets no secret, and is asked again', async (_, once) => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-asked-'));
    const isFirst = `if mkdir ${folder}/asked 2>/dev/null; then ${once}; fi`;
    await using fake = await fakeFfmpeg('cat /proc/self/fd/3; echo "$*" >&2; exit 1', {
      hides: `${isFirst}; ${heeds}`,
    });
    const time = hastenedClock(once.includes('sleep') ? 20 : 1);
    const { runner, lines } = runnerWith({ clock: time, sweepDelay: 1e9, path: fake.path });
    expect(await runner.start(hidden)).toEqual({ ok: false, reason: 'unsure' });
    // Not at once, for each of those who want it.
    expect(await runner.start(hidden)).toEqual({ ok: false, reason: 'unsure' });
    expect(lines.filter((line) => line.includes('could not be found out'))).toHaveLength(1);
    expect(lines.join()).not.toMatch(/process list|wonderland/);
    // What has no secret needs no answer.
    await started(await runner.start({ command: anyCommand, handlers: {} })).ended;
    time.skip(unsureFor);
    const one = started(await runner.start(hidden));
    expect((await one.ended).errors).toContain('-fpre /proc/self/fd/3');
    expect(lines.join()).not.toMatch(/process list|wonderland/);
    runner.close();
    await rm(folder, { recursive: true });
  });

  it('because there is no place for a file gets no secret, and is asked again', async () => {
    await using fake = await fakeFfmpeg('echo "$*" >&2; exit 1');
    let isFull = true;
    const hide: typeof hiddenFile = (text) =>
      isFull ? Promise.reject(Object.assign(new Error('no place'), { code: 'ENOSPC' })) : hiddenFile(text);
    const time = hastenedClock(1);
    const { runner, lines } = runnerWith({ clock: time, path: fake.path, hide });
    expect(await runner.start(hidden)).toEqual({ ok: false, reason: 'unsure' });
    isFull = false;
    time.skip(unsureFor);
    const one = started(await runner.start(hidden));
    expect((await one.ended).errors).toContain('-fpre /proc/self/fd/3');
    expect(lines.join()).not.toContain('process list');
    runner.close();
  });
});
