import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { mebibyte } from './fixtures.ts';

/**
 * Puts a blob of so many MiB from a stream of unknown length, reads it back, reads it again slowly, and prints how much memory each took at
 * most beyond what the process had before, in MiB, and how late the event loop was, in 99 of 100 samples and at most, in ms.
 */
const { options, size } = JSON.parse(process.argv[2] ?? '');
const blobs = 'folder' in options ? fsBlobs(options) : s3Blobs({ ...options, clock: systemClock() });
const key = 't/memory/large.bin';
await blobs.open();
await blobs.put(key, new Uint8Array(mebibyte));

const used = () => process.memoryUsage().rss / mebibyte;
async function measure(work: () => Promise<void>): Promise<object> {
  Bun.gc(true);
  const before = used();
  const start = performance.now();
  let most = before;
  const delays: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    most = Math.max(most, used());
    delays.push(performance.now() - last - 5);
    last = performance.now();
  }, 5);
  await work();
  clearInterval(timer);
  return {
    memory: Math.round(most - before),
    late: delays.sort((a, b) => a - b)[Math.floor(delays.length * 0.99)],
    latest: delays.at(-1),
    seconds: (performance.now() - start) / 1000,
  };
}

async function* source() {
  const piece = new Uint8Array(mebibyte / 4);
  for (let at = 0; at < size * 4; at++) {
    piece.fill(at);
    yield piece;
    // What a socket gives does not come all in one turn of the loop.
    if (at % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function readAll(pause: (bytes: number) => Promise<void>): Promise<void> {
  const got = await blobs.get(key);
  if (got.outcome !== 'ok') throw new Error(got.outcome);
  let bytes = 0;
  for await (const piece of got.body) {
    if (piece[0] !== (Math.floor(bytes / (mebibyte / 4)) & 0xff)) throw new Error(`wrong byte at ${bytes}`);
    bytes += piece.length;
    await pause(bytes);
  }
  if (bytes !== size * mebibyte) throw new Error(`${bytes} bytes`);
}

const put = await measure(async () => {
  await blobs.put(key, source());
});
const read = await measure(() => readAll(async () => {}));
let stalls = 0;
const slow = await measure(() =>
  readAll(async (bytes) => {
    if (bytes < (stalls + 1) * 32 * mebibyte || stalls >= 8) return;
    stalls += 1;
    await Bun.sleep(250);
  }),
);
await blobs.delete([key]);
await blobs.close();
console.log(JSON.stringify({ put, read, slow }));
process.exit(0);
