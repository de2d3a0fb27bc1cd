import { join } from 'node:path';
import { temporaryFolder } from '../../../bench/harness/children.ts';
import { recorderDefaults } from '../../../runtime/media/recording/settings.ts';
import { launchBrowser } from '../../e2e/harness/chromium.ts';
import { memoryEnv, residentAfterCollection } from '../../e2e/harness/memory.ts';
import { type Server, startServer } from '../../e2e/harness/server.ts';
import { readFlvFile } from '../../kit/publisher/flv-file.ts';
import { checkBrowser, checkDecoding, checkDownload, checkSeeks, probeDuration } from './film-checks.ts';
import { numberedClip } from './numbered-clip.ts';
import { expectReady, type Recording, readRecording } from './recording.ts';
import { replay } from './replay.ts';
import { numbersOf } from './runs.ts';
import { goFirst, type ServerFigures, watchServer } from './server-figures.ts';
import type { Verdict } from './verdict.ts';

/** Most that the memory of a server may differ between a short recording and a long one. */
const noise = 48e6;

/**
 * A recording of a minute and one of hours cost the same: time until ready, memory. What is live goes at the same speed
 * for both, and a recording that is thrown away comes first, because what a live playlist holds at that speed takes its time.
 */
export async function lengths(
  on: Verdict,
  { minutes, speed, isFirst }: { minutes: number; speed: number; isFirst: boolean },
): Promise<void> {
  const clip = await numberedClip();
  // Its sound makes it some milliseconds longer than its pictures.
  const loop = (await readFlvFile(clip)).duration / 1000;
  const folder = temporaryFolder();
  await using server = await startServer({ env: memoryEnv });
  if (isFirst) goFirst(server);
  const work = { server, clip, speed, on };
  const { recording: first } = await record(10, work);
  await server.api.request('DELETE', `/api/asset/${first.asset.id}`);
  const short = await record(1, work);
  const whole = await record(minutes, work);
  const held = whole.held - short.held;
  on.check(`memory after collection, ${minutes} min against 1 min`, {
    ...{ figure: `${mb(held)} more`, must: `at most ${mb(noise)}`, isSo: held <= noise },
  });
  // While it runs the queue to the disk is in use as a whole at such a speed; it is as large for a short recording.
  const growth = whole.figures.memory.most - short.figures.memory.most;
  const most = noise + recorderDefaults.queue;
  on.check(`memory at most, ${minutes} min against 1 min`, {
    ...{ figure: `${mb(growth)} more`, must: `at most ${mb(most)}`, isSo: growth <= most },
  });

  await using browser = await launchBrowser();
  for (const { recording, seconds } of [short, whole]) {
    const path = join(folder.path, 'download.mp4');
    await checkDownload(recording.asset, { on, path });
    const duration = await probeDuration(path);
    on.check('ffprobe: its duration', {
      ...{ figure: `${duration.toFixed(3)} s`, must: `${seconds} ± 0.35 s` },
      isSo: Math.abs(duration - seconds) <= 0.35,
    });
    if (seconds <= 600) await checkDecoding(path, { on, name: 'the file' });
    const { mp4Url, recordingUrl } = recording;
    const numberAt = repeated(seconds, loop);
    const at = [0.93, 0.21, 0.55].map((share) => seconds * share);
    await checkSeeks(path, { on, name: 'the file', at, numberAt });
    await checkSeeks(mp4Url, { on, name: 'mp4Url', at, numberAt });
    await checkBrowser(browser, { ...{ on, at, numberAt }, url: mp4Url, name: 'mp4Url', tolerance: 1 });
    // By HLS pictures are late by the B-frames: two.
    const late = (time: number) => numberAt(time) - 2;
    await checkBrowser(browser, {
      ...{ on, at, numberAt: late },
      ...{ url: recordingUrl, name: 'recordingUrl', tolerance: 2 },
    });
  }
  folder.remove();
}

async function record(
  minutes: number,
  { server, clip, speed, on }: { server: Server; clip: string; speed: number; on: Verdict },
): Promise<{ recording: Recording; figures: ServerFigures; held: number; seconds: number }> {
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: `${minutes} min`, record: true });
  const of = { streamId: stream.id, within: 60_000 };
  const seconds = minutes * 60;
  const watch = await watchServer(server);
  const waiting = events.expect('recording.waiting', { ...of, within: (seconds / speed) * 5000 + 60_000 });
  const took = await replay({ ...{ clip, seconds, speed }, url: server.ingestUrl(stream.streamKey) });
  await waiting;
  const ready = expectReady(events, of);
  const asked = performance.now();
  await server.api.terminate(stream.id);
  const { payload, at } = await ready;
  const figures = await watch.figures();
  const held = await residentAfterCollection(server);
  console.log(`\n${minutes} min`);
  on.tell(
    'media, sent in, so many times as fast as real time',
    `${seconds} s, ${took.toFixed(1)} s, ${(seconds / took).toFixed(1)}`,
  );
  on.check('ready after the end of the window', {
    ...{ figure: `${(at - asked).toFixed(0)} ms`, must: 'at most 2000 ms', isSo: at - asked <= 2000 },
  });
  const { before, most, after } = figures.memory;
  on.tell('memory of the server before, at most, after', [before, most, after].map(mb).join(', '));
  on.tell('the same after a collection', mb(held));
  on.tell('the most in each tenth of the time', figures.memory.tenths.map(mb).join(', '));
  on.tell('delay of its event loop, p99', `at most ${figures.loopDelay} ms`);
  on.tell(
    'its share of a core',
    `${figures.cpu.toFixed(0)} %, and ${figures.waited.toFixed(1)} s of waiting for one`,
  );
  const recording = await readRecording(payload, { server, stream, on });
  events.close();
  return { recording, figures, held, seconds };
}

/** Pictures of a clip, `length` seconds long, over and over. */
function repeated(seconds: number, length: number) {
  const runs = Array.from({ length: Math.ceil(seconds / length) }, (_, n) => ({
    ...{ first: 0, from: n * length, until: (n + 1) * length },
  }));
  return numbersOf(runs);
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
