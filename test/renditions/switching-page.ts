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
  /**
   * What hls.js called an error, without stalls, and without what it says of a load that it broke off itself: `nextLevel` makes it do so
   * whenever a part is just on its way.
   */
  readonly errors: readonly string[];
  /** Where the element had to wait since it first played. */
  readonly stalls: readonly Stall[];
  /** When timers were late, seconds of `sound`. */
  readonly delays: readonly number[];
  readonly decoded: number;
  readonly dropped: number;
  /** One channel as it was heard, 48 kHz, from the first sound on. */
  readonly sound: Float32Array;
}

/** The element stood still. */
export interface Stall {
  /** Where, seconds of the media. */
  readonly time: number;
  /** Seconds of media that were there from that place on, without a hole. */
  readonly ahead: number;
  /** How late timers of the page and of a worker beside it were in the two seconds before, ms, the worst. */
  readonly late: number;
}

/**
 * Stalls but those of a browser that got no processor: it had more than a second of media to play, and its timers, too, were late.
 * Chromium has 200 ms of decoded sound in store. What a server does wrong shows as a buffer that ran dry or has a hole, or stalls with
 * timers that were on time.
 */
export const lackOfMedia = ({ stalls }: Notes): Stall[] =>
  stalls.filter(({ ahead, late }) => ahead < 1 || late < LATE);

/** Of the breaks of the sound, seconds of it, those with no timer late within two seconds: a short one needs no stall. */
export const unheldBreaks = (breaks: readonly number[], { delays }: Notes): number[] =>
  breaks.filter((at) => delays.every((delay) => Math.abs(delay - at) > 2));

/** Half of what is in store, ms: the timers are not in the thread that decodes. */
const LATE = 100;

/** The server of the page; `url` is the page for a playlist. */
export function switchingSite(): AsyncDisposable & { url(playlist: string): string } {
  const scripts: Record<string, () => Promise<string>> = {
    '/hls.js': () => Bun.file(join(root, 'node_modules/hls.js/dist/hls.min.js')).text(),
    '/frame-number.js': async () =>
      new Bun.Transpiler({ loader: 'ts' }).transformSync(
        await Bun.file(join(root, 'test/kit/frame-number.ts')).text(),
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
    look(): { time: number; height: number; stalls: Stall[]; errors: string[]; level: number };
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
const [pictures, errors, stalls, delays, blocks] = [[], [], [], [], []];
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
// How late timers are, here and in a thread that does nothing else.
const lateness = [];
const beat = (note) => {
  let due = performance.timeOrigin + performance.now() + 20;
  setInterval(() => {
    const now = performance.timeOrigin + performance.now();
    note({ now, late: now - due });
    due = now + 20;
  }, 20);
};
function noteLate({ now, late }) {
  lateness.push({ now, late });
  if (late >= ${LATE}) delays.push((blocks.length * 4096) / 48000);
  while (lateness[0].now < now - 10_000) lateness.shift();
}
beat(noteLate);
const worker = new Worker(URL.createObjectURL(new Blob(['(' + beat + ')(postMessage)'])));
worker.onmessage = ({ data }) => noteLate(data);

video.addEventListener('waiting', noteStall);
video.addEventListener('playing', () => (isPlaying = true), { once: true });
function noteStall() {
  if (!isPlaying) return;
  const { currentTime: time, buffered } = video;
  let end = time;
  for (let n = 0; n < buffered.length; n += 1)
    if (buffered.start(n) <= time && time < buffered.end(n)) end = buffered.end(n);
  const stall = { time, ahead: end - time, late: 0 };
  stalls.push(stall);
  // What is late now tells so when it comes.
  const from = performance.timeOrigin + performance.now() - 2000;
  setTimeout(() => {
    for (const { now, late } of lateness) if (now >= from && now <= from + 2500) stall.late = Math.max(stall.late, late);
  }, 500);
}

// A cushion of some seconds: how busy this machine is must not decide.
const hls = new Hls({ liveSyncDuration: 5, lowLatencyMode: true, maxLiveSyncPlaybackRate: 1, startLevel: 0 });
hls.on(Hls.Events.ERROR, (_, { fatal, details, reason, response }) => {
  if (!fatal && details === Hls.ErrorDetails.INTERNAL_ABORTED) return;
  // The element says nothing when its time stands still without a cause. It does at almost the same time when it has one.
  if (!fatal && details === Hls.ErrorDetails.BUFFER_STALLED_ERROR) {
    if (!(Math.abs(stalls.at(-1)?.time - video.currentTime) < 0.1)) noteStall();
    return;
  }
  errors.push([fatal ? 'fatal' : '', details, reason, response?.code].filter(Boolean).join(' '));
});
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
    time: video.currentTime, height: video.videoHeight, stalls, errors, level: hls.currentLevel,
    latency: hls.latency, sounds: blocks.length, state: context.state, paused: video.paused,
  }),
  all() {
    const bytes = new Uint8Array(blocks.length * 4096 * 4);
    blocks.forEach((block, n) => bytes.set(new Uint8Array(block.buffer), n * 4096 * 4));
    let text = '';
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
    return { pictures, errors, stalls, delays, decoded: totalVideoFrames, dropped: droppedVideoFrames, sound: btoa(text) };
  },
};
`;
