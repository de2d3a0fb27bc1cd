import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from './free-ports.ts';

/** A Redis of a test, in a folder of its own. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Freezes the process (SIGSTOP) or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** `kill -9`, and a start on the same data and port. */
  killAndRestart(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

export async function redisServer(settings: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-redis-'));
  const [port = 0] = await findFreePorts(1);
  let child: ChildProcess | undefined;

  const start = async () => {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const own = ['--appendonly', 'yes', '--appendfsync', 'everysec', ...settings];
    child = spawn('redis-server', [...options, ...own], { stdio: 'ignore' });
    await once(child, 'spawn');
    const ended = once(child, 'exit').then(() => {
      throw new Error('redis-server ended');
    });
    ended.catch(() => {});
    while (!(await Promise.race([answers(port), ended]))) await Bun.sleep(10);
  };
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    signal: (signal) => void child?.kill(signal),
    start,
    kill,
    async killAndRestart() {
      await kill();
      await start();
    },
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether it listens, and has read its data. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const end = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.once('data', (data) => end(String(data).startsWith('+PONG')));
    socket.once('error', () => end(false));
  });
}
