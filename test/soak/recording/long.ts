import { join } from 'node:path';
import { start, temporaryFolder } from '../../../bench/harness/children.ts';
import { readFlvFile } from '../../../demo/flv-file.ts';
import { launchBrowser } from '../../e2e/harness/chromium.ts';
import { startServer } from '../../e2e/harness/server.ts';
import { lasting, until } from '../../e2e/harness/wait.ts';
import {
  checkBrowser,
  checkDecoding,
  checkDownload,
  checkSeeks,
  numbersOf,
  probeDuration,
} from './film-checks.ts';
import { numbered, numberedClip } from './numbered-clip.ts';
import { asStarted, expectReady, readRecording } from './recording.ts';
import { watchServer } from './server-figures.ts';
import type { Verdict } from './verdict.ts';

/** Longest part, seconds: what of media may be missing or too much. */
const part = 0.35;
const reconnectWindow = 60_000;

/**
 * A broadcast by ffmpeg in three connections: the first is killed and comes back within hold, the second ends and comes back
 * after idle. Each begins elsewhere in the clip, so that no picture is there twice.
 */
export async function long(on: Verdict, { minutes }: { minutes: number }): Promise<void> {
  const clip = await numberedClip();
  const folder = temporaryFolder();
  await using server = await startServer({
    env: { ...asStarted, MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: `${reconnectWindow / 1000}s` },
  });
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
  const { memory, loopDelay, cpu } = await watch.figures();
  on.tell('memory of the server before, at most, after', mb([memory.before, memory.most, memory.after]));
  on.tell('delay of its event loop, p99', `at most ${loopDelay} ms`);
  on.tell('its share of a core', `${cpu.toFixed(1)} %`);
  await until('the events', () => events.namesOf(stream.id).includes('recording.ready'), { within: 5000 });
  const told = events.namesOf(stream.id).filter((name) => /^(stream\.(started|idle)|recording\.)/.test(name));
  const order =
    'stream.started recording.started stream.idle recording.waiting stream.started stream.idle recording.waiting recording.ready';
  on.check('events', { figure: told.join(' '), must: 'in their order', isSo: told.join(' ') === order });

  const clips = await Promise.all(sent.map((path) => readFlvFile(path)));
  const runs = clips.map(({ duration }, n) => ({
    first: begins[n] * numbered.fps,
    seconds: duration / 1000,
  }));
  const media = runs.reduce((sum, { seconds }) => sum + seconds, 0);
  on.tell(
    'media sent',
    `${runs.map(({ seconds }) => seconds.toFixed(3)).join(' + ')} = ${media.toFixed(3)} s`,
  );
  const path = join(folder.path, 'download.mp4');
  await checkDownload(recording.asset, { on, path });
  const films = [
    { film: path, name: 'the file' },
    { film: recording.mp4Url, name: 'mp4Url' },
    { film: recording.recordingUrl, name: 'recordingUrl' },
  ];
  for (const { film, name } of films) {
    const duration = await probeDuration(film);
    on.check(`ffprobe: duration of ${name}`, {
      ...{ figure: `${duration.toFixed(3)} s`, must: `${media.toFixed(3)} ± ${part} s` },
      isSo: Math.abs(duration - media) <= part,
    });
    await checkDecoding(film, { on, name });
  }
  const numberAt = numbersOf(runs);
  // In the middle of each connection.
  const at = runs.map(
    ({ seconds }, n) => runs.slice(0, n).reduce((sum, run) => sum + run.seconds, 0) + seconds / 2,
  );
  await checkSeeks(recording.mp4Url, { on, name: 'mp4Url', at, numberAt });
  await using browser = await launchBrowser();
  const looks = { on, at: [at[2], at[0], at[1]], numberAt };
  await checkBrowser(browser, { ...looks, url: recording.mp4Url, name: 'mp4Url', tolerance: 1 });
  await checkBrowser(browser, { ...looks, url: recording.recordingUrl, name: 'recordingUrl', tolerance: 2 });
  folder.remove();
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
