/**
 * How plain hls.js pages get over an encoder that is away and a server that is killed: seconds until new pictures,
 * seconds of standing still, fatal errors, distance behind live. Run: npm run soak -- players [--rounds 3]
 */
import { rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machine, printTable } from '../../bench/harness/figures.ts';
import { launchBrowser, openViewer, type Viewer } from '../e2e/harness/chromium.ts';
import { type Broadcast, broadcast } from '../e2e/harness/ffmpeg.ts';
import { type HlsConfig, hlsPage } from '../e2e/harness/hls-page.ts';
import { readMediaPlaylist } from '../e2e/harness/playlist.ts';
import { startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { paintFile } from '../renditions/painted-clip.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    away: { type: 'string', default: '2,5,10,20' },
    down: { type: 'string', default: '0.5,3' },
    configs: { type: 'string', default: 'default,lowLatency' },
    notes: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(
    [
      '  --rounds 3         how often each',
      '  --away 2,5,10,20   seconds without the encoder; empty: none',
      '  --down 0.5,3       seconds between kill -9 of the server and its start; empty: none',
      '  --configs …        of hls.js, by their names in test/e2e/harness/hls-page.ts',
      '  --notes            errors of hls.js too',
    ].join('\n'),
  );
  process.exit(0);
}
const numbers = (list: string) => list.split(',').filter(Boolean).map(Number);
const configs = values.configs.split(',') as HlsConfig[];
const fps = 30;
/** Longer than an outage and what is watched around it: pictures of the return have lower numbers than those before. */
const clip = { seconds: 90, width: 480, height: 270, fps };
/** Seconds after the return within which a page must show new pictures, or it never does. */
const patience = 30;

interface Row {
  readonly outage: string;
  readonly config: HlsConfig;
  /** Seconds without media. */
  readonly gone: number;
  /** Seconds from the first media of the return to the first new picture; undefined: none came. */
  readonly back: number | undefined;
  /** Seconds without another picture, from the outage to ten seconds after the return of pictures. */
  readonly frozen: number;
  readonly fatal: number;
  /** Seconds, ten seconds later. */
  readonly behind: number | undefined;
}

const rows: Row[] = [];
const clipPath = join(tmpdir(), `millrace-players-${crypto.randomUUID()}.flv`);
await paintFile(clipPath, clip);
const browser = await launchBrowser();
const page = hlsPage();
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const seconds of numbers(values.away)) await measure(`encoder away ${seconds} s`, awayFor(seconds));
  for (const seconds of numbers(values.down)) await measure(`server down ${seconds} s`, downFor(seconds));
}
await browser.close();
await page[Symbol.asyncDispose]();
await rm(clipPath);

console.log(`\n${machine()}; load ${loadavg()[0].toFixed(1)}\n`);
const groups = Map.groupBy(rows, ({ outage, config }) => `${outage}|${config}`);
printTable(
  [
    'outage',
    'hls.js',
    'without media, s',
    'new pictures after, s',
    'frozen, s',
    'fatal errors',
    'behind live 10 s later, s',
  ],
  [...groups.values()].map((group) => [
    group[0].outage,
    group[0].config,
    group.map(({ gone }) => told(gone)).join(' · '),
    group.map(({ back }) => told(back)).join(' · '),
    group.map(({ frozen }) => told(frozen)).join(' · '),
    group.map(({ fatal }) => fatal).join(' · '),
    group.map(({ behind }) => told(behind)).join(' · '),
  ]),
);
process.exitCode = rows.every(({ back, fatal }) => back !== undefined && fatal === 0) ? 0 : 1;

function told(value: number | undefined): string {
  return value === undefined ? 'never' : value.toFixed(1);
}

type Server = Awaited<ReturnType<typeof startServer>>;
/** Makes the outage; answers the encoder that is there afterwards. */
type Outage = (stage: { server: Server; encoder: Broadcast; dial(): Broadcast }) => Promise<Broadcast>;

