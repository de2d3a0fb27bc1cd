import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findFreePort } from '../../kit/free-ports.ts';
import type { PageRun } from './page-run.ts';
import { config, file, onAir, runBy, type Step, sh, soon } from './steps.ts';

/** Viewers who wait for the same part at the same time. */
const viewers = 10;

/** nginx with the config of the page, on a port of its own. */
const proxied: Step = {
  languages: ['nginx'],
  async run(run, block) {
    const port = await findFreePort();
    run.replace('listen 80;', `listen 127.0.0.1:${port};`);
    run.replace('/var/cache/nginx/millrace', join(run.folder, 'cache'));
    run.replace('PROXY=http://localhost', `PROXY=http://127.0.0.1:${port}`);
    await file('millrace.conf').run(run, block);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${run.folder}/${name};`,
    );
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    run.write(
      'nginx.conf',
      `${user} daemon off; worker_processes 1; error_log stderr error; pid ${run.folder}/pid;
events { worker_connections 256; }
http { access_log off; ${temporary.join(' ')} include ${run.folder}/millrace.conf; }
`,
    );
    const child = spawn('/usr/sbin/nginx', ['-p', run.folder, '-c', 'nginx.conf'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: run.folder,
    });
    let printed = '';
    for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (printed += chunk));
    const ended = once(child, 'close');
    run.own({
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM');
        await ended;
      },
    });
    await soon('nginx', async () => {
      if (child.exitCode !== null) throw new Error(printed);
      return (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
    });
  },
};

/** Viewers share what the server sends; the API and event streams pass through at once. */
async function sharesAndPasses(run: PageRun): Promise<void> {
  const proxy = run.variable('PROXY');
  const playlist = `${proxy}/hls/${run.variable('PLAYBACK_ID')}/source.m3u8`;
  const text = await (await fetch(playlist)).text();
  const first = Number(/MEDIA-SEQUENCE:(\d+)/.exec(text)?.[1]);
  const next = first + (text.match(/#EXTINF/g)?.length ?? 0) + 1;
  const answers = await Promise.all(
    Array.from({ length: viewers }, async () => {
      const answer = await fetch(`${playlist}?_HLS_msn=${next}`);
      return { cache: answer.headers.get('x-cache'), text: await answer.text() };
    }),
  );
  expect(answers.filter(({ cache }) => cache === 'MISS')).toHaveLength(1);
  expect(new Set(answers.map((one) => one.text)).size).toBe(1);
  expect(answers[0]?.text).toContain('#EXT-X-PART');

  const headers = { authorization: `Bearer ${run.world.server.key}` };
  const events = await fetch(`${proxy}/api/events?type=asset.created`, { headers });
  const { value } = await (async () => {
    const reader = (events.body as ReadableStream<Uint8Array>).getReader();
    const asked = { method: 'POST', headers, body: '{"name": "By the proxy"}' };
    const made = await fetch(`${proxy}/api/asset/request-upload`, asked);
    expect([made.status, made.headers.get('x-cache')]).toEqual([200, null]);
    let seen = '';
    for (;;) {
      const { value: bytes } = await reader.read();
      seen += new TextDecoder().decode(bytes);
      if (seen.includes('By the proxy')) break;
    }
    await reader.cancel();
    return { value: seen };
  })();
  expect(value).toContain('asset.created');
}

/** Steps of the pages about places to run it, and of the pages beside the guides. */
export const placePages: Record<string, readonly Step[]> = {
  'cdn.md': [
    proxied,
    config,
    sh({
      before: (run) => onAir(run),
      check: async (run, printed) => {
        expect(printed.toLowerCase().split(/\s+/)).toEqual(['x-cache:', 'miss', 'x-cache:', 'hit', '']);
        await sharesAndPasses(run);
      },
    }),
  ],
  'fleet.md': [
    runBy('test/fleet/start.e2e.ts', {
      words: 'npm run fleet',
      inTest: "'npm', ['run', '--silent', 'fleet'",
    }),
    runBy('test/fleet/start.e2e.ts', {
      words: 'npm run fleet -- restart media',
      inTest: "'restart', 'media'",
    }),
    config,
    sh({
      check: (_, printed) =>
        expect(JSON.parse(printed)).toMatchObject({ isAlive: true, roles: expect.any(Array) }),
    }),
    config,
  ],
};

const streamOf = (run: PageRun) => run.world.server.api.getStream(run.variable('ID'));

/** Steps of the pages that are not below docs/guides; they have no variables of the guides. */
export const otherPages: Record<string, readonly Step[]> = {
  'README.md': [
    runBy('test/e2e/demo.e2e.ts', { words: 'npm run demo', inTest: "'demo/main.ts'" }),
    sh({
      check: (run, printed) => {
        const { id, streamKey } = JSON.parse(printed.slice(printed.indexOf('{')));
        run.set('ID', id);
        run.replace('<streamKey>', streamKey);
        run.replace('<id>', id);
      },
    }),
    sh({ during: (run) => soon('the stream on the air', async () => (await streamOf(run)).isActive) }),
    sh({ check: async (run) => expect((await streamOf(run)).isActive).toBe(false) }),
    sh({ check: (_, printed) => expect(printed).toMatch(/"status":"ready".*"playbackUrl":"http/) }),
  ],
  'docs/cli.md': [
    runBy('test/package/package.e2e.ts', {
      words: 'npx millrace start',
      inTest: "['npx', 'millrace', 'start']",
    }),
    sh({
      input: (run) => `${run.world.server.key}\n`,
      check: (run, printed) => {
        expect(printed).toContain(`Logged in to ${run.world.server.url}.`);
        expect(printed).toMatch(/State: +ready/);
      },
    }),
    sh({
      during: (_, commands) => soon('the watch URL', () => /http\S+\/watch\/\w+/.test(commands.printed)),
    }),
    sh({ during: (_, commands) => soon('the secret', () => commands.printed.includes('whsec_')) }),
    sh({
      before: (run) => {
        for (const folder of ['.zfunc', '.config/fish/completions'])
          mkdirSync(join(run.folder, folder), { recursive: true });
      },
      check: (run) => {
        for (const name of ['.zfunc/_millrace', '.config/fish/completions/millrace.fish']) {
          expect(existsSync(join(run.folder, name))).toBe(true);
          expect(readFileSync(join(run.folder, name), 'utf8')).toContain('webhook');
        }
      },
    }),
    runBy('test/package/package.e2e.ts', {
      words: 'node_modules/.bin/millrace start',
      inTest: "'node_modules/.bin/millrace'",
    }),
  ],
  'docs/dashboard.md': [],
};
