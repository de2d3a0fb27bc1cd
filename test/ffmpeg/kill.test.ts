import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { killOrphans } from '../../runtime/media/ffmpeg/runner.ts';
import { fakeFfmpeg } from './fake.ts';

const clock = systemClock();
const bun = Bun.which('bun') ?? process.execPath;

/** A server of its own with three processes. Without `setpriv` on its PATH the kernel does not end them with it. */
async function server(path: string, search: string) {
  const child = Bun.spawn([bun, `${import.meta.dirname}/parent-child.ts`, path, '3', search], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const reader = child.stdout.getReader();
  let text = '';
  while (!text.includes('\n')) text += Buffer.from((await reader.read()).value ?? []).toString();
  const pids = JSON.parse(text) as number[];
  expect(pids).toHaveLength(3);
  return {
    pids,
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** Running, and no mere entry of a process that nobody has asked after. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await new Promise<void>((resolve) => void clock.at(clock.now() + 20, resolve));
}

const onLinux = describe.skipIf(process.platform !== 'linux');

onLinux('after kill -9 of the server', () => {
  it.skipIf(Bun.which('setpriv') === null)(
    'the kernel ends its processes, whatever they are at',
    async () => {
      await using fake = await fakeFfmpeg("trap '' TERM HUP PIPE; while :; do sleep 1; done");
      const { pids, kill } = await server(fake.path, process.env.PATH ?? '');
      process.kill(pids[0], 'SIGSTOP');
      expect(pids.every(isRunning)).toBe(true);
      await kill();
      await gone(pids);
    },
  );

  it('without that, those end that read their input', async () => {
    await using fake = await fakeFfmpeg('exec /bin/cat >/dev/null');
    const { pids, kill } = await server(fake.path, '/nowhere');
    await kill();
    await gone(pids);
  });

  it('and the next server ends all others: those of dead servers, and nobody else’s', async () => {
    await using fake = await fakeFfmpeg('exec /bin/sleep 600');
    const dead = await server(fake.path, '/nowhere');
    const alive = await server(fake.path, '/nowhere');
    const stranger = Bun.spawn(['/bin/sleep', '600']);
    try {
      await dead.kill();
      expect(dead.pids.every(isRunning)).toBe(true);
      expect(await killOrphans()).toBeGreaterThanOrEqual(3);
      await gone(dead.pids);
      expect([...alive.pids, stranger.pid].every(isRunning)).toBe(true);
    } finally {
      await alive.kill();
      await killOrphans();
      stranger.kill();
    }
    await gone(alive.pids);
  });
});