function awayFor(seconds: number): Outage {
  return async ({ encoder, dial }) => {
    await encoder.kill();
    await Bun.sleep(seconds * 1000);
    return dial();
  };
}

function downFor(seconds: number): Outage {
  return async ({ server, encoder }) => {
    await server.kill();
    await Bun.sleep(seconds * 1000);
    await server.restart();
    return encoder;
  };
}

/** One outage, with a page for each configuration. */
async function measure(outage: string, make: Outage): Promise<void> {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: outage });
  const playlist = server.playlistUrl(stream.playbackId);
  const dial = () => broadcast(server.ingestUrl(stream.streamKey), { clip: clipPath, retry: true });
  const started = events.expect('stream.started', { within: 30_000, streamId: stream.id });
  const first = dial();
  await started;
  const viewers = await Promise.all(
    configs.map((config) => openViewer(browser, { url: page.url(playlist, { config }), within: 30_000 })),
  );
  // So that the numbers of the return are other ones.
  await Bun.sleep(5000);
  const brokeAt = Date.now();
  const encoder = await make({ server, encoder: first, dial });
  const beganAt = await returnOf(playlist, brokeAt);
  const measured = await Promise.all(viewers.map((viewer) => follow(viewer, { brokeAt, beganAt })));
  for (const [i, config] of configs.entries()) {
    rows.push({ outage, config, gone: (beganAt - brokeAt) / 1000, ...measured[i] });
    const { back, frozen, fatal, behind } = measured[i];
    console.log(
      `${outage}, ${config}: back ${told(back)} s, frozen ${told(frozen)} s, fatal ${fatal}, behind ${told(behind)} s`,
    );
    if (values.notes)
      for (const note of (await viewers[i].sample()).notes)
        console.log(`    ${Number(note.slice(0, 13)) - beganAt} ${note.slice(14, 200)}`);
  }
  await encoder.kill();
  await first.kill();
  for (const viewer of viewers) await viewer[Symbol.asyncDispose]();
}

/** When the first media of the return came, epoch ms: the newest date behind a discontinuity. */
function returnOf(playlist: string, after: number): Promise<number> {
  return until(
    'media of the return',
    async () => {
      const { text } = await readMediaPlaylist(playlist);
      const date = text
        .split('#EXT-X-DISCONTINUITY\n')
        .at(-1)
        ?.match(/DATE-TIME:(.*)/)?.[1];
      const at = Date.parse(date ?? '');
      return at > after && at;
    },
    { within: 60_000, every: 100 },
  );
}

async function follow(
  viewer: Viewer,
  { brokeAt, beganAt }: { brokeAt: number; beganAt: number },
): Promise<Pick<Row, 'back' | 'frozen' | 'fatal' | 'behind'>> {
  const isNew = ({ at, number }: { at: number; number: number }) =>
    at > beganAt && number <= ((at - beganAt) / 1000 + 0.5) * fps;
  const first = await until('a new picture', async () => (await viewer.shown()).find(isNew), {
    within: patience * 1000,
    every: 200,
  }).catch(() => undefined);
  await Bun.sleep(first ? Math.max(0, first.at + 10_000 - Date.now()) : 0);
  const end = first ? first.at + 10_000 : Date.now();
  const shown = (await viewer.shown()).filter(({ at }) => at <= end);
  const times = [...shown.map(({ at }) => at), end].filter((at) => at > brokeAt);
  let frozen = 0;
  let last = shown.findLast(({ at }) => at <= brokeAt)?.at ?? brokeAt;
  for (const at of times) {
    // It is looked ten times a second; less than this is a busy machine.
    if (at - last > 500) frozen += at - last;
    last = at;
  }
  const newest = shown.findLast(isNew);
  return {
    back: first && (first.at - beganAt) / 1000,
    frozen: frozen / 1000,
    fatal: (await viewer.sample()).fatalErrors,
    behind: newest && (end - beganAt) / 1000 - newest.number / fps,
  };
}
