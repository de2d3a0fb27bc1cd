import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/e2e/harness/chromium.ts';
import { readFrameNumber } from '../test/kit/frame-number.ts';
import { broadcast } from '../test/kit/publisher/broadcast.ts';
import { readFlvFile } from '../test/kit/publisher/flv-file.ts';
import { root } from './harness/children.ts';
import { machine, percentile, printTable } from './harness/figures.ts';
import { millrace } from './harness/millrace.ts';
import { until } from './harness/subject.ts';

/**
 * How far behind live a viewer in Chromium is: the frame number painted into the picture on the watch page,
 * against the publisher's log of when that frame was sent. Run: bun bench/live-edge.ts [options]; --join is when the
 * page is opened, seconds after the broadcast began, --settle how long it then has before the measurement;
 * --part and --window are the server's hls.part and hls.window.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    join: { type: 'string', default: '5' },
    settle: { type: 'string', default: '10' },
    part: { type: 'string', default: '350ms' },
    window: { type: 'string', default: '12s' },
    clip: { type: 'string', default: `${root}/demo/clip.flv` },
    screenshot: { type: 'string' },
  },
});
/** Milliseconds between two looks at the picture. */
const every = 137;
/** Width that the picture is read at, pixels. */
const width = 640;

const clip = await readFlvFile(values.clip);
const server = await millrace({
  env: { MILLRACE_HLS__PART: values.part, MILLRACE_HLS__WINDOW: values.window },
});
const stream = await server.createStream('live edge');
/** When each of the clip's frames was sent last, epoch ms. */
const sentAt = new Float64Array(clip.frames);
const onAir = broadcast({
  url: stream.ingestUrl,
  clip,
  onFrame: (frame, _timestamp, at) => {
    sentAt[frame % clip.frames] = at;
  },
});
await onAir.started;
await Bun.sleep(Number(values.join) * 1000);
const browser = await launchBrowser();
try {
  const page = await (await browser.newContext({ viewport: { width: 960, height: 640 } })).newPage();
  const openedAt = performance.now();
  await page.goto(stream.watchUrl);
  await until('a picture', async () => (await look(page)).number !== null, { within: 20_000, every: 20 });
  const firstAfter = performance.now() - openedAt;
  await Bun.sleep(Number(values.settle) * 1000);

  const delays: number[] = [];
  const said: number[] = [];
  let unread = 0;
  const before = await quality(page);
  const until_ = performance.now() + Number(values.seconds) * 1000;
  while (performance.now() < until_) {
    const seen = await look(page);
    const sent = seen.number === null ? 0 : (sentAt[seen.number] ?? 0);
    if (sent > 0) delays.push(seen.at - sent);
    else unread += 1;
    if (seen.latency !== null) said.push(seen.latency * 1000);
    await Bun.sleep(every);
  }
  const after = await quality(page);
  if (values.screenshot) await page.screenshot({ path: values.screenshot });
  const row = (words: string, ms: readonly number[]) => [
    words,
    ...[5, 50, 95, 100].map((percent) => percentile(ms, percent).toFixed(0)),
    String(ms.length),
  ];
  printTable(
    ['ms behind live', 'p5', 'p50', 'p95', 'most', 'samples'],
    [row('painted frame, sent to seen', delays), row("hls.js's own reckoning", said)],
  );
  const shown = after.frames - before.frames;
  console.log(
    `\nfirst picture ${firstAfter.toFixed(0)} ms after the page was opened; ${unread} pictures could not be read; ` +
      `${shown} frames in ${values.seconds} s, ${after.dropped - before.dropped} dropped; ` +
      `${after.fatal} fatal errors, playback rate now ${after.rate}.\n` +
      `${values.clip.split('/').at(-1)}: ${clip.frames} frames in ${clip.duration} ms, key frames ${keyFrames()} s apart; joined ${values.join} s after its start, settled for ${values.settle} s, parts of ${values.part}.\n` +
      machine(),
  );
  for (const line of after.log) console.log(line);
} finally {
  await browser.close();
  await onAir.stop({ clean: true });
  await server.stop();
}
process.exit(0);

interface Look {
  /** What is painted; null when it cannot be read. */
  number: number | null;
  /** Epoch ms at which it was on show. */
  at: number;
  /** Seconds behind live as hls.js reckons. */
  latency: number | null;
}

/** Takes the strip with the squares out of the picture on show. */
async function look(page: Page): Promise<Look> {
  const strip = await page.evaluate((wide) => {
    const video = document.querySelector('video');
    const at = performance.timeOrigin + performance.now();
    if (!video?.videoWidth) return null;
    const high = Math.round((wide * video.videoHeight) / video.videoWidth);
    const top = Math.floor(high * 0.85);
    const canvas = new OffscreenCanvas(wide, high - top);
    const context = canvas.getContext('2d', {
      willReadFrequently: true,
    }) as OffscreenCanvasRenderingContext2D;
    context.drawImage(video, 0, -top, wide, high);
    const { data, height } = context.getImageData(0, 0, wide, high - top);
    let text = '';
    for (let from = 0; from < data.length; from += 32_768)
      text += String.fromCharCode(...data.subarray(from, from + 32_768));
    const { hls } = (window as unknown as { millrace?: { hls?: { latency?: number } } }).millrace ?? {};
    return { at, top, high, height, latency: hls?.latency ?? null, base64: btoa(text) };
  }, width);
  if (strip === null) return { number: null, at: 0, latency: null };
  const { at, top, high, height, latency, base64 } = strip;
  const picture = { width, height, data: Buffer.from(base64, 'base64') };
  return { number: readFrameNumber(picture, { x: 0, y: -top, width, height: high }), at, latency };
}

function quality(
  page: Page,
): Promise<{ frames: number; dropped: number; fatal: number; rate: number; log: string[] }> {
  return page.evaluate(() => {
    const video = document.querySelector('video');
    const quality = video?.getVideoPlaybackQuality();
    const { millrace } = window as unknown as {
      millrace?: { fatalErrors: number; log: { at: number; text: string }[] };
    };
    return {
      frames: quality?.totalVideoFrames ?? 0,
      dropped: quality?.droppedVideoFrames ?? 0,
      fatal: millrace?.fatalErrors ?? 0,
      rate: video?.playbackRate ?? 0,
      log: (millrace?.log ?? []).map(({ at, text }) => `${new Date(at).toISOString()} ${text}`),
    };
  });
}

function keyFrames(): string {
  const times = clip.tags.filter((tag) => tag.isKey).map((tag) => tag.timestamp);
  const gaps = times.slice(1).map((time, n) => (time - times[n]) / 1000);
  return percentile(gaps, 50).toFixed(2);
}
