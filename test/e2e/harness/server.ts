import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '../../kit/free-ports.ts';
import { type Api, apiClient } from './api.ts';
import { type Events, openEvents } from './events.ts';
import { until } from './wait.ts';

export const root = join(import.meta.dirname, '../../..');

/** The real server in a process of its own, with its own ports and data. `await using` ends it and removes its data. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
  readonly api: Api;
  readonly pid: number;
  /** Everything it printed, over all restarts. */
  readonly output: string;
  readonly rtmpPort: number;
  /** As this process sees it, also when the server has a small disk. */
  readonly dataDir: string;
  ingestUrl(streamKey: string): string;
  playlistUrl(playbackId: string): string;
  openEvents(): Promise<Events>;
  /** Ends the process as a crash would. Its data stay. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts again on the same ports and data, and waits for readiness. */
  restart(): Promise<void>;
  /** Asks it to end (SIGTERM) and answers its exit code. */
  stop(): Promise<number | null>;
}

/** `env` is added to the configuration, e.g. `{ MILLRACE_PLUGINS__STREAMS__HOLD: '5s' }`. Answers once it is ready. */
export async function startServer(
  options: {
    env?: Record<string, string>;
    /** Gives a folder of its data a disk of its own, which is gone with the process. Only where `hasSmallDisks`. */
    disk?: { folder: string; mebibytes: number };
    /** An installed one, in place of this checkout's: what starts it, and where. */
    program?: { readonly command: readonly string[]; readonly cwd: string };
  } = {},
): Promise<Server> {
  const [httpPort, rtmpPort] = await findFreePorts(2);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-e2e-'));
  const url = `http://127.0.0.1:${httpPort}`;
  const key = 'e2e-bootstrap-key-0123456789abcdef';
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? tmpdir(),
    MILLRACE_HTTP__PORT: String(httpPort),
    MILLRACE_RTMP__PORT: String(rtmpPort),
    MILLRACE_PUBLIC_URL: url,
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_BOOTSTRAP_KEY: key,
    ...options.env,
  };
  const printed: string[] = [];
  const opened: Events[] = [];
  let child: ChildProcess;

  const launch = async () => {
    const program = options.program ?? { command: [process.execPath, 'runtime/main.ts'], cwd: root };
    const [command = '', ...rest] = [...diskCommand(dataDir, options.disk), ...program.command];
    child = spawn(command, rest, {
      cwd: program.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
    const started = child;
    await until('/health/ready', async () => (await isReady(url)) || hasExited(started), {
      within: 20_000,
      every: 20,
    }).catch((error) => fail(error));
    if (hasExited(started))
      fail(`the server ended with ${started.exitCode ?? started.signalCode} at its start`);
  };
  const fail = (reason: unknown): never => {
    child.kill('SIGKILL');
    throw new Error(`${reason instanceof Error ? reason.message : reason}; it printed:\n${printed.join('')}`);
  };
  const end = async (signal: NodeJS.Signals) => {
    if (hasExited(child)) return;
    const exit = once(child, 'exit');
    // A command that only starts the server cannot hand on this one.
    if (signal === 'SIGKILL') for (const pid of childrenOf(child)) process.kill(pid, signal);
    child.kill(signal);
    await exit;
  };

  await launch();
  return {
    url,
    key,
    api: apiClient(url, { key }),
    get pid() {
      return child.pid as number;
    },
    get output() {
      return printed.join('');
    },
    rtmpPort,
    get dataDir() {
      return options.disk ? `/proc/${child.pid}/root${dataDir}` : dataDir;
    },
    ingestUrl: (streamKey) => `rtmp://127.0.0.1:${rtmpPort}/live/${streamKey}`,
    playlistUrl: (playbackId) => `${url}/hls/${playbackId}/index.m3u8`,
    async openEvents() {
      const events = await openEvents(url, { key });
      opened.push(events);
      return events;
    },
    kill: (signal = 'SIGKILL') => end(signal),
    restart: launch,
    async stop() {
      await end('SIGTERM');
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      for (const events of opened) events.close();
      const hardStop = setTimeout(() => child.kill('SIGKILL'), 12_000);
      await end('SIGTERM');
      clearTimeout(hardStop);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Whether this machine lets its users have name spaces of their own. */
export function hasSmallDisks(): boolean {
  return spawnSync('unshare', ['-Urm', 'true'], { stdio: 'ignore' }).status === 0;
}

function diskCommand(dataDir: string, disk: { folder: string; mebibytes: number } | undefined): string[] {
  if (!disk) return [];
  const place = join(dataDir, disk.folder);
  mkdirSync(place, { recursive: true });
  const mount = `mount -t tmpfs -o size=${disk.mebibytes}m tmpfs "$0" && exec "$@"`;
  return ['unshare', '-Urm', 'sh', '-c', mount, place];
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2000) }).catch(
    () => null,
  );
  await response?.arrayBuffer();
  return response?.status === 200;
}

function childrenOf({ pid }: ChildProcess): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
