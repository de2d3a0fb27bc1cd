import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ: what /proc/PID/stat counts in, per second. */
const ticksPerSecond = 100;

export interface Usage {
  /** User and system time so far of a process, all its threads, its children and those it has reaped; seconds. */
  cpu: number;
  /** Seconds that its threads were ready to run and had no core: how much others were in the way. */
  waited: number;
  /** Seconds of CPU by the name of the thread, of the processes that are alive. */
  threads: Map<string, number>;
}

/** CPU time of a process and everything below it (proc(5): pid/stat, pid/task/tid/schedstat). */
export function usageOf(pid: number): Usage {
  const usage: Usage = { cpu: 0, waited: 0, threads: new Map() };
  for (const process of treeOf(pid)) {
    const [utime, stime, cutime, cstime] = statOf(`/proc/${process}/stat`).slice(11, 15).map(Number);
    usage.cpu += (utime + stime + cutime + cstime) / ticksPerSecond;
    for (const thread of readdirSync(`/proc/${process}/task`)) {
      const folder = `/proc/${process}/task/${thread}`;
      // A thread may end between the listing and the reading.
      const [ran, waited] = (read(`${folder}/schedstat`) || '0 0').split(' ').map((ns) => Number(ns) / 1e9);
      const isMain = Number(thread) === process;
      const name = isMain ? 'main' : read(`${folder}/comm`).trim();
      usage.threads.set(name, (usage.threads.get(name) ?? 0) + ran);
      usage.waited += waited;
    }
  }
  return usage;
}

export interface Memory {
  /** Bytes. RSS counts what processes share once for each, PSS divides it among them. */
  rss: number;
  pss: number;
}

/** Memory of a process and everything below it. */
export function memoryOf(pid: number): Memory {
  const memory: Memory = { rss: 0, pss: 0 };
  for (const process of treeOf(pid)) {
    const rollup = read(`/proc/${process}/smaps_rollup`);
    memory.rss += kilobytes(rollup, 'Rss');
    memory.pss += kilobytes(rollup, 'Pss');
  }
  return memory;
}

/** Share of a core that a stretch of work took, in percent. */
export function percentOf(before: Usage, after: Usage, seconds: number): number {
  return ((after.cpu - before.cpu) / seconds) * 100;
}

/** The busiest threads between two readings, percent of a core each. */
export function busiestThreads(
  before: Usage,
  after: Usage,
  seconds: number,
): [name: string, percent: number][] {
  return [...after.threads]
    .map(([name, ran]): [string, number] => [name, ((ran - (before.threads.get(name) ?? 0)) / seconds) * 100])
    .filter(([, percent]) => percent >= 0.05)
    .sort((a, b) => b[1] - a[1]);
}

function treeOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ id: Number(name), parent: Number(statOf(`/proc/${name}/stat`)[1]) }));
  const tree = [pid];
  for (let i = 0; i < tree.length; i += 1)
    for (const { id, parent } of parents) if (parent === tree[i]) tree.push(id);
  return tree;
}

/** The fields behind the name, which may hold spaces and brackets; the first is the state. */
function statOf(path: string): string[] {
  const text = read(path);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function kilobytes(rollup: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024;
}
