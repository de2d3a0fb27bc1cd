import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Picture, readFrameNumber } from '../../kit/frame-number.ts';
import { findFreePort } from '../../kit/free-ports.ts';
import { until } from './wait.ts';

/**
 * WebKitGTK's browser, which plays HLS itself as Safari does: no script fetches, no request has headers of the page's. Its demuxer is
 * GStreamer's, so it stands for a plain client that follows URIs.
 */
export interface WebKit extends AsyncDisposable {
  /** Shows a page with a `<video src muted autoplay>` for each URL, in place of what was on show. */
  play(urls: readonly string[]): Promise<readonly WebKitVideo[]>;
}

export interface WebKitVideo {
  sample(): Promise<WebKitSample>;
  /** The number painted into the demo clip's picture on show; null when it cannot be read. */
  frameNumber(): Promise<number | null>;
  /** Waits until `seconds` more were played than now. */
  watch(seconds: number, options: { within: number }): Promise<WebKitSample>;
}

export interface WebKitSample {
  currentTime: number;
  /** Of the picture; 0 before the first one. */
  width: number;
  /** The media element's error, in words. */
  error: string | null;
}

const videoWidth = 320;
const browsers = '/usr/{lib,lib/*,lib64,libexec}/webkit2gtk-4.{0,1}/MiniBrowser';

/** Whether this machine has what `launchWebKit` starts. */
export function hasWebKit(): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const has = (program: string) => folders.some((folder) => existsSync(join(folder, program)));
  return has('WebKitWebDriver') && has('Xvfb') && globSync(browsers).length > 0;
}

/** On a display of its own. */
export async function launchWebKit(): Promise<WebKit> {
  await using starting = new AsyncDisposableStack();
  const display = await startDisplay(starting);
  const port = await findFreePort();
  const driver = start(starting, {
    command: ['WebKitWebDriver', `--port=${port}`],
    env: {
      DISPLAY: display,
      WEBKIT_GST_ENABLE_HLS_SUPPORT: '1',
      // Else screenshots hold no video.
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      NO_AT_BRIDGE: '1',
    },
  });
  const call = webDriver(`http://127.0.0.1:${port}`);
  await until('WebKitWebDriver', () => call('GET', '/status'), { within: 20_000 }).catch((error) => {
    throw new Error(`${error.message}; it printed: ${driver.log()}`);
  });
  const [binary = ''] = globSync(browsers);
  const browser = { binary, args: ['--automation'] };
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': browser } };
  const { sessionId } = (await call('POST', '/session', { capabilities })) as { sessionId: string };
  const session = `/session/${sessionId}`;
  starting.defer(() => call('DELETE', session).then(() => {}));

  let markup = '';
  const site = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: () => new Response(markup, { headers: { 'content-type': 'text/html' } }),
  });
  starting.defer(() => site.stop(true));
  const started = starting.move();
  return {
    async play(urls) {
      markup = `<!doctype html><meta charset="utf-8">${urls.map(videoOf).join('')}`;
      await call('POST', `${session}/url`, { url: site.url.href });
      const found = await call('POST', `${session}/elements`, { using: 'css selector', value: 'video' });
      return (found as Element[]).map((element) => videoIn(element, { call, session }));
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const videoOf = (url: string) =>
  `<video muted autoplay width="${videoWidth}" src="${url.replaceAll('&', '&amp;')}"></video>`;

function videoIn(element: Element, { call, session }: { call: Call; session: string }): WebKitVideo {
  const [id = ''] = Object.values(element);
  const script = `const [{ currentTime, videoWidth, error }] = arguments;
    return { currentTime, width: videoWidth, error: error && error.code + ' ' + error.message };`;
  const sample = () =>
    call('POST', `${session}/execute/sync`, { script, args: [element] }) as Promise<WebKitSample>;
  return {
    sample,
    async frameNumber() {
      const png = (await call('GET', `${session}/element/${id}/screenshot`)) as string;
      return readFrameNumber(await pictureOf(Buffer.from(png, 'base64')));
    },
    async watch(seconds, { within }) {
      const target = (await sample()).currentTime + seconds;
      const probe = async () => {
        const seen = await sample();
        if (seen.currentTime >= target) return seen;
        throw new Error(JSON.stringify(seen));
      };
      return until(`${seconds} more seconds in WebKit`, probe, { within, every: 200 });
    },
  };
}

async function pictureOf(png: Uint8Array): Promise<Picture> {
  const command = ['ffmpeg', '-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'rgba', '-'];
  const decoder = Bun.spawn(command, { stdin: png, stderr: 'inherit' });
  const data = new Uint8Array(await new Response(decoder.stdout).arrayBuffer());
  return { width: videoWidth, height: data.length / 4 / videoWidth, data };
}

/** Name of a display that nobody has: the X server picks it. */
async function startDisplay(owner: AsyncDisposableStack): Promise<string> {
  const screen = ['-screen', '0', '1024x768x24', '-nolisten', 'tcp'];
  const { child, log } = start(owner, { command: ['Xvfb', '-displayfd', '3', ...screen] });
  let told = '';
  (child.stdio[3] as Readable).on('data', (chunk) => {
    told += chunk;
  });
  await until('a display', () => told.endsWith('\n'), { within: 20_000 }).catch((error) => {
    throw new Error(`${error.message}; Xvfb printed: ${log()}`);
  });
  return `:${told.trim()}`;
}

/** In a process group of its own, which ends with its owner. */
function start(
  owner: AsyncDisposableStack,
  options: { command: readonly string[]; env?: Record<string, string> },
): { child: ChildProcess; log(): string } {
  // Also when the test itself is killed: without a display the browser ends too.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...options.command], {
    ...{ detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
    env: { ...process.env, ...options.env },
  });
  const printed: string[] = [];
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
  child.on('error', (error) => printed.push(error.message));
  owner.defer(async () => {
    if (child.pid === undefined) return;
    const exit = child.exitCode === null && child.signalCode === null && once(child, 'exit');
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of it ended by itself.
    }
    await exit;
  });
  return { child, log: () => printed.join('') };
}

type Element = Record<string, string>;
type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** https://www.w3.org/TR/webdriver2/ */
function webDriver(url: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const { value } = (await answer.json()) as { value: unknown };
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };
}
