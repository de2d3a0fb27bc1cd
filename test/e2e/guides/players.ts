import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { broadcast } from '../harness/ffmpeg.ts';
import { statusOf } from '../harness/playlist.ts';
import { until } from '../harness/wait.ts';
import type { PageRun } from './page-run.ts';
import { file, html, installs, json, plays, type Step, script, sh, soon } from './steps.ts';

/** The broadcast ends, with its playlist, and begins again: the page goes on without a reload. */
async function comesBack(page: Page, run: PageRun): Promise<void> {
  await soon('a picture that moves', () => isMoving(page));
  await run.world.server.api.terminate(run.variable('STREAM_ID'));
  await soon('a picture that stands still', async () => !(await isMoving(page)));
  run.own(broadcast(run.variable('INGEST_URL'), { clip: run.world.clip }));
  await soon('a picture that moves again', () => isMoving(page));
}

/** For a second. A player that begins anew counts its pictures anew. */
async function isMoving(page: Page): Promise<boolean> {
  const pictures = () =>
    page.evaluate(() => document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames ?? 0);
  const before = await pictures();
  await page.waitForTimeout(1000);
  return (await pictures()) > before;
}

/** Of the picture on show, s. */
const most = 8;

async function saysHowFarBehind(page: Page): Promise<void> {
  await plays()(page);
  await soon('the distance to live', async () => {
    const said = await page.textContent('#behind');
    const [, seconds] = /^(\d+\.\d) s behind live$/.exec(said ?? '') ?? [];
    if (!(Number(seconds) < most)) throw new Error(`it says ${said}`);
    return true;
  });
}

/** The frame of the page obeys messages, as embed.md says. */
async function playsOnMessage(page: Page): Promise<void> {
  await soon('the player', async () => {
    await page.evaluate(() =>
      document.querySelector('iframe')?.contentWindow?.postMessage({ millrace: 'play' }, '*'),
    );
    await page.waitForTimeout(500);
    const counts = page
      .frames()
      .map((frame) =>
        frame.evaluate(
          () => document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames ?? 0,
        ),
      );
    return (await Promise.all(counts)).some((count) => count > 10);
  });
}

/** A saved mp4 of about this length. */
const lasts = (printed: string, seconds: number) => {
  const length = Number(printed.trim());
  expect(length).toBeGreaterThan(seconds - 3);
  expect(length).toBeLessThan(seconds + 3);
};

/** What the script of embed.md says of a broadcast that is over, in a page with the component of the block before. */
async function hearsTheEnd(page: Page, run: PageRun): Promise<void> {
  await plays()(page);
  const { api } = run.world.server;
  const ended = page.evaluate(
    () =>
      new Promise((resolve) =>
        document.querySelector('millrace-player')?.addEventListener('ended', () => resolve(true)),
      ),
  );
  await api.terminate(run.variable('STREAM_ID'));
  expect(await ended).toBe(true);
  await soon('the recording in its place', () =>
    page.evaluate(
      (id) => document.querySelector('millrace-player')?.getAttribute('playback-id') !== id,
      run.variable('PLAYBACK_ID'),
    ),
  );
}

const oembed = (run: PageRun) => JSON.parse(run.left.printed) as { html: string };

/** ffmpeg sends MPEG-TS to a port of this test. */
const sendsByUdp: Step = {
  languages: ['sh'],
  async run(run, block) {
    let isFed = false;
    const data = (_: unknown, bytes: Buffer) => {
      isFed ||= bytes[0] === 0x47 && bytes.length % 188 === 0;
    };
    const socket = await Bun.udpSocket({ hostname: '127.0.0.1', socket: { data } });
    run.own({ [Symbol.asyncDispose]: async () => socket.close() });
    run.replace('127.0.0.1:5000', `127.0.0.1:${socket.port}`);
    await sh({ during: () => soon('MPEG-TS', () => isFed) }).run(run, block);
  },
};

/** Starts of the player, and how long each may take, ms: one that stands still is started again, as the page says. */
const starts = 4;
const startLimit = 30_000;

const playsInGstreamer: Step = {
  languages: ['sh'],
  async run(run, block) {
    // No screen, no loudspeaker.
    run.replace('playbin3 uri', 'playbin3 video-sink=fakevideosink audio-sink=fakeaudiosink uri');
    for (let start = 1; ; start += 1) {
      const commands = run.start(block);
      const plays = () => commands.printed.includes('New clock');
      try {
        await until('the clock of a pipeline that plays', plays, { within: startLimit, every: 100 });
        return;
      } catch (error) {
        if (!commands.isRunning || start === starts)
          throw new Error(`${error}; it printed:\n${commands.printed}`);
      } finally {
        await commands.interrupt();
      }
    }
  },
};

/** Steps of the pages about players, while a stream is on the air. */
export const playerPages: Record<string, readonly Step[]> = {
  'hls-js.md': [
    html(comesBack),
    html(saysHowFarBehind),
    sh({ check: (_, printed) => expect(JSON.parse(printed)).toEqual({ type: 'live', phase: 'live' }) }),
  ],
  'video-js.md': [html(plays()), html(comesBack)],
  'shaka.md': [html(comesBack)],
  'safari.md': [html(plays())],
  'vlc-and-ffplay.md': [
    sh({ check: (run, printed) => expect(printed.trim()).toBe(run.variable('PLAYLIST')) }),
    // It shows the clock of the picture, and how far the sound is from it.
    sh({
      during: (_, commands) => soon('pictures and sound', () => /[1-9]\d*\.\d\d A-V:/.test(commands.printed)),
    }),
    playsInGstreamer,
    sh({ check: (_, printed) => lasts(printed, 10) }),
    sendsByUdp,
    sh({ check: (_, printed) => expect(printed).toMatch(/codec_name=h264\|width=320\|height=180/) }),
  ],
  'embed.md': [
    html(playsOnMessage),
    html(plays()),
    script(hearsTheEnd),
    sh(),
    json((run, shown) => {
      const { html: shownHtml, ...rest } = shown as { html: string };
      const actual = oembed(run);
      expect(actual).toMatchObject(rest);
      expect(actual.html.startsWith(shownHtml.split(' …')[0] ?? '-')).toBe(true);
    }),
  ],
  'private-playback.md': [
    sh({ check: (_, printed) => expect(printed).toBe('') }),
    sh({
      check: (run) => {
        const { mode } = statSync(join(run.folder, 'signing-key.json'));
        expect(mode & 0o777).toBe(0o600);
      },
    }),
    installs,
    file('sign.mjs'),
    sh({ check: (run) => run.replace('token=TOKEN', `token=${run.variable('TOKEN')}`) }),
    sh({ check: (_, printed) => expect(printed).toBe('403\n200\n') }),
    html(plays()),
    sh({ check: (_, printed) => expect(JSON.parse(printed)).toEqual({ allowed: true }) }),
    sh({
      check: (run) =>
        soon('the end', async () => {
          const { url } = run.world.server;
          const query = `?token=${run.variable('TOKEN')}`;
          return (await statusOf(`${url}/hls/${run.variable('PLAYBACK_ID')}/index.m3u8${query}`)) === 403;
        }),
    }),
  ],
};
