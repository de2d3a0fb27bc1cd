import { writeSync } from 'node:fs';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import { DiskRecorder } from '../../../runtime/media/recording/recorder.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { type CrashConfig, filmOf, rendition, type Said } from './crash.ts';
import { clock, feedSegments, grantOf, noSignal, pause, segmentMs } from './fixtures.ts';

/** Records without end, finishes short takes one after the other, and says what it did. Killed by its parent. */
const config = JSON.parse(process.argv[2] ?? '') as CrashConfig;
const { folder, round, settings } = config;
const blobs = 'folder' in config.blobs ? fsBlobs(config.blobs) : s3Blobs({ ...config.blobs, clock });
const say = (said: Said) => writeSync(1, `${JSON.stringify(said)}\n`);

const recorder = new DiskRecorder({
  folder,
  blobs,
  clock,
  log: silentLog,
  settings: { reserve: 1, sync: 100, ...settings },
});
await blobs.open();
await recorder.open();

async function record(sessionId: string, options: { segments: number }): Promise<void> {
  const feed = recorder.feed(grantOf(sessionId));
  if (!feed) throw new Error(`${sessionId} is not recorded`);
  const beside = recorder.feed(grantOf(sessionId), rendition);
  if (!beside) throw new Error(`the rendition of ${sessionId} is not recorded`);
  const film = filmOf(sessionId, round);
  const small = filmOf(sessionId, round, rendition);
  feed.begin(film.init);
  beside.begin(small.init);
  const segmentsOf = ({ written }: typeof feed) =>
    Array.from({ length: written.count }, (_, number) => written.segment(number));
  const tell = () => {
    const whole = segmentsOf(beside).filter(({ duration }) => duration * 1000 === segmentMs);
    const starts = [segmentsOf(feed), whole].map((list) => list.map(({ wallStart }) => wallStart));
    say({ sessionId, written: starts[0]!, beside: starts[1]! });
  };
  for (let count = 0; count < options.segments; count++) {
    feedSegments(feed, film, 1);
    feedSegments(beside, small, 1);
    await pause(5);
    tell();
  }
  beside.end();
  feed.end();
}

async function finishAgainAndAgain(): Promise<never> {
  for (let number = 0; ; number++) {
    const sessionId = `short-${round}-${number}`;
    await record(sessionId, { segments: 3 });
    say({ sessionId, finishing: true });
    const take = await recorder.finish(sessionId, { signal: noSignal() });
    say({ sessionId, take: take! });
    if (number % 3 === 2) await recorder.drop(sessionId);
  }
}

say({ sessionId: 'ready' });
await Promise.all([record('long', { segments: Number.POSITIVE_INFINITY }), finishAgainAndAgain()]);
