import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/**
 * Names this process in what it leaves behind, such as half-written files: `<machine>-<pid>-<start>`. The machine differs for
 * each boot and each container, because process ids are reused there; the start tells apart processes with the same id.
 */
export async function ownMark(): Promise<string> {
  return `${await machine()}-${process.pid}-${(await startOf(process.pid)) ?? 0}`;
}

/** Whether the process with this mark is gone. `elsewhere`: it is of another machine, so this one cannot know. */
export async function fateOf(mark: string): Promise<'alive' | 'dead' | 'elsewhere'> {
  const [where, pid, start] = mark.split('-');
  if (where !== (await machine())) return 'elsewhere';
  if (!isRunning(Number(pid))) return 'dead';
  const found = await startOf(Number(pid));
  return found === undefined || found === start ? 'alive' : 'dead';
}

/** In ticks since the boot (proc_pid_stat(5), field 22); `zombie`: it is dead. Undefined where there is no /proc. */
export async function startOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  // The name of the program may hold spaces and brackets; what follows it does not.
  const fields = line?.slice(line.lastIndexOf(')') + 2).split(' ');
  return fields?.[0] === 'Z' ? 'zombie' : fields?.[19];
}

async function machine(): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => hostname());
  const space = await readlink('/proc/self/ns/pid').catch(() => '');
  return createHash('sha256').update(`${boot}${space}`).digest('hex').slice(0, 16);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
