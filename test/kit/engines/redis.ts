import { symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { cached, cacheFolder } from './cache.ts';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import { type Finding, firstOnPath, outputOf } from './find.ts';
import { installTools } from './tools.ts';

export interface RedisOptions extends EngineOptions {
  /** `appendfsync`. Default `everysec`. */
  readonly fsync?: 'everysec' | 'always';
  /** `false`: nothing is written to disk, a restart begins empty. Default true. */
  readonly aof?: boolean;
  /** More of redis.conf, as on its command line: `{ maxmemory: '64mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Redis extends Engine {
  /** `redis://127.0.0.1:<port>`; no password. */
  readonly url: string;
  readonly port: number;
}

/** A redis-server with an append-only file. */
export async function redis(options: RedisOptions = {}): Promise<Redis> {
  const program = await fetchRedis();
  const { aof = true, fsync = 'everysec', settings = {} } = options;
  const { engine, place } = await startEngine(
    {
      name: 'redis',
      portCount: 1,
      prepare: async ({ folder, ports }) => ({
        command: [
          program,
          ...['--bind', '127.0.0.1', '--port', String(ports[0]), '--dir', folder],
          ...['--appendonly', aof ? 'yes' : 'no', '--appendfsync', fsync],
          // Snapshots beside the append-only file would only hide that it is switched off.
          ...['--save', ''],
          ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
        ],
      }),
      isReady: ({ ports }) => answersPing(ports[0]),
    },
    options,
  );
  const [port] = place.ports;
  return Object.assign(engine, { url: `redis://127.0.0.1:${port}`, port });
}

/** A redis-server of version 7.0 or later on the PATH, or Debian's under its other name. */
export async function findRedis(): Promise<Finding> {
  const program = firstOnPath('redis-server', [join(cacheFolder(), debianName)]);
  if (!program) return { missing: 'no redis-server on the PATH' };
  const version = /v=(\d+)\.(\d+)/.exec(await outputOf([program, '--version']));
  if (!version || Number(version[1]) < 7)
    return { missing: `${program} is older than 7.0: ${version?.[0] ?? 'unknown version'}` };
  return { program };
}

/**
 * Finds it, or installs it with the system's package manager. Not Debian's package `redis-server`, which would start a
 * service on this machine, now and at every boot: it holds little more than a link with that name to a program of
 * `redis-tools`, so that is installed and the link made in the cache.
 */
export async function fetchRedis(): Promise<string> {
  const found = await findRedis();
  if (found.program) return found.program;
  await installTools(['redis']);
  const debian = firstOnPath('redis-check-rdb');
  if (debian && !firstOnPath('redis-server'))
    await cached(debianName, async (folder) => symlinkSync(debian, join(folder, 'redis-server')));
  const { program, missing } = await findRedis();
  if (!program) throw new Error(`redis: ${missing}; install Redis 7.0 or later`);
  return program;
}

const debianName = 'redis-of-debian';

/** Whether it has loaded its data: until then it answers -LOADING. */
export function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    socket.setTimeout(1000, () => socket.destroy(new Error('no answer to PING in 1 s')));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(answer.toString().startsWith('+PONG'));
    });
    socket.once('close', () => resolve(false));
  });
}
