import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePorts } from '../../test/kit/free-ports.ts';
import { type Core, start, temporaryFolder } from './children.ts';
import { bytesBelow } from './files.ts';
import { type Subject, until } from './subject.ts';

const program = '/usr/sbin/nginx';
const module = '/usr/lib/nginx/modules/ngx_rtmp_module.so';

/**
 * Debian's nginx with libnginx-mod-rtmp: one worker, HLS files in memory, served by the same worker. With `record`, an FLV
 * file of each stream, where our server has its data as well.
 */
export async function nginxRtmp(options: {
  core?: Core;
  streams: number;
  record?: boolean;
  /** Each stream is pushed on to these: `rtmp://host:port/live`. */
  pushTo?: readonly string[];
}): Promise<Subject> {
  if (!existsSync(program) || !existsSync(module))
    throw new Error('nginx-rtmp is not here: apt-get install nginx libnginx-mod-rtmp');
  const [http, rtmp] = await findFreePorts(2);
  const folder = temporaryFolder({ in: '/dev/shm' });
  const config = join(folder.path, 'nginx.conf');
  const recordings = options.record ? temporaryFolder() : undefined;
  const { pushTo = [] } = options;
  writeFileSync(
    config,
    configuration({ folder: folder.path, http, rtmp, recordings: recordings?.path, pushTo }),
  );
  const child = start([program, '-p', folder.path, '-c', config], { core: options.core });
  const url = `http://127.0.0.1:${http}`;
  await until('nginx', async () => (await fetch(url)).status > 0, { within: 10_000, every: 20 }).catch(
    (error) => {
      throw new Error(`${error.message}; it printed:\n${child.output}`);
    },
  );
  const names = Array.from({ length: options.streams }, (_, n) => `stream-${n + 1}`);
  return {
    name: 'nginx-rtmp',
    pid: child.pid,
    ingestUrls: names.map((name) => `rtmp://127.0.0.1:${rtmp}/live/${name}`),
    playlistUrls: names.map((name) => `${url}/hls/${name}/index.m3u8`),
    storedBytes: () => bytesBelow(join(folder.path, 'hls')),
    recordedBytes: () => (recordings === undefined ? 0 : bytesBelow(recordings.path)),
    async stop() {
      await child.stop();
      folder.remove();
      recordings?.remove();
    },
  };
}

function configuration(options: {
  folder: string;
  http: number;
  rtmp: number;
  recordings: string | undefined;
  pushTo: readonly string[];
}): string {
  const { folder, http, rtmp, recordings, pushTo } = options;
  return `
load_module ${module};
user root;
daemon off;
worker_processes 1;
error_log stderr error;
pid ${folder}/nginx.pid;
events { worker_connections 4096; }
rtmp {
  access_log off;
  server {
    listen 127.0.0.1:${rtmp};
    chunk_size 4096;
    application live {
      live on;
      hls on;
      hls_path ${folder}/hls;
      hls_fragment 2s;
      hls_playlist_length 12s;
      hls_nested on;${recordings === undefined ? '' : `\n      record all;\n      record_path ${recordings};`}${pushTo.map((url) => `\n      push ${url};`).join('')}
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
    listen 127.0.0.1:${http};
    root ${folder};
    location / { }
  }
}
`;
}
