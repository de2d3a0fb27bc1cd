import { describe, expect, it } from 'vitest';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import {
  errorTailBytes,
  type FfmpegHandlers,
  type FfmpegProcess,
  startProcess,
} from '../../runtime/media/ffmpeg/process.ts';
import { hastenedClock } from '../kit/hastened-clock.ts';

const clock = systemClock();
const lasting = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));

function start(
  script: string,
  options: {
    handlers?: FfmpegHandlers;
    /** How much faster its clock is. */
    times?: number;
    secrets?: string[];
    niceness?: number;
  } = {},
): FfmpegProcess {
  const { times = 1, handlers = {}, secrets = [], ...rest } = options;
  return startProcess({
    ...{ ...rest, handlers, secrets, env: { PATH: process.env.PATH ?? '' } },
    clock: hastenedClock(times),
    command: ['sh', '-c', script],
  });
}

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('its input', () => {
  it('takes what the process reads, in order, however often the buffer that it came in is used again', async () => {
    let wake = () => {};
    const sums: string[] = [];
    const child = start('sleep 0.3; md5sum', {
      handlers: { onDrain: () => wake(), onOutput: (bytes) => void sums.push(Buffer.from(bytes).toString()) },
    });
    const sent = new Bun.CryptoHasher('md5');
    const buffer = new Uint8Array(100_000);
    let waits = 0;
    for (let turn = 0; turn < 50; turn += 1) {
      buffer.fill(turn);
      sent.update(buffer);
      for (let at = 0; at < buffer.length; ) {
        const drained = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const taken = child.write(buffer.subarray(at));
        at += taken;
        if (at === buffer.length) break;
        // What it was handed is its own: here it is spoiled, as the caller's next message would.
        const rest = buffer.slice(at);
        buffer.fill(255);
        waits += 1;
        await drained;
        buffer.set(rest, at);
      }
    }
    expect(waits).toBeGreaterThan(0);
    child.end();
    expect((await child.ended).code).toBe(0);
    expect(sums.join('')).toContain(sent.digest('hex'));
  });

  it('takes a bounded number of bytes of a process that reads nothing', async () => {
    const child = start('sleep 60');
    const buffer = new Uint8Array(1_000_000);
    let taken = 0;
    for (let turn = 0; turn < 50; turn += 1) {
      taken += child.write(buffer);
      await lasting(1);
    }
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(1_500_000);
    child.kill();
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(child.write(buffer)).toBe(0);
  });

  it('breaks without a word when the process closes it', async () => {
    const child = start('exec 0<&-; sleep 0.2; exit 3');
    for (let turn = 0; turn < 10; turn += 1) {
      child.write(new Uint8Array(300_000));
      await lasting(10);
    }
    expect(await child.ended).toMatchObject({ code: 3 });
  });
});

describe('its end', () => {
  it('comes by the end of its input', async () => {
    const child = start('cat >/dev/null; exit 0');
    child.end();
    expect(await child.ended).toMatchObject({ code: 0 });
  });

  it('comes by SIGTERM when it does not heed that, and by SIGKILL when it heeds nothing', async () => {
    const times = 50;
    const deaf = start('sleep 60', { times });
    deaf.end();
    expect((await deaf.ended).signal).toBe('SIGTERM');
    const stubborn = start("trap '' TERM; echo up; while :; do sleep 1; done", {
      times,
      handlers: { onOutput: () => stubborn.end() },
    });
    expect((await stubborn.ended).signal).toBe('SIGKILL');
  });

  it('comes when it is killed, of one that hangs too', async () => {
    const child = start('sleep 60');
    process.kill(child.pid, 'SIGSTOP');
    child.kill();
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(isThere(child.pid)).toBe(false);
  });

  it('is not held up by a child of its own', async () => {
    const pids: number[] = [];
    const child = start('sleep 60 & echo $!; exit 0', {
      times: 20,
      handlers: { onOutput: (bytes) => void pids.push(Number(Buffer.from(bytes).toString())) },
    });
    expect((await child.ended).code).toBe(0);
    process.kill(pids[0]);
  });
});

describe('what it says', () => {
  it('is kept at its end alone, however much it is, and read at a bounded rate', async () => {
    const child = start(
      'yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 3000000 >&2; echo last >&2',
      {
        times: 20,
      },
    );
    const { errors } = await child.ended;
    expect(errors.length).toBeLessThanOrEqual(errorTailBytes);
    expect(errors.endsWith('last\n')).toBe(true);
    const flood = start('exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2');
    const before = process.cpuUsage();
    await lasting(1000);
    const { user, system } = process.cpuUsage(before);
    // Read as fast as it comes, it takes the thread as a whole.
    expect((user + system) / 1000).toBeLessThan(500);
    flood.kill();
    await flood.ended;
  });

  it('holds no secret, no URL and no address', async () => {
    const child = start(
      "echo 'opening srt://10.1.2.3:9000?streamid=abc with wonder bar at 10.1.2.3:9000, [2001:db8::1]:9000' >&2",
      { secrets: ['wonder bar'] },
    );
    const { errors } = await child.ended;
    expect(errors).toBe('opening srt://*** with *** at ***, ***\n');
  });

  it('is nothing when it is one line that was cut: half a secret would not be known', async () => {
    const child = start("head -c 40000 /dev/zero | tr '\\0' x >&2");
    expect((await child.ended).errors).toBe('');
  });
});

it('hands its output on as fast as that is taken', async () => {
  let taken = 0;
  let most = 0;
  const child = start('head -c 2000000 /dev/zero', {
    handlers: {
      async onOutput(bytes) {
        most = Math.max(most, bytes.length);
        // Longer than last words may take: what is being used is waited for.
        if (taken === 0) await lasting(1500);
        await lasting(1);
        taken += bytes.length;
      },
    },
    times: 3,
  });
  expect((await child.ended).code).toBe(0);
  expect(taken).toBe(2_000_000);
  expect(most).toBeLessThan(1_000_000);
});

it('is less urgent than the server when that was asked', async () => {
  const out: string[] = [];
  const child = start('sleep 0.2; ps -o ni= -p $$', {
    niceness: 7,
    handlers: { onOutput: (bytes) => void out.push(Buffer.from(bytes).toString()) },
  });
  await child.ended;
  expect(out.join('').trim()).toBe('7');
});

it('throws what the system says when it cannot be started', () => {
  expect(() =>
    startProcess({
      clock,
      command: ['/nowhere/ffmpeg'],
      env: {},
      secrets: [],
      handlers: {},
    }),
  ).toThrow();
});
