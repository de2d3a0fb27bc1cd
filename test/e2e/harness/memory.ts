import { readFileSync, writeFileSync } from 'node:fs';
import { until } from './wait.ts';

/**
 * What memory tests start the server with: a SIGUSR2 collects garbage. Unlike `npm start` it gives freed pages back, so
 * that what is measured is what is held now and not the most that was ever needed.
 */
export const memoryEnv = { MILLRACE_TEST: '1' };

/** Bytes the process has in memory right after a forced collection. */
export async function residentAfterCollection(server: { readonly pid: number }): Promise<number> {
  process.kill(server.pid, 'SIGUSR2');
  // The signal is taken in a turn of the server's loop: its next answer comes after that.
  await Bun.sleep(100);
  return resident(server.pid);
}

/** Waits until no more than `bytes` are in memory after a collection; what is on its way out needs a moment. */
export async function expectResident(
  server: { readonly pid: number },
  options: { atMost: number; what: string; within?: number },
): Promise<number> {
  const { atMost, what, within = 8000 } = options;
  return until(
    `memory after ${what} to be at most ${mb(atMost)}`,
    async () => {
      const bytes = await residentAfterCollection(server);
      if (bytes > atMost) throw new Error(`${mb(bytes)}`);
      return bytes;
    },
    { within, every: 200 },
  );
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** The most bytes it ever had in memory, or since `forgetPeak`. */
export function peak(server: { readonly pid: number }): number {
  return statusOf(server.pid, 'VmHWM');
}

/** proc(5), clear_refs. */
export function forgetPeak(server: { readonly pid: number }): void {
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
}

/** Bytes the process has in memory. */
export function resident(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

function statusOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`no ${field} of process ${pid}`);
  return Number(kilobytes) * 1024;
}
