import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../harness/chromium.ts';
import { encode } from '../harness/encoders.ts';
import { root, type Server, startServer } from '../harness/server.ts';
import { type Site, startSite } from './site.ts';

/** What the blocks of all pages share: a server, a browser, a film. */
export interface World extends AsyncDisposable {
  readonly server: Server;
  readonly browser: Browser;
  /** A site of somebody else, with the pages of the guides. */
  readonly site: Site;
  /** An mp4 of 12 s, small. */
  readonly film: string;
  /** The same as FLV, which is broadcast without encoding it. */
  readonly clip: string;
  /** What stands for this server in the documentation. */
  readonly replacements: readonly (readonly [string | RegExp, string])[];
}

export async function openWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guides-'));
  const [clip, film] = [join(folder, 'clip.flv'), join(folder, 'film.mp4')];
  const [server, browser] = await Promise.all([
    startServer({ env: { MILLRACE_PLUGINS__TASKS__IPFS: '{"driver": "local"}' } }),
    launchBrowser(),
    makeFilms({ clip, film }),
  ]);
  const site = startSite();
  const { host } = new URL(server.url);
  return {
    ...{ server, browser, site, film, clip },
    replacements: [
      ['https://video.example.com', server.url],
      ['localhost:8080', host],
      ['127.0.0.1:8080', host],
      ['localhost:1935', `127.0.0.1:${server.rtmpPort}`],
    ],
    async [Symbol.asyncDispose]() {
      await browser.close();
      await site[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function makeFilms({ clip, film }: { clip: string; film: string }): Promise<void> {
  const picture = ['-vf', 'scale=320:180', '-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '0', '-g', '60'];
  await encode(['-i', join(root, 'demo/clip.flv'), '-t', '12', ...picture, '-c:a', 'copy', clip]);
  await encode(['-i', clip, '-c', 'copy', film]);
}
