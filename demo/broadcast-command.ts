import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Broadcast, BroadcastOptions } from './broadcast-options.ts';
import { readFlvFile } from './flv-file.ts';
import { pacer } from './pacer.ts';

const USAGE = `bun demo/broadcast.ts rtmp://host/live/KEY [options]
  --file x.flv         another clip than demo/clip.flv
  --frames-log f.jsonl a line for each picture: {"broadcast", "frame", "timestamp", "sentAt"}
  --retry              connect again after a lost connection
  --count N            N broadcasts at once; without --keys the URL's key gets -1 to -N put behind it
  --keys keys.txt      one key a line, put behind the URL (which is then rtmp://host/live)
  --seconds S          stop cleanly after S seconds
  --speed X            X times real time
  --quiet              no figures`;

/** The command line of `broadcast.ts`. Exit code 1 when a broadcast ended that nobody stopped. */
export async function broadcastCommand(
  args: string[],
  { broadcast }: { broadcast: (options: BroadcastOptions) => Broadcast },
): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      file: { type: 'string' },
      'frames-log': { type: 'string' },
      retry: { type: 'boolean' },
      count: { type: 'string' },
      keys: { type: 'string' },
      seconds: { type: 'string' },
      speed: { type: 'string' },
      quiet: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const [url] = positionals;
  if (!url || values.help) {
    console.error(USAGE);
    process.exit(values.help ? 0 : 64);
  }
  const urls = await urlsOf(url, { count: values.count, keys: values.keys });
  const clip = await readFlvFile(values.file ?? join(import.meta.dir, 'clip.flv'));
  const pace = pacer();
  const framesLog = values['frames-log'] ? Bun.file(values['frames-log']).writer() : undefined;
  const log = values.quiet ? undefined : (line: string): void => console.error(line);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  if (values.seconds) setTimeout(() => stopping.abort(), Number(values.seconds) * 1000).unref();

  const running = urls.map((address, n) =>
    broadcast({
      url: address,
      clip,
      pacer: pace,
      retry: values.retry,
      speed: values.speed ? Number(values.speed) : 1,
      // Key frames of many broadcasts are spread over two seconds, as those of strangers would be.
      startAt: urls.length > 1 ? (n / urls.length) * clip.duration : 0,
      log: log && ((line) => log(urls.length > 1 ? `${n + 1}: ${line}` : line)),
      onFrame:
        framesLog &&
        ((frame, timestamp, sentAt) => {
          framesLog.write(`${JSON.stringify({ broadcast: n, frame, timestamp, sentAt })}\n`);
        }),
    }),
  );
  const flushing = framesLog && setInterval(() => framesLog.flush(), 200);
  const isStopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve());
  });
  const all = Promise.all(running.map((one) => one.ended));
  await Promise.race([all, isStopped]);
  await Promise.all(running.map((one) => one.stop({ clean: true })));
  const ends = await all;
  clearInterval(flushing);
  await framesLog?.end();

  const failed = ends.filter((end) => end.cause !== 'closed');
  for (const message of new Set(failed.map((end) => end.message))) console.error(message);
  const sum = (key: 'tags' | 'bytes' | 'dropped'): number =>
    running.reduce((all, one) => all + one.stats[key], 0);
  log?.(`${sum('tags')} tags, ${sum('bytes')} bytes sent, ${sum('dropped')} tags dropped`);
  process.exit(failed.length > 0 ? 1 : 0);
}

async function urlsOf(url: string, options: { count?: string; keys?: string }): Promise<string[]> {
  const count = options.count === undefined ? undefined : Number(options.count);
  if (count !== undefined && !(Number.isInteger(count) && count > 0))
    throw new Error('--count needs a whole number');
  if (options.keys) {
    const keys = (await readFile(options.keys, 'utf8')).split('\n').filter((line) => line.trim() !== '');
    if (count !== undefined && keys.length < count)
      throw new Error(`${keys.length} keys are too few for ${count}`);
    return keys.slice(0, count).map((key) => `${url.replace(/\/$/, '')}/${key.trim()}`);
  }
  if (count === undefined) return [url];
  return Array.from({ length: count }, (_, n) => `${url}-${n + 1}`);
}
