import { readdirSync, readFileSync } from 'node:fs';

/** Process ids of the ffmpegs that a server has running, oldest first. By /proc: Linux alone. */
export function transcodersOf(server: { readonly pid: number }): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // `pid (comm) state ppid …`, proc(5).
        const [, comm, state, parent] =
          /\((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return comm === 'ffmpeg' && state !== 'Z' && Number(parent) === server.pid;
      } catch {
        return false;
      }
    })
    .sort((a, b) => a - b);
}
