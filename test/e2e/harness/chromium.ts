import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type Picture, readFrameNumber } from '../../kit/frame-number.ts';
import type { Shown } from './hls-page.ts';
import { until } from './wait.ts';

/** A viewer: one tab on a stream's watch page. */
export interface Viewer extends AsyncDisposable {
  sample(): Promise<Sample>;
  /** The picture on show, 640 pixels wide; null before the first one. */
  picture(): Promise<Picture | null>;
  /** The number painted into the demo clip's picture on show; null when it cannot be read. */
  frameNumber(): Promise<number | null>;
  /** Of a page of `hlsPage` that plays the demo clip: what came on show so far. */
  shown(): Promise<readonly Shown[]>;
  /** Waits until `frames` more pictures were decoded than now. */
  watch(frames: number, options: { within: number }): Promise<Sample>;
  screenshot(path: string): Promise<void>;
  /** What can be sought in, seconds of the media element. */
  seekable(): Promise<{ start: number; end: number }>;
  /** Goes there, and goes on playing. */
  seek(time: number): Promise<void>;
  /** Plays another level of hls.js, counted from the smallest, from its next segment on. */
  chooseLevel(level: number): Promise<void>;
  /** Page loads so far: 1 unless somebody reloaded. */
  readonly loads: number;
  /** What the page complained about: exceptions, and lines of console.error. */
  readonly complaints: readonly string[];
}

export interface Sample {
  /** Pictures decoded since the page opened, those not shown in time included. */
  frames: number;
  dropped: number;
  /** Bytes of sound decoded since then. */
  soundBytes: number;
  currentTime: number;
  /** The media element's error, in words. */
  error: string | null;
  /** Errors of hls.js that ended its playing. */
  fatalErrors: number;
  /** What the page noted: errors of hls.js, and what it did about a picture that stood still. */
  notes: string[];
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
export const browserFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Several tabs play side by side: none of them may be put to sleep.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--autoplay-policy=no-user-gesture-required',
  '--mute-audio',
];

/** Headless Chromium as the system has it. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath(), headless: true, args: browserFlags });
}

/** Where Chromium is on this machine. */
export function browserPath(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const paths = [
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))),
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ];
  const executablePath = paths.find((path) => existsSync(path));
  if (!executablePath)
    throw new Error(`no Chromium on this machine (${names.join(', ')}): run scripts/e2e-setup.sh`);
  return executablePath;
}

/** Opens the watch page and waits until its first picture moved, or with `hasPicture: false` until time does. */
export async function openViewer(
  browser: Browser,
  options: { url: string; within?: number; hasPicture?: boolean },
): Promise<Viewer> {
  const context = await browser.newContext({ viewport: { width: 960, height: 640 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  let loads = 0;
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame()) loads += 1;
  });
  page.on('crash', () => complaints.push('the tab crashed'));
  await page.goto(options.url);

  const viewer: Viewer = {
    sample: () => samplePage(page),
    picture: () => paint(page),
    async frameNumber() {
      const picture = await paint(page);
      return picture && readFrameNumber(picture);
    },
    shown: () => page.evaluate(() => (window as unknown as { millrace: { shown: Shown[] } }).millrace.shown),
    async watch(frames, { within }) {
      const target = (await samplePage(page)).frames + frames;
      return until(`${frames} more pictures`, async () => enough(await samplePage(page), target), {
        within,
        every: 100,
      }).catch(async (error) => {
        throw new Error(`${error.message}; ${await describe()}`);
      });
    },
    screenshot: async (path) => {
      await page.screenshot({ path });
    },
    seekable: () =>
      page.evaluate(() => {
        const { seekable } = document.querySelector('video') as HTMLVideoElement;
        const last = seekable.length - 1;
        return last < 0 ? { start: 0, end: 0 } : { start: seekable.start(0), end: seekable.end(last) };
      }),
    seek: (time) =>
      page.evaluate((to) => {
        (document.querySelector('video') as HTMLVideoElement).currentTime = to;
      }, time),
    chooseLevel: (level) =>
      page.evaluate((to) => {
        (window as unknown as { millrace: { hls: { nextLevel: number } } }).millrace.hls.nextLevel = to;
      }, level),
    get loads() {
      return loads;
    },
    complaints,
    [Symbol.asyncDispose]: () => context.close(),
  };
  const describe = async () =>
    `the page: ${JSON.stringify(await samplePage(page).catch(String))}, loads ${loads}, complaints ${JSON.stringify(complaints)}`;
  const within = options.within ?? 15_000;
  if (options.hasPicture ?? true) await viewer.watch(2, { within });
  else
    await until('the sound to run', async () => (await viewer.sample()).currentTime > 0.5, { within }).catch(
      async (error) => {
        throw new Error(`${error.message}; ${await describe()}`);
      },
    );
  return viewer;
}

/** Throws what was seen as long as it is not enough, so that a timeout tells it. */
function enough(sample: Sample, target: number): Sample {
  if (sample.frames >= target) return sample;
  throw new Error(`${sample.frames} of ${target} pictures`);
}

const samplePage = (page: Page): Promise<Sample> =>
  page.evaluate(() => {
    const video = document.querySelector('video');
    const quality = video?.getVideoPlaybackQuality();
    const page = (window as { millrace?: { fatalErrors: number; log: unknown[] } }).millrace;
    return {
      frames: quality?.totalVideoFrames ?? 0,
      dropped: quality?.droppedVideoFrames ?? 0,
      soundBytes:
        (video as { webkitAudioDecodedByteCount?: number } | null)?.webkitAudioDecodedByteCount ?? 0,
      currentTime: video?.currentTime ?? 0,
      error: video?.error ? `${video.error.code} ${video.error.message}` : null,
      fatalErrors: page?.fatalErrors ?? Number.NaN,
      notes: (page?.log ?? []).map((note) => (typeof note === 'string' ? note : JSON.stringify(note))),
    };
  });

/** The picture that the page's video shows, 640 pixels wide; null before the first one. */
export async function paint(page: Page): Promise<Picture | null> {
  const painted = await page.evaluate(() => {
    const video = document.querySelector('video');
    if (!video?.videoWidth) return null;
    const canvas = document.createElement('canvas');
    canvas.width = 640;
    canvas.height = Math.round((640 * video.videoHeight) / video.videoWidth);
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    context.drawImage(video, 0, 0, canvas.width, canvas.height);
    const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
    let text = '';
    for (let at = 0; at < data.length; at += 32_768) {
      text += String.fromCharCode(...data.subarray(at, at + 32_768));
    }
    return { width, height, base64: btoa(text) };
  });
  return painted && { ...painted, data: Buffer.from(painted.base64, 'base64') };
}
