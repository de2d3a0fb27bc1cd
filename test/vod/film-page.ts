import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { paint } from '../e2e/harness/chromium.ts';
import { until } from '../e2e/harness/wait.ts';
import { readFrameNumber } from '../kit/frame-number.ts';

/** A page that plays one film, by hls.js or, an mp4, by the browser alone. */
export interface FilmPage extends AsyncDisposable {
  /** Seconds. */
  readonly duration: number;
  /** Stops at that second; the number of the clip's picture that is then on show. */
  pictureAt(seconds: number): Promise<number | null>;
  /** Plays on from that second until another; how many pictures came, and how many of them late. */
  play(from: number, to: number): Promise<{ pictures: number; dropped: number }>;
  /** Plays this one of the playlists from now on, by the height that it names; of what is loaded nothing stays. */
  watch(height: number): Promise<void>;
  /** The same for what is loaded from now on; what is there is played on. */
  goOnWith(height: number): Promise<void>;
  /** Heights of pictures that came on show, each when it changed. */
  heights(): Promise<number[]>;
  /** Stretches of time that can be played without a load, seconds. */
  buffered(): Promise<number[][]>;
  /** What went wrong so far: of hls.js every fatal error, of the element its error. */
  errors(): Promise<string[]>;
}

/** The page itself and what it needs, to be served from the origin of a test. */
export function filmPageFile(pathname: string): Response | undefined {
  if (pathname === '/hls.js')
    return new Response(Bun.file(createRequire(import.meta.url).resolve('hls.js/dist/hls.min.js')));
  if (pathname !== '/film') return undefined;
  return new Response('<!doctype html><video muted crossorigin></video><script src="hls.js"></script>', {
    headers: { 'content-type': 'text/html' },
  });
}

/** @param options `page`: of the origin that serves `filmPageFile`; `url`: of the film */
export async function openFilm(browser: Browser, options: { page: string; url: string }): Promise<FilmPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(options.page);
  await page.evaluate((url) => {
    const video = document.querySelector('video') as HTMLVideoElement;
    const errors: string[] = [];
    const note: Noting['note'] = { errors, soughtAt: 0, shownAt: 0, heights: [] };
    Object.assign(window, { note });
    const noteShown = (_: number, { presentationTime, height }: VideoFrameCallbackMetadata) => {
      note.shownAt = presentationTime;
      if (note.heights.at(-1) !== height) note.heights.push(height);
      video.requestVideoFrameCallback(noteShown);
    };
    video.requestVideoFrameCallback(noteShown);
    video.addEventListener('error', () => errors.push(`${video.error?.code} ${video.error?.message}`));
    if (url.endsWith('.mp4')) {
      video.src = url;
      return;
    }
    // biome-ignore lint/suspicious/noExplicitAny: hls.js as the page has it
    const { Hls } = window as any;
    const hls = new Hls();
    note.hls = hls;
    // biome-ignore lint/suspicious/noExplicitAny: what hls.js tells
    hls.on(Hls.Events.ERROR, (_: unknown, error: any) => {
      if (error.fatal) errors.push(`${error.type} ${error.details}`);
    });
    hls.loadSource(url);
    hls.attachMedia(video);
  }, options.url);
  const state = () => look(page);
  const seek = (to: number) =>
    page.evaluate((at) => {
      const video = document.querySelector('video') as HTMLVideoElement;
      (window as unknown as Noting).note.soughtAt = performance.now();
      video.currentTime = at;
    }, to);
  const errors = async () => (await state()).errors;
  const wait = (what: string, probe: () => Promise<boolean>) =>
    until(what, probe, { within: 20_000 }).catch(async (error) => {
      throw new Error(`${error.message}; the page: ${JSON.stringify(await state())}`);
    });
  await wait('the film to be known', async () => (await state()).readyState >= 2);
  const { duration } = await state();
  return {
    duration,
    errors,
    async pictureAt(seconds) {
      await page.evaluate(() => document.querySelector('video')?.pause());
      await seek(seconds);
      await wait(`the picture at ${seconds} s`, async () => {
        const { isSeeking, readyState, isShown } = await state();
        // What was sought is there before it is on show.
        return !isSeeking && readyState >= 2 && isShown;
      });
      const picture = await paint(page);
      return picture && readFrameNumber(picture);
    },
    async play(from, to) {
      await seek(from);
      const before = await state();
      await page.evaluate(() => void document.querySelector('video')?.play());
      await wait(`playback from ${from} to ${to} s`, async () => {
        const { currentTime, isSeeking, hasEnded } = await state();
        return !isSeeking && (currentTime >= to || hasEnded);
      });
      const after = await state();
      return { pictures: after.pictures - before.pictures, dropped: after.dropped - before.dropped };
    },
    watch: (height) => choose(page, { height, how: 'currentLevel' }),
    goOnWith: (height) => choose(page, { height, how: 'nextLoadLevel' }),
    heights: () => page.evaluate(() => (window as unknown as Noting).note.heights),
    buffered: async () => (await state()).buffered,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Of a page; times as `performance.now()` has them. */
interface Noting {
  readonly note: {
    readonly errors: string[];
    soughtAt: number;
    shownAt: number;
    readonly heights: number[];
    // biome-ignore lint/suspicious/noExplicitAny: hls.js as the page has it
    hls?: any;
  };
}

function choose(page: Page, options: { height: number; how: 'currentLevel' | 'nextLoadLevel' }) {
  return page.evaluate(({ height, how }) => {
    const { hls } = (window as unknown as Noting).note;
    const level = hls.levels.findIndex((one: { height: number }) => one.height === height);
    if (level < 0) throw new Error(`there is no playlist of ${height} lines`);
    hls[how] = level;
  }, options);
}

function look(page: Page) {
  return page.evaluate(() => {
    const video = document.querySelector('video') as HTMLVideoElement;
    const quality = video.getVideoPlaybackQuality();
    const { buffered } = video;
    const { errors, soughtAt, shownAt } = (window as unknown as Noting).note;
    return {
      duration: video.duration,
      currentTime: video.currentTime,
      readyState: video.readyState,
      isSeeking: video.seeking,
      hasEnded: video.ended,
      pictures: quality.totalVideoFrames,
      dropped: quality.droppedVideoFrames,
      buffered: Array.from({ length: buffered.length }, (_, i) => [buffered.start(i), buffered.end(i)]),
      /** A picture came on show since it was last sought. */
      isShown: shownAt >= soughtAt,
      errors,
    };
  });
}
