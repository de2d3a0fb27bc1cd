import { broadcast } from '../../test/kit/publisher/broadcast.ts';
import { readFlvFile } from '../../test/kit/publisher/flv-file.ts';
import { pacer } from '../../test/kit/publisher/pacer.ts';
import { readPlaylist } from './reader.ts';

/**
 * The load of a benchmark in a process of its own, so that it can be kept off the server's core. Reads a
 * `LoadPlan` from the file named in its one argument; prints `on air` once all publishers are accepted, and a
 * `LoadReport` in a line of JSON each second until SIGTERM. Publishers begin spread over two seconds, so that
 * their key frames do not fall together, as those of strangers would not.
 */
export interface LoadPlan {
  /** Path of an FLV file. */
  clip: string;
  ingestUrls: readonly string[];
  /** One plain HLS reader for each. */
  playlistUrls: readonly string[];
  /** Milliseconds over which the publishers begin. */
  startOver: number;
}

/** All counts since the start. */
export interface LoadReport {
  at: number;
  /** Publishers that run now. */
  publishing: number;
  /** Payload bytes handed to the network, and tags it was too slow for. */
  sent: number;
  dropped: number;
  /** Bytes and segments that the readers got, and requests that failed. */
  read: number;
  segments: number;
  failures: number;
}

async function main(): Promise<void> {
  const plan = (await Bun.file(process.argv[2] ?? '').json()) as LoadPlan;
  const clip = await readFlvFile(plan.clip);
  const pace = pacer();
  let publishing = 0;
  const broadcasts = await Promise.all(
    plan.ingestUrls.map(async (url, n) => {
      await Bun.sleep((n / plan.ingestUrls.length) * plan.startOver);
      const one = broadcast({ url, clip, pacer: pace });
      void one.ended.then(() => {
        publishing -= 1;
      });
      await one.started;
      publishing += 1;
      return one;
    }),
  );
  console.log('on air');
  const stopping = new AbortController();
  const readers = plan.playlistUrls.map((url) => readPlaylist(url, { signal: stopping.signal }));
  const sum = <T>(list: readonly T[], count: (one: T) => number) =>
    list.reduce((all, one) => all + count(one), 0);
  setInterval(() => {
    const report: LoadReport = {
      at: performance.timeOrigin + performance.now(),
      publishing,
      sent: sum(broadcasts, (one) => one.stats.bytes),
      dropped: sum(broadcasts, (one) => one.stats.dropped),
      read: sum(readers, (one) => one.bytes),
      segments: sum(readers, (one) => one.segments),
      failures: sum(readers, (one) => one.failures),
    };
    console.log(JSON.stringify(report));
  }, 1000);
  process.once('SIGTERM', async () => {
    stopping.abort();
    await Promise.all(broadcasts.map((one) => one.stop({ clean: true })));
    process.exit(0);
  });
}

await main();
