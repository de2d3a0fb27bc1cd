import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { encode } from './harness/encoders.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { proxyTo } from './harness/proxy.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { lasting, until } from './harness/wait.ts';

/** The player in pages of another origin: what it plays, its keys, and how it comes back by itself. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-embed-'));
/** Set to a folder to look at what the player showed. */
const shots = process.env.MILLRACE_SCREENSHOTS;
/** Seconds behind live, 10 s after an outage: wanted, and what a busy machine may make of it. */
const wanted = 3;
const most = 2 * wanted;
let browser: Browser;
let server: Server;
/** Small, so that ten players on two cores show every picture of it: FLV and mp4. */
const clip = join(folder, 'clip.flv');
const film = join(folder, 'clip.mp4');
let site: ReturnType<typeof siteFor>;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    launchBrowser(),
    startServer({ env: { MILLRACE_PLUGINS__STREAMS__HOLD: '2m' } }),
  ]);
  site = siteFor(server.url);
  const picture = ['-vf', 'scale=320:180', '-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '0', '-g', '60'];
  await encode(['-i', join(root, 'demo/clip.flv'), '-t', '20', ...picture, '-c:a', 'copy', clip]);
  await encode(['-i', clip, '-c', 'copy', film]);
});
afterAll(async () => {
  await browser?.close();
  await site?.stop(true);
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** A site of somebody else, with a policy as strict as the guide says that it can be. */
function siteFor(base: string) {
  const policy = `default-src 'none'; script-src 'self' ${base}; frame-src ${base}`;
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      const { pathname, searchParams } = new URL(url);
      if (pathname === '/host.js')
        return new Response(hostScript, { headers: { 'content-type': 'text/javascript' } });
      const markup = Buffer.from(searchParams.get('markup') ?? '', 'base64url').toString();
      const page = `<!doctype html><html lang="en"><title>Host</title><script src="/host.js"></script><body>${markup}`;
      return new Response(page, {
        headers: { 'content-type': 'text/html', 'content-security-policy': policy },
      });
    },
  });
}

/** Notes the events of a component. */
const hostScript = `
window.told = [];
for (const type of ['play', 'pause', 'timeupdate', 'ended', 'error'])
  addEventListener(type, ({ target, detail }) => target.localName === 'millrace-player' && told.push({ type, ...detail }), true);`;

const iframe = (url: string) =>
  `<iframe src="${url}" width="460" height="250" title="Player" allow="autoplay; fullscreen" allowfullscreen></iframe>`;

/** What pages have in their `window`. */
interface InPage {
  millrace: { state: string; log: unknown[]; hls: { playingDate?: Date } | null; isDvr: boolean };
  told: { type: string; message?: string }[];
  axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
}

/** A tab with this markup on the other site, or on an address; `frame` is the one of the player. */
async function open(what: { markup: string } | { url: string }, viewport = { width: 480, height: 270 }) {
  const page = await browser.newPage({ viewport });
  const complaints: string[] = [];
  const hosts = new Set<string>();
  let loads = 0;
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => {
    // The browser notes requests that were refused or cut off.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource'))
      complaints.push(line.text());
  });
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  page.on('framenavigated', () => {
    loads += 1;
  });
  const url =
    'url' in what ? what.url : `${site.url}?markup=${Buffer.from(what.markup).toString('base64url')}`;
  await page.goto(url);
  const frame = await until('the player', () => page.frames().find((one) => one.url().includes('/embed/')), {
    within: 10_000,
  });
  const loadsAtFirst = loads;
  return {
    ...{ page, frame, complaints, hosts },
    /** Navigations of the tab and of the frame since then. */
    get reloads() {
      return loads - loadsAtFirst;
    },
    plays: (seconds: number) =>
      until(
        `${seconds} s of it`,
        async () => (await seenIn(frame)).played > seconds || fail(await seenIn(frame)),
        {
          within: 40_000,
          every: 100,
        },
      ),
    shoot: (name: string) => (shots ? page.screenshot({ path: join(shots, `${name}.png`) }) : undefined),
    [Symbol.asyncDispose]: () => page.close(),
  };
}

