/** A real engine (Redis, Kafka, S3) as a process of its own: started, ended in every way a test needs, never left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { until } from '../../e2e/harness/wait.ts';
import { findFreePorts } from '../free-ports.ts';

/** Ports and data stay the same over any number of stops and restarts. `await using` ends it, and removes its data if temporary. */
export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** Of the engine itself, not of a shell around it. Changes with every restart. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** Exit code or signal, when this run of it ends. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Holds data, configuration and log. */
  readonly folder: string;
  /** What it printed since it was first started, over all restarts. */
  readonly logFile: string;
  /** SIGTERM, and SIGKILL when it is not gone after 20 s. Data stay. */
  stop(): Promise<void>;
  /** SIGKILL. Data stay. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, nothing answers. Resolves when no thread of it runs any more. */
  freeze(): Promise<void>;
  /** SIGCONT. */
  thaw(): void;
  /** Starts it again on the same ports and data and waits until it answers; one that still runs is stopped before. */
  restart(): Promise<void>;
}

/** Where an engine keeps its things. */
export interface EngineOptions {
  /** Kept when the engine ends. Default: a temporary one, removed with the engine. */
  readonly folder?: string;
  /** As many as it takes, the first for clients; for those that are not given, free ones. */
  readonly ports?: readonly number[];
}

export interface Place {
  readonly folder: string;
  /** The first is the one that clients talk to. */
  readonly ports: readonly number[];
}

export interface Recipe {
  readonly name: string;
  readonly portCount: number;
  /** Writes what the engine wants to find in its folder, and answers how it is started. Called before every start. */
  prepare(place: Place): Promise<{ command: readonly string[]; env?: Record<string, string> }>;
  /** Whether it answers its clients; may throw instead of answering no. */
  isReady(place: Place): Promise<boolean>;
}

/** Longest start that is waited for, ms: Kafka takes 3 s on an idle machine, and this one need not be idle. */
const startWithin = 90_000;
const stopWithin = 20_000;
/** Between the look for a free port and its use somebody else may take it. */
const portTries = 5;

/** Starts it, and answers once it is ready. Fails with the end of the engine's own log. */
export async function startEngine(
  recipe: Recipe,
  options: EngineOptions,
): Promise<{ engine: Engine; place: Place }> {
  const isTemporary = options.folder === undefined;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), `millrace-${recipe.name}-`));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isTemporary) temporary.add(folder);
  for (let tries = 1; ; tries += 1) {
    const free = await findFreePorts(recipe.portCount);
    const ports = free.map((port, index) => options.ports?.[index] ?? port);
    const place = { folder, ports };
    const engine = engineIn(recipe, { place, isTemporary });
    try {
      await engine.restart();
      return { engine, place };
    } catch (error) {
      const isPortTaken = /address already in use/i.test(String(error));
      if (isPortTaken && options.ports === undefined && tries < portTries) continue;
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** A process that ends without disposing of its engines leaves no data either. */
const temporary = new Set<string>();
process.once('exit', () => temporary.forEach(remove));

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function engineIn(recipe: Recipe, { place, isTemporary }: { place: Place; isTemporary: boolean }): Engine {
  const logFile = join(place.folder, `${recipe.name}.log`);
  let child: ChildProcess | undefined;
  let ending = new Promise<number | NodeJS.Signals>(() => {});
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const running = (): number => {
    if (!isRunning()) throw new Error(`${recipe.name} is not running`);
    return child?.pid as number;
  };
  const end = async (signal: NodeJS.Signals) => {
    if (!isRunning()) return;
    const exit = once(child as ChildProcess, 'exit');
    process.kill(running(), signal);
    // One that is frozen hears of SIGTERM only afterwards.
    if (signal !== 'SIGKILL') process.kill(running(), 'SIGCONT');
    const hardEnd = setTimeout(() => child?.kill('SIGKILL'), stopWithin);
    await exit;
    clearTimeout(hardEnd);
  };
  const start = async () => {
    const { command, env } = await recipe.prepare(place);
    const printedBefore = existsSync(logFile) ? readFileSync(logFile).length : 0;
    const log = openSync(logFile, 'a');
    child = spawnGuarded(command, { env, log, dropFolder: isTemporary ? place.folder : '' });
    closeSync(log);
    const started = child;
    ending = new Promise((resolve) => {
      started.once('exit', (code, signal) => resolve(code ?? (signal as NodeJS.Signals)));
    });
    const hasEnded = new Promise<never>((_, reject) => {
      started.once('error', reject);
      started.once('exit', (code, signal) => reject(new Error(`it ended with ${code ?? signal}`)));
    });
    hasEnded.catch(() => {});
    const ready = until('an answer', () => isRunning() && recipe.isReady(place), {
      within: startWithin,
      every: 20,
    });
    ready.catch(() => {});
    try {
      await Promise.race([ready, hasEnded]);
    } catch (error) {
      await end('SIGKILL');
      const printed = readFileSync(logFile).subarray(printedBefore).toString();
      const tail = printed.trimEnd().split('\n').slice(-30).join('\n');
      throw new Error(`${recipe.name} did not start: ${(error as Error).message}; ${logFile} ends:\n${tail}`);
    }
  };
  return {
    name: recipe.name,
    get pid() {
      return running();
    },
    get isRunning() {
      return isRunning();
    },
    get ended() {
      return ending;
    },
    folder: place.folder,
    logFile,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async freeze() {
      process.kill(running(), 'SIGSTOP');
      await until(`${recipe.name} to stand still`, () => isStill(running()), { within: 10_000, every: 2 });
    },
    thaw: () => void process.kill(running(), 'SIGCONT'),
    async restart() {
      await end('SIGTERM');
      await start();
    },
    async [Symbol.asyncDispose]() {
      await end(isTemporary ? 'SIGKILL' : 'SIGTERM');
      if (isTemporary) remove(place.folder);
      temporary.delete(place.folder);
    },
  };
}

/**
 * A shell that leaves a guard behind and then becomes the engine, so `pid` and exit code are the engine's own. The guard
 * reads a pipe whose other end this process holds: however this process ends, the kernel closes it, and the guard ends
 * the engine, also a frozen one, and removes its temporary folder. A line on the pipe says that there is nothing to do.
 * Signals of the terminal (Ctrl-C) are not the guard's business.
 */
const guarded = `
drop=$1
shift
(
  trap '' INT TERM HUP
  if ! read -r over <&3; then
    kill -9 $$ 2>/dev/null
    if [ -n "$drop" ]; then rm -rf "$drop" 2>/dev/null || { sleep 1; rm -rf "$drop"; }; fi
  fi
) &
exec 3<&-
exec "$@"
`;

function spawnGuarded(
  command: readonly string[],
  options: { env?: Record<string, string>; log: number; dropFolder: string },
): ChildProcess {
  const child = spawn('sh', ['-c', guarded, 'sh', options.dropFolder, ...command], {
    env: { ...process.env, ...options.env },
    // Ctrl-C at our terminal is for us alone: we end it when it is its turn.
    detached: true,
    // Not stdin: that one is closed before we can say that the engine's end was its own.
    stdio: ['ignore', options.log, options.log, 'pipe'],
  });
  const guard = child.stdio[3] as Writable;
  guard.on('error', () => {});
  child.once('exit', () => guard.end('over\n'));
  return child;
}

/** Linux tells; elsewhere SIGSTOP is taken to be at once. */
function isStill(pid: number): boolean {
  if (!existsSync('/proc/self/status')) return true;
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}
