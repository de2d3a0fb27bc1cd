import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

/** The checkout. */
export const root = join(import.meta.dirname, '../..');
export const bun = join(root, 'node_modules/.bin/bun');

/** A program that does not outlive this one. */
export interface Child {
  readonly pid: number;
  /** What it printed, newest 200,000 characters. */
  readonly output: string;
  readonly hasExited: boolean;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after 12 s, and answers its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/** A core by its number, or all there are. */
export type Core = number | 'any';

export interface StartOptions {
  /** The only core it may run on; as this program when absent. */
  core?: Core;
  /** All of its environment but PATH and HOME. */
  env?: Record<string, string>;
  onLine?: (line: string) => void;
}

/** Starts a program in the checkout. It is killed when this one ends, however that happens short of SIGKILL. */
export function start(command: readonly string[], options: StartOptions = {}): Child {
  const { core, env, onLine } = options;
  // taskset becomes the program it starts: the process id stays.
  const pinned = core === undefined ? command : ['taskset', '--cpu-list', listOf(core), ...command];
  const child = Bun.spawn([...pinned], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? tmpdir(), ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let output = '';
  const take = (line: string) => {
    output = `${output}${line}\n`.slice(-200_000);
    onLine?.(line);
  };
  const reading = Promise.all([readLines(child.stdout, take), readLines(child.stderr, take)]);
  running.add(child);
  const exited = child.exited.then(async (code) => {
    running.delete(child);
    await reading;
    return code;
  });
  return {
    pid: child.pid,
    get output() {
      return output;
    },
    get hasExited() {
      return child.exitCode !== null || child.signalCode !== null;
    },
    exited,
    kill: (signal) => child.kill(signal),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const insist = setTimeout(() => child.kill('SIGKILL'), 12_000);
      const code = await exited;
      clearTimeout(insist);
      return code;
    },
  };
}

/** From now on this program, and what it starts, runs on one core, unless it is started on another. */
export function pinSelf(core: number): void {
  Bun.spawnSync(['taskset', '--all-tasks', '--cpu-list', '--pid', String(core), String(process.pid)]);
}

/** A new folder that is removed when this program ends, or by the answered function. */
export function temporaryFolder(options: { in?: string } = {}): { path: string; remove(): void } {
  const path = mkdtempSync(join(options.in ?? tmpdir(), 'millrace-bench-'));
  folders.add(path);
  const remove = () => {
    rmSync(path, { recursive: true, force: true });
    folders.delete(path);
  };
  return { path, remove };
}

function listOf(core: Core): string {
  return core === 'any' ? `0-${cpus().length - 1}` : String(core);
}

const running = new Set<Bun.Subprocess>();
const folders = new Set<string>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
  if (rest !== '') take(rest);
}