const fail = (seen: unknown): never => {
  throw new Error(JSON.stringify(seen));
};

/** What a player shows; `behind` by the clock of the server, which runs on this machine. */
const seenIn = (frame: Frame) =>
  frame.evaluate(() => {
    const { state, log, hls, isDvr } = (window as unknown as InPage).millrace;
    const video = document.querySelector('video') as HTMLVideoElement;
    const { currentTime, paused, muted, volume, duration } = video;
    return {
      ...{ state, isDvr, currentTime, paused, muted, volume, duration, log },
      /** Seconds of the clip: 30 pictures each. */
      played: video.getVideoPlaybackQuality().totalVideoFrames / 30,
      behind: (Date.now() - Number(hls?.playingDate)) / 1000,
      message: document.getElementById('message')?.textContent,
      live: document.getElementById('live')?.textContent?.replace(/\s+/g, ' ').trim(),
      accent: getComputedStyle(document.documentElement).getPropertyValue('--accent').trim(),
    };
  });
type Seen = Awaited<ReturnType<typeof seenIn>>;

const shows = (frame: Frame, what: string, check: (seen: Seen) => boolean, within = 20_000) =>
  until(
    what,
    async () => {
      const seen = await seenIn(frame);
      return check(seen) ? seen : fail(seen);
    },
    { within, every: 50 },
  );

/**
 * Serious faults that axe-core finds in a page. The button for the sound has tips for both its states, one of them in a slot that
 * is not displayed; axe-core looks through slots, reads "Mute Unmute" while the tip is on show, and misses it in the label.
 */
