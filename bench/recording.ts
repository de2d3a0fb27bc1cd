import { join } from 'node:path';
import { fsBlobs } from '../runtime/drivers/blobs/fs/index.ts';
import { diskRecorder } from '../runtime/media/recording/recorder.ts';
import { clock, Film, grantOf } from '../test/media/recording/fixtures.ts';
import { bun, start, temporaryFolder } from './harness/children.ts';
import { machine, median, printTable } from './harness/figures.ts';
import { busiestThreads, usageOf } from './harness/process-figures.ts';

/**
 * What recordings cost the thread that writes, syncs and hashes them, past the cache of the system and through it: two processes side
 * by side, so that what disturbs one disturbs the other as much. Nothing is received or packaged.
 * `bun bench/recording.ts [takes] [KB of a part, two each second] [rounds]`; rounds of 20 s.
 */
const [takes = '50', kilobytes = '200', rounds = '3', way = '', folder = ''] = process.argv.slice(2);
const seconds = 20;
const warmUp = 30;
const ways = ['direct', 'cache'];

if (way !== '') await record(way === 'direct');
else await compare();

async function compare(): Promise<void> {
  const folders = ways.map(() => temporaryFolder());
  const words = (one: string, n: number) => [
    bun,
    import.meta.path,
    takes,
    kilobytes,
    rounds,
    one,
    folders[n]!.path,
  ];
  const children = ways.map((one, n) => start(words(one, n), { core: 0 }));
  await Bun.sleep(warmUp * 1000);
  const threads: Record<string, number[]> = { direct: [], cache: [] };
  for (let round = 1; round <= Number(rounds); round += 1) {
    const before = children.map(({ pid }) => usageOf(pid));
    await Bun.sleep(seconds * 1000);
    for (const [n, { pid }] of children.entries()) {
      const busiest = new Map(busiestThreads(before[n]!, usageOf(pid), seconds));
      threads[ways[n]!]!.push(busiest.get('Worker') ?? 0);
    }
    console.log(
      `round ${round}: ${ways.map((one) => `${one} ${threads[one]!.at(-1)!.toFixed(2)} %`).join(', ')}`,
    );
  }
  const rows = ways.map((one) => {
    const ratios = threads[one]!.map((value, n) => value / threads.cache![n]!);
    return [one, median(threads[one]!).toFixed(2), median(ratios).toFixed(3)];
  });
  printTable(['way', '% of a core', 'of the cache'], rows);
  console.log(`\n${takes} takes of ${(Number(kilobytes) * 16) / 1000} Mb/s. ${machine()}`);
  for (const { output } of children) if (output.trim() !== '') console.log(output);
  for (const child of children) await child.stop();
  for (const { remove } of folders) remove();
  process.exit();
}

async function record(isDirect: boolean): Promise<void> {
  const blobs = fsBlobs({ folder: join(folder, 'blobs') });
  await blobs.open();
  const tell = (message: string) => console.log(message);
  const log = { debug: tell, info: tell, warn: tell, error: tell, with: () => log };
  // A busy machine makes calls long. What is measured is the way, and not when it is left.
  const limits = { directShare: 1e6, directCall: 1e6 };
  const recorder = diskRecorder({
    folder: join(folder, 'recordings'),
    ...{ blobs, clock, log, limits, isDirect },
  });
  await recorder.open();
  const film = new Film({ partBytes: Number(kilobytes) * 1000 });
  // The same again and again: to make bytes costs more than to write them.
  const parts = Array.from({ length: 4 }, () => film.next());
  for (let take = 0; take < Number(takes); take += 1) {
    const feed = recorder.feed(grantOf(`s${take}`))!;
    feed.begin(film.init);
    let number = 0;
    const next = () => {
      const { bytes, part } = parts[number++ % parts.length]!;
      feed.part(bytes, part);
    };
    setTimeout(() => setInterval(next, 500), (take * 500) / Number(takes));
  }
}
