import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { root } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

/** A tab that plays a playlist with hls.js, changes levels when told, and notes every picture and every sample of sound. */
export interface SwitchingPage extends AsyncDisposable {
  /** Heights of the levels in the order of hls.js. */
  levels(): Promise<number[]>;
  /**
   * Goes to the level with that height and waits until its pictures are on show. `next`: from a segment on that is not played yet
   * (`hls.nextLevel`). `load`: what is loaded from now on (`hls.loadLevel`). `now`: at once, what is loaded is thrown away
   * (`hls.currentLevel`).
   */
  switchTo(height: number, how: 'next' | 'load' | 'now'): Promise<void>;
  /** Plays on for so many seconds of the media. */
  play(seconds: number): Promise<void>;
  notes(): Promise<Notes>;
}

export interface Notes {
  /** The pictures that came on show. */
  readonly pictures: readonly { time: number; width: number; height: number; number: number | null }[];
  /** What hls.js called an error, and how often the element had to wait since it first played; `switchTo now` is told apart. */
  readonly errors: readonly string[];
  readonly waits: number;
  readonly decoded: number;
  readonly dropped: number;
  /** One channel as it was heard, 48 kHz, from the first sound on. */
  readonly sound: Float32Array;
}

/** The server of the page; `url` is the page for a playlist. */
export function switchingSite(): AsyncDisposable & { url(playlist: string): string } {
  const scripts: Record<string, () => Promise<string>> = {
    '/hls.js': () => Bun.file(join(root, 'node_modules/hls.js/dist/hls.min.js')).text(),
    '/frame-number.js': async () =>
      new Bun.Transpiler({ loader: 'ts' }).transformSync(
        await Bun.file(join(root, 'demo/frame-number.ts')).text(),
      ),
    '/recorder.js': async () => recorder,
    '/page.js': async () => script,
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch({ url }) {
      const { pathname } = new URL(url);
      const text = await scripts[pathname]?.();
      if (text !== undefined) return new Response(text, { headers: { 'content-type': 'text/javascript' } });
      if (pathname === '/favicon.ico') return new Response(null, { status: 204 });
      return new Response(html, { headers: { 'content-type': 'text/html' } });
    },
  });
  return {
    url: (playlist) => `${server.url}?${new URLSearchParams({ playlist })}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Answers when it has shown two seconds. `first`: height of the level that it begins with. */
export async function openSwitching(
  browser: Browser,
  options: { url: string; first: number },
): Promise<SwitchingPage> {
  const context = await browser.newContext({ viewport: { width: 960, height: 640 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('crash', () => complaints.push('the tab crashed'));
  await page.goto(`${options.url}&first=${options.first}`);
  const wait = (what: string, probe: () => Promise<boolean>) =>
    until(what, probe, { within: 40_000, every: 100 }).catch(async (error) => {
      throw new Error(
        `${error.message}; the page: ${JSON.stringify(await look(page))}, ${JSON.stringify(complaints)}`,
      );
    });
  const opened: SwitchingPage = {
    levels: () => page.evaluate(() => (window as unknown as OnPage).note.heights()),
    async switchTo(height, how) {
      await page.evaluate(({ height, how }) => (window as unknown as OnPage).note.switchTo(height, how), {
        height,
        how,
      });
      await wait(`a picture ${height} pixels high`, async () => (await look(page)).height === height);
    },
    async play(seconds) {
      const to = (await look(page)).time + seconds;
      await wait(`${seconds} s to play`, async () => (await look(page)).time >= to);
    },
    async notes() {
      const { sound, ...rest } = await page.evaluate(() => (window as unknown as OnPage).note.all());
      const bytes = Buffer.from(sound, 'base64');
      const samples = new Float32Array(bytes.length / 4);
      new Uint8Array(samples.buffer).set(bytes);
      return { ...rest, errors: [...rest.errors, ...complaints], sound: samples };
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
  await wait('the first picture', async () => (await look(page)).height > 0);
  await opened.play(2);
  return opened;
}

const look = (page: Page) => page.evaluate(() => (window as unknown as OnPage).note.look());

/** What `page.js` leaves in the window. */
interface OnPage {
  readonly note: {
    heights(): number[];
    switchTo(height: number, how: 'next' | 'load' | 'now'): void;
    look(): { time: number; height: number; waits: number; errors: string[]; level: number };
    all(): Omit<Notes, 'sound'> & { sound: string };
  };
}

const html = `<!doctype html><meta charset="utf-8"><video autoplay width="640"></video>
<script src="/hls.js"></script><script type="module" src="/page.js"></script>`;

/** Runs where sound is made, so that a busy page loses none. */
const recorder = `
registerProcessor('recorder', class extends AudioWorkletProcessor {
  #block = new Float32Array(4096);
  #at = 0;
  process([[channel]]) {
    for (let n = 0; n < 128; n += 1) this.#block[this.#at++] = channel ? channel[n] : 0;
    if (this.#at === this.#block.length) {
      this.port.postMessage(this.#block.slice());
      this.#at = 0;
    }
    return true;
  }
});`;

const script = `
import { readFrameNumber } from '/frame-number.js';
const query = new URLSearchParams(location.search);
const video = document.querySelector('video');
const [pictures, errors, blocks] = [[], [], []];
let waits = 0;
let isPlaying = false;

const context = new AudioContext({ sampleRate: 48000 });
await context.audioWorklet.addModule('/recorder.js');
const recorder = new AudioWorkletNode(context, 'recorder', { channelCount: 1, channelCountMode: 'explicit' });
recorder.port.onmessage = ({ data }) => {
  if (blocks.length > 0 || data.some((sample) => Math.abs(sample) > 0.01)) blocks.push(data);
};
context.createMediaElementSource(video).connect(recorder).connect(context.destination);

// The rows from 156 on hold the number.
const [width, height, from] = [320, 180, 156];
const canvas = new OffscreenCanvas(width, height - from);
const paint = canvas.getContext('2d', { willReadFrequently: true });
function noteShown(_, { mediaTime }) {
  const { videoWidth, videoHeight } = video;
  const top = (from / height) * videoHeight;
  paint.drawImage(video, 0, top, videoWidth, videoHeight - top, 0, 0, width, height - from);
  const { data } = paint.getImageData(0, 0, width, height - from);
  const number = readFrameNumber({ width, height: height - from, data }, { x: 0, y: -from, width, height });
  pictures.push({ time: mediaTime, width: videoWidth, height: videoHeight, number });
  video.requestVideoFrameCallback(noteShown);
}
video.requestVideoFrameCallback(noteShown);
video.addEventListener('waiting', () => {
  if (isPlaying) waits += 1;
});
video.addEventListener('playing', () => (isPlaying = true), { once: true });

// A cushion of some seconds: how busy this machine is must not decide.
const hls = new Hls({ liveSyncDuration: 5, lowLatencyMode: true, maxLiveSyncPlaybackRate: 1, startLevel: 0 });
hls.on(Hls.Events.ERROR, (_, { fatal, details, reason, response }) =>
  errors.push([fatal ? 'fatal' : '', details, reason, response?.code].filter(Boolean).join(' ')));
const levelOf = (height) => hls.levels.findIndex((level) => level.height === height);
hls.on(Hls.Events.MANIFEST_PARSED, () => {
  hls.loadLevel = levelOf(Number(query.get('first')));
});
hls.loadSource(query.get('playlist'));
hls.attachMedia(video);
window.hls = hls;

window.note = {
  heights: () => hls.levels.map((level) => level.height),
  switchTo(height, how) {
    const level = levelOf(height);
    if (how === 'next') hls.nextLevel = level;
    else if (how === 'load') hls.loadLevel = level;
    else hls.currentLevel = level;
  },
  look: () => ({
    time: video.currentTime, height: video.videoHeight, waits, errors, level: hls.currentLevel,
    latency: hls.latency, sounds: blocks.length, state: context.state, paused: video.paused,
  }),
  all() {
    const bytes = new Uint8Array(blocks.length * 4096 * 4);
    blocks.forEach((block, n) => bytes.set(new Uint8Array(block.buffer), n * 4096 * 4));
    let text = '';
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
    return { pictures, errors, waits, decoded: totalVideoFrames, dropped: droppedVideoFrames, sound: btoa(text) };
  },
};
`;
