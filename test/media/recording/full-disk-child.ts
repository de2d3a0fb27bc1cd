import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { DiskRecorder } from '../../../runtime/media/recording/recorder.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { clock, Film, feedSegments, grantOf, noSignal, pause, segmentsIn, until } from './fixtures.ts';

/** Runs on a disk of 48 MiB, and one line of JSON says what came of filling it. */
const [disk = '', reserve = ''] = process.argv.slice(2);
const blobs = fsBlobs({ folder: join(disk, 'blobs') });
await blobs.open();
const recorder = new DiskRecorder({
  ...{ blobs, clock, log: silentLog },
  folder: join(disk, 'recordings'),
  settings: { reserve: Number(reserve), reserveSlack: 1, spaceLook: 20, retry: 50, sync: 50 },
});
await recorder.open();
const filler = join(disk, 'filler');
writeFileSync(filler, new Uint8Array(24 << 20));

const film = new Film({ partBytes: 200_000 });
const feed = recorder.feed(grantOf('s1'))!;
feed.begin(film.init);
const feedUntil = async (holds: () => boolean) => {
  while (!holds()) {
    feedSegments(feed, film, 1);
    await pause(20);
  }
};
await feedUntil(() => feed.issues.length > 0);
const issue = feed.issues[0];
const before = feed.written.count;
// The database, which may still commit while there is a reserve.
let others = 'ok';
try {
  writeFileSync(join(disk, 'commit'), new Uint8Array(1 << 20));
} catch (error) {
  others = (error as { code: string }).code;
}
rmSync(join(disk, 'commit'));
rmSync(filler);
await feedUntil(() => feed.written.count > before + 3);
feed.end();
await until(() => feed.written.count > before);
const take = (await recorder.finish('s1', { signal: noSignal() }))!;
const { whole } = await segmentsIn(blobs, { take, film });
await recorder.close();
// What is missing may be a few parts of one segment, if there is room again at once.
const isGap = film.segments.length > whole.length;
console.log(JSON.stringify({ issue, others, gaps: take.gaps, isGap, isLasting: whole.length >= before + 3 }));
