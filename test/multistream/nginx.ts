import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../e2e/harness/wait.ts';
import { findFreePorts } from '../kit/free-ports.ts';

/**
 * nginx with its RTMP module, as somebody else's server that we push to. What it accepts it writes into one FLV file a
 * connection. It listens on an address of 127.0.0.0/8 that nothing else has, so that whoever looks for it in what we print
 * finds only it.
 */
export interface Nginx extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** A URL that it accepts. */
  url(key: string): string;
  /** One that it refuses: its `on_publish` is answered 403. */
  refusingUrl(key: string): string;
  /** FLV files of what was published with a key, in order; empty ones too. */
  recordings(key: string): string[];
  /** As its machine would die. */
  kill(): Promise<void>;
  /** Starts it again, on the same ports. */
  restart(): Promise<void>;
  /** Its process stands still: it neither reads nor closes. */
  freeze(): void;
  thaw(): void;
}

const program = '/usr/sbin/nginx';
/** Of Debian and Alpine, of Fedora, of Arch. */
const module = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules']
  .map((folder) => join(folder, 'ngx_rtmp_module.so'))
  .find((path) => existsSync(path));

/** Whether it is on this machine; `npm run e2e` installs it where it can. */
export const hasNginx = module !== undefined && existsSync(program);

export async function startNginx(options: { host: string }): Promise<Nginx> {
  const { host } = options;
  const [rtmp, http] = await findFreePorts(2);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nginx-'));
  const recordings = join(folder, 'recordings');
  mkdirSync(recordings);
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, configuration({ folder, recordings, host, rtmp, http }));
  const printed: string[] = [];
  let child: ChildProcess;

  const launch = async () => {
    child = spawn(program, ['-p', folder, '-c', config], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.on('error', (error) => printed.push(`${program}: ${error.message}\n`));
    for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
    await until('nginx', () => isOpen({ host, port: rtmp }), { within: 10_000, every: 20 }).catch((error) => {
      throw new Error(`${error.message}; it printed:\n${printed.join('')}`);
    });
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  await launch();
  return {
    host,
    port: rtmp,
    url: (key) => `rtmp://${host}:${rtmp}/live/${key}`,
    refusingUrl: (key) => `rtmp://${host}:${rtmp}/closed/${key}`,
    recordings(key) {
      const files = readdirSync(recordings).filter((name) => name.startsWith(`${key}-`));
      const made = (name: string) => statSync(join(recordings, name)).birthtimeMs;
      return files.sort((a, b) => made(a) - made(b)).map((name) => join(recordings, name));
    },
    kill,
    restart: launch,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One process without workers: when it is killed nothing of it is left, and when it is stopped all of it stands still. */
function configuration(options: {
  folder: string;
  recordings: string;
  host: string;
  rtmp: number;
  http: number;
}): string {
  const { folder, recordings, host, rtmp, http } = options;
  return `
load_module ${module};
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
master_process off;
error_log stderr error;
pid ${folder}/nginx.pid;
events { worker_connections 256; }
rtmp {
  access_log off;
  max_message 10M;
  server {
    listen ${host}:${rtmp};
    chunk_size 4096;
    application live {
      live on;
      record all;
      record_path ${recordings};
      record_unique on;
    }
    application closed {
      live on;
      on_publish http://${host}:${http}/no;
    }
  }
}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen ${host}:${http};
    location / { return 403; }
  }
}
`;
}

function isOpen(place: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(place);
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