async function faultsIn(frame: Frame): Promise<string[]> {
  await frame.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  return frame.evaluate(async () => {
    const { violations } = await (window as unknown as InPage).axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .filter(
        ({ id, nodes }) =>
          id !== 'label-content-name-mismatch' ||
          nodes.some(({ html }) => !html.startsWith('<media-mute-button')),
      )
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

async function filmOf(): Promise<string> {
  const { assetId } = await upload(server, film);
  return (await (await server.api.request('GET', `/api/asset/${assetId}`)).json()).playbackId;
}

async function phaseOf(of: Server, id: string): Promise<string> {
  return (await (await of.api.request('GET', `/api/playback/${id}`)).json()).meta.phase;
}

/** An encoder at work on a stream. */
const sendTo = (streamKey: string, of = server, options = {}) =>
  broadcast(of.ingestUrl(streamKey), { clip, ...options });

describe.concurrent('the embeddable player', () => {
  it('plays live in a frame and as a component, goes back in a recorded broadcast, and then plays its recording', async () => {
    const stream = await server.api.createStream({ name: 'Live', record: true });
    const url = `${server.url}/embed/${stream.playbackId}?autoplay=1&muted=1`;
    await using tab = await open({ markup: iframe(url) });
    await shows(
      tab.frame,
      'why it waits',
      ({ message }) => message === 'Not on the air yet. This page starts by itself.',
    );
    await tab.shoot('embed-waiting');
    const encoder = sendTo(stream.streamKey);
    await tab.plays(2);
    const player = `<millrace-player playback-id="${stream.playbackId}" muted></millrace-player><script src="${server.url}/embed/player.js" defer></script>`;
    await using other = await open({ markup: player });
    await shows(other.frame, 'its poster', ({ state }) => state === 'ready');
    expect((await seenIn(other.frame)).played).toBeLessThan(0.1);
    await other.shoot('embed-poster');
    await other.page.evaluate(() => document.querySelector<HTMLVideoElement>('millrace-player')?.play());
    await other.plays(2);
    await other.shoot('embed-live');
    await shows(other.frame, 'how far behind it is', ({ live }) => /^LIVE −\d/.test(live ?? ''));

    await shows(tab.frame, '20 s of it', ({ played }) => played > 18, 40_000);
    await tab.frame.press('media-mute-button', 'j');
    const back = await shows(tab.frame, 'the past', ({ isDvr, state }) => isDvr && state === 'playing');
    expect(back.behind).toBeGreaterThan(8);
    await tab.shoot('embed-dvr');
    await tab.frame.click('#live');
    const now = await shows(tab.frame, 'live', ({ isDvr, behind }) => !isDvr && behind < most);
    expect(now.behind).toBeLessThan(back.behind - 4);

    await encoder.stop();
    await server.api.terminate(stream.id);
    const over = (seen: Seen) => seen.message === 'The broadcast is over.';
    await shows(tab.frame, 'that it is over', over, 30_000);
    const told = () => other.page.evaluate(() => (window as unknown as InPage).told);
    await until('the end', async () => (await told()).some(({ type }) => type === 'ended'), {
      within: 20_000,
    });
    const types = new Set((await told()).map(({ type }) => type));
    expect(types).toEqual(new Set(['play', 'timeupdate', 'ended', ...(types.has('pause') ? ['pause'] : [])]));
    await tab.frame.click('#recording', { timeout: 20_000 });
    const film = await shows(
      tab.frame,
      'the recording',
      ({ state, played }) => state === 'film' && played > 1,
      40_000,
    );
    expect(film.duration).toBeGreaterThan(15);
    await tab.shoot('embed-recording');
    expect([tab.complaints, other.complaints]).toEqual([[], []]);
    const known = [new URL(server.url).host, site.url.host, ''];
    for (const host of [...tab.hosts, ...other.hosts]) expect(known).toContain(host);
  }, 120_000);

  it('plays a film from where it is asked to, by the keys of YouTube, and has no serious fault', async () => {
    const id = await filmOf();
    const url = `${server.url}/embed/${id}`;
    await using plain = await open({ url });
    await shows(plain.frame, 'its poster', ({ state, duration }) => state === 'film' && duration > 19);
    await plain.shoot('embed-film-poster');
    expect(await faultsIn(plain.frame)).toEqual([]);
    expect((await seenIn(plain.frame)).currentTime).toBe(0);

    await using tab = await open({
      markup: iframe(`${url}?autoplay=1&amp;muted=1&amp;start=8&amp;color=ff8800`),
    });
    const begun = await shows(tab.frame, 'its picture', ({ played }) => played > 0.5);
    expect(begun.currentTime).toBeGreaterThan(8);
    expect([begun.accent, begun.muted]).toEqual(['#ff8800', true]);
    await tab.shoot('embed-film');
    const press = (key: string) => tab.frame.press('media-mute-button', key);
    await press('k');
    await shows(tab.frame, 'a pause', ({ paused }) => paused);
    for (const [key, place] of [
      ['5', 10],
      ['l', 20],
      ['j', 10],
      ['ArrowLeft', 5],
      ['ArrowRight', 10],
      ['1', 2],
      ['0', 0],
    ] as const) {
      await press(key);
      await shows(
        tab.frame,
        `${place} s after ${key}`,
        ({ currentTime }) => Math.abs(currentTime - place) < 0.3,
      );
    }
    await press('m');
    await shows(tab.frame, 'its sound', ({ muted }) => !muted);
    await press('ArrowDown');
    await shows(tab.frame, 'less sound', ({ volume }) => Math.abs(volume - 0.95) < 0.01);
    await press('f');
    await until('the full screen', () => tab.frame.evaluate(() => document.fullscreenElement !== null), {
      within: 10_000,
    });
    expect(await faultsIn(tab.frame)).toEqual([]);
    expect([plain.complaints, tab.complaints]).toEqual([[], []]);
  }, 120_000);

  it('says what is wrong, in the frame and to the page around it, and takes no colour that is none', async () => {
    const player = `<millrace-player playback-id="0123456789abcdef" src-base="${server.url}/" color="red;background:url(//example.com)"></millrace-player><script type="module" src="${server.url}/embed/player.js"></script>`;
    await using tab = await open({ markup: player });
    const words = 'There is no video at this address. Check the link.';
    const { accent } = await shows(tab.frame, words, ({ message }) => message === words);
    expect(accent).toMatch(/^oklch/);
    const told = await until(
      'the error',
      () => tab.page.evaluate(() => (window as unknown as InPage).told.find(({ type }) => type === 'error')),
      { within: 10_000 },
    );
    expect(told).toMatchObject({ message: words });
    expect(await faultsIn(tab.frame)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  }, 120_000);
});

describe.concurrent('without a reload, 10 s later at live again', () => {
  /** Plays, breaks, and is at live 10 s after `breaks` is done. */
  async function comesBack(
    name: string,
    options: { of: Server; through?: number; id: string; breaks(page: Page): Promise<void> },
  ) {
    const { of, through, id, breaks } = options;
    const base = through ? `http://127.0.0.1:${through}` : of.url;
    await until('the broadcast', async () => (await fetch(of.playlistUrl(id))).ok, { within: 20_000 });
    await using tab = await open(
      { url: `${base}/embed/${id}?autoplay=1&muted=1` },
      { width: 320, height: 180 },
    );
    await tab.plays(2);
    await shows(tab.frame, 'live', ({ state, behind }) => state === 'playing' && behind < wanted, 40_000);
    await breaks(tab.page);
    await until('the broadcast to be back', async () => (await phaseOf(of, id)) === 'live', {
      within: 30_000,
    });
    await lasting(10_000);
    const seen = await seenIn(tab.frame);
    console.log(`${name}: ${seen.behind.toFixed(1)} s behind live after 10 s (wanted: ${wanted} s)`);
    expect(seen, JSON.stringify(seen)).toMatchObject({ state: 'playing', message: '' });
    expect(seen.behind, JSON.stringify(seen)).toBeLessThan(most);
    const { currentTime } = seen;
    await shows(tab.frame, 'pictures that move', (now) => now.currentTime > currentTime + 1, 5000);
    expect([tab.reloads, tab.complaints]).toEqual([0, []]);
  }

  it.each([5, 20])(
    'after its encoder was away for %i s',
    async (seconds) => {
      const { streamKey, playbackId } = await server.api.createStream({ name: `Encoder ${seconds}` });
      await using first = sendTo(streamKey);
      let second: ReturnType<typeof sendTo> | undefined;
      await comesBack(`encoder away for ${seconds} s`, {
        ...{ of: server, id: playbackId },
        async breaks() {
          await first.kill();
          await lasting(seconds * 1000);
          second = sendTo(streamKey);
        },
      });
      await second?.kill();
    },
    150_000,
  );

  it('after the network was away for 30 s', async () => {
    const { streamKey, playbackId } = await server.api.createStream({ name: 'Network' });
    await using _ = sendTo(streamKey);
    await using network = await proxyTo(Number(new URL(server.url).port));
    await comesBack('network away for 30 s', {
      ...{ of: server, through: network.port, id: playbackId },
      async breaks() {
        network.cut({ forMs: 30_000 });
        await lasting(30_000);
      },
    });
  }, 200_000);

  it('after the server was killed and started again', async () => {
    await using own = await startServer();
    const { streamKey, playbackId } = await own.api.createStream({ name: 'Server' });
    await using _ = sendTo(streamKey, own, { retry: true });
    await comesBack('server killed and restarted', {
      ...{ of: own, id: playbackId },
      async breaks() {
        await own.kill('SIGKILL');
        await own.restart();
      },
    });
  }, 200_000);

  it('after its tab slept for 60 s', async () => {
    const { streamKey, playbackId } = await server.api.createStream({ name: 'Sleep' });
    await using _ = sendTo(streamKey);
    await comesBack('tab asleep for 60 s', {
      ...{ of: server, id: playbackId },
      async breaks(page) {
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
        await lasting(60_000);
        await devtools.send('Page.setWebLifecycleState', { state: 'active' });
      },
    });
  }, 200_000);
});
