import { open, readdir, readFile, readlink } from 'node:fs/promises';

/** Our mark is the first variable of a process: no more is read. */
const markBytes = 4096;

/**
 * Whose a process is: each one that is started here has this in its surroundings from its first moment on, so there is nothing
 * to write down and nothing that could be missing after a crash. Linux alone; undefined elsewhere.
 */
export async function ownMark(): Promise<string | undefined> {
  const namespace = await pidNamespace();
  const self = await readProcess(process.pid);
  return namespace === undefined || !self ? undefined : `${namespace}:${process.pid}:${self.startedAt}`;
}

/** The first of a process's variables. */
export const markName = 'MILLRACE_FFMPEG_OF';

/**
 * Kills what a server of this machine left behind that did not end by itself (`kill -9`). Only processes that say whose they
 * are, and whose server is gone: its process id is free, or belongs to one that was started at another time. Answers how
 * many there were.
 */
export async function killOrphans(): Promise<number> {
  const namespace = await pidNamespace();
  if (namespace === undefined) return 0;
  let killed = 0;
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const before = await readProcess(pid);
    const owner = before && (await ownerOf(pid));
    // Numbers of another container mean others here.
    if (!owner || owner.namespace !== namespace) continue;
    const server = await readProcess(owner.pid);
    if (server && server.startedAt === owner.startedAt && server.state !== 'Z') continue;
    const now = await readProcess(pid);
    if (now?.startedAt !== before.startedAt || now.state === 'Z') continue;
    try {
      process.kill(pid, 'SIGKILL');
      killed += 1;
    } catch {
      // It ended by itself just now.
    }
  }
  return killed;
}

interface Owner {
  readonly namespace: string;
  readonly pid: number;
  readonly startedAt: string;
}

/** Undefined: it is none of ours, or it is not ours to know. */
async function ownerOf(pid: number): Promise<Owner | undefined> {
  const text = await readStart(`/proc/${pid}/environ`);
  const first = text?.split('\0', 1)[0] ?? '';
  const match = /^MILLRACE_FFMPEG_OF=(pid:\[\d+\]):(\d+):(\d+)$/.exec(first);
  return match ? { namespace: match[1], pid: Number(match[2]), startedAt: match[3] } : undefined;
}

/** proc_pid_stat(5): the state and, in ticks since the machine started, when it began. Undefined when there is none. */
async function readProcess(pid: number): Promise<{ state: string; startedAt: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  // Its name, in brackets, may hold anything.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields && fields.length > 19 ? { state: fields[0], startedAt: fields[19] } : undefined;
}

async function pidNamespace(): Promise<string | undefined> {
  return readlink('/proc/self/ns/pid').catch(() => undefined);
}

async function readStart(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return undefined;
  try {
    const bytes = Buffer.alloc(markBytes);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('latin1', 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}
