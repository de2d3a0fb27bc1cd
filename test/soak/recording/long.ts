import { join } from 'node:path';
import { start, temporaryFolder } from '../../../bench/harness/children.ts';
import { launchBrowser } from '../../e2e/harness/chromium.ts';
import { startServer } from '../../e2e/harness/server.ts';
import { lasting, until } from '../../e2e/harness/wait.ts';
import {
  checkBrowser,
  checkDecoding,
  checkDownload,
  checkSeeks,
  type FilmPicture,
  picturesOf,
  probeDuration,
  shownNumbers,
} from './film-checks.ts';
import { numbered, numberedClip } from './numbered-clip.ts';
import { asStarted, expectReady, readRecording } from './recording.ts';
import { type Placed, placed, type Run, readRun } from './runs.ts';
import { goFirst, watchServer } from './server-figures.ts';
import type { Verdict } from './verdict.ts';

/** Longest part, seconds: what of media may be missing or too much. */
const part = 0.35;
const reconnectWindow = 60_000;
/** B-frames in a row, of the clip. */
const reordered = 2;

/**
 * A broadcast by ffmpeg in three connections: the first is killed and comes back within hold, the second ends and comes back
 * after idle. Each begins elsewhere in the clip, so that no picture is there twice.
 */
export async function long(
  on: Verdict,
  { minutes, isFirst }: { minutes: number; isFirst: boolean },
): Promise<void> {
  const clip = await numberedClip();
  const folder = temporaryFolder();
  await using server = await startServer({
    env: { ...asStarted, MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: `${reconnectWindow / 1000}s` },
  });
  if (isFirst) goFirst(server);
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'long', record: true });
  const of = { streamId: stream.id, within: 90_000 };
  const watch = await watchServer(server);

  const lasts = (minutes * 60) / 3;
  const sent = [0, 1, 2].map((n) => join(folder.path, `sent-${n}.flv`));
  // Each begins 10 s further than where the one before ended.
  const begins = [0, 1, 2].map((n) => Math.ceil((n * (lasts + 10)) / numbered.gop) * numbered.gop);
  const connect = (n: number) =>
    encoder({ clip, from: begins[n], to: server.ingestUrl(stream.streamKey), copy: sent[n] });

  const started = events.expect('stream.started', of);
  let ffmpeg = connect(0);
  await started;
  await lasting(lasts * 1000);
  ffmpeg.kill('SIGKILL');
  await ffmpeg.exited;
  await lasting(5000);
  ffmpeg = connect(1);
  await lasting(lasts * 1000);
  let idle = events.expect('stream.idle', of);
  await ffmpeg.stop('SIGINT');
  await idle;
  await lasting(30_000);
  const again = events.expect('stream.started', of);
  ffmpeg = connect(2);
  await again;
  await lasting(lasts * 1000);
  idle = events.expect('stream.idle', of);
  const ready = expectReady(events, { streamId: stream.id, within: reconnectWindow + 30_000 });
  await ffmpeg.stop('SIGINT');
  const ended = performance.now();
  await idle;
  const { payload, at: readyAt } = await ready;
  const late = readyAt - ended - reconnectWindow;
  on.check('ready after the end of the window', {
    ...{ figure: `${late.toFixed(0)} ms`, must: 'at most 2000 ms', isSo: late <= 2000 },
  });
  const recording = await readRecording(payload, { server, stream, on });
  const { memory, loopDelay, cpu, waited } = await watch.figures();
  on.tell('memory of the server before, at most, after', mb([memory.before, memory.most, memory.after]));
  on.tell('delay of its event loop, p99', `at most ${loopDelay} ms`);
  on.tell('its share of a core', `${cpu.toFixed(1)} %, and ${waited.toFixed(1)} s of waiting for one`);
  await until('the events', () => events.namesOf(stream.id).includes('recording.ready'), { within: 5000 });
  const told = events.namesOf(stream.id).filter((name) => /^(stream\.(started|idle)|recording\.)/.test(name));
  const order =
    'stream.started recording.started stream.idle recording.waiting stream.started stream.idle recording.waiting recording.ready';
  on.check('events', { figure: told.join(' '), must: 'in their order', isSo: told.join(' ') === order });

  const runs = await Promise.all(sent.map((file, n) => readRun(file, { first: begins[n] * numbered.fps })));
  const lengths = runs.map(({ shown }) => shown.until - shown.from);
  const ideal = placed(runs);
  const media = ideal[2].until;
  on.tell(
    'media sent',
    `${lengths.map((each) => each.toFixed(3)).join(' + ')}; in all ${media.toFixed(3)} s`,
  );
  const path = join(folder.path, 'download.mp4');
  await checkDownload(recording.asset, { on, path });
  const films = [
    { film: path, name: 'the file' },
    { film: recording.mp4Url, name: 'mp4Url' },
    { film: recording.recordingUrl, name: 'recordingUrl' },
  ];
  const pictures: number[] = [];
  for (const { film, name } of films) {
    const duration = await probeDuration(film);
    on.check(`ffprobe: duration of ${name}`, {
      ...{ figure: `${duration.toFixed(3)} s`, must: `${media.toFixed(3)} ± ${part} s` },
      isSo: Math.abs(duration - media) <= part,
    });
    pictures.push(await checkDecoding(film, { on, name }));
  }
  // What a killed encoder sent last is no whole part.
  const missing = runs.reduce((sum, run) => sum + run.pictures, 0) - pictures[0];
  on.check('pictures that were sent and are not there', {
    ...{ figure: String(missing), must: `at most ${Math.ceil(part * numbered.fps)}: one part, of the kill` },
    isSo: missing >= 0 && missing <= Math.ceil(part * numbered.fps) && pictures[1] === pictures[0],
  });
  // It discards a first part whose decode times go back, as they must not after idle.
  const leftOut = pictures[0] - pictures[2];
  on.check('pictures that ffmpeg leaves out by HLS', {
    ...{ figure: String(leftOut), must: 'none', isSo: leftOut === 0 },
  });
  const film = await picturesOf(path);
  checkRuns(film, { on, runs, ideal });
  // In the middle of each connection.
  const at = [2, 0, 1].map((n) => (ideal[n].from + ideal[n].until) / 2);
  const looks = { on, at, numberAt: shownNumbers(film) };
  await checkSeeks(recording.mp4Url, { ...looks, name: 'mp4Url' });
  await using browser = await launchBrowser();
  await checkBrowser(browser, { ...looks, url: recording.mp4Url, name: 'mp4Url', tolerance: 1 });
  // By HLS the first picture of a run is two frames late, for its B-frames. hls.js that has played the run before begins the
  // next one where that one ended, which adds two for each.
  const numberAt = (seconds: number) => looks.numberAt(seconds) - 2;
  const tolerance = 2 * (runs.length - 1);
  await checkBrowser(browser, {
    ...{ ...looks, numberAt, tolerance },
    ...{ url: recording.recordingUrl, name: 'recordingUrl' },
  });
  folder.remove();
}

/** The file has the pictures of all runs, each in one piece but for its end, and where they belong. */
function checkRuns(
  film: readonly FilmPicture[],
  { on, runs, ideal }: { on: Verdict; runs: readonly Run[]; ideal: readonly Placed[] },
): void {
  // Of those that a kill cut off, one that others refer to is sent before them, and shown behind them.
  const beginnings = film.filter(({ number }, n) => {
    const step = (number ?? Number.NaN) - (film[n - 1]?.number ?? Number.NaN);
    return !(step >= 1 && step <= reordered + 1);
  });
  const numbers = beginnings.map(({ number }) => number);
  on.check('pictures that do not follow those before', {
    ...{ figure: numbers.join(', '), must: `${runs.map(({ first }) => first).join(', ')}: each run's first` },
    isSo: numbers.join() === runs.map(({ first }) => first).join(),
  });
  const away = beginnings.map(({ time }, n) => time - (ideal[n]?.from ?? 0));
  on.check('where they are shown, and not where all that was sent would put them', {
    ...{ figure: `${away.map((each) => each.toFixed(3)).join(', ')} s`, must: `± ${part} s` },
    isSo: away.every((each) => Math.abs(each) <= part),
  });
}

/** Sends a clip as it is, in real time, and writes down what it sends: `copy` has all of it also after a kill. */
function encoder({ clip, from, to, copy }: { clip: string; from: number; to: string; copy: string }) {
  const outputs = `[f=flv:flush_packets=1]${to}|[f=flv:flush_packets=1]${copy}`;
  return start([
    ...[
      'ffmpeg',
      '-nostdin',
      '-hide_banner',
      '-loglevel',
      'error',
      '-re',
      '-ss',
      String(from + 1),
      '-i',
      clip,
    ],
    ...['-map', '0', '-c', 'copy', '-f', 'tee', outputs],
  ]);
}

const mb = (all: readonly number[]) => all.map((bytes) => `${(bytes / 1e6).toFixed(0)} MB`).join(', ');
