import type { Plugin } from '../core/plugin/plugin.ts';
import accounts from '../plugins/accounts/index.ts';
import assets from '../plugins/assets/index.ts';
import recordings from '../plugins/recordings/index.ts';
import streams from '../plugins/streams/index.ts';
import tasks from '../plugins/tasks/index.ts';
import { bootstrapKey, type World, world } from '../test/kit/world.ts';

/**
 * What a list of 20 costs among 100,000 streams: the first page against pages ever deeper, in each order, from the
 * request to the answer's text, without sockets. Run: bun bench/list.ts [streams]. Exit code 1 when a deep page takes
 * more than 1.5 × of the first one.
 */
const total = Number(process.argv[2] ?? 100_000);
const runs = 300;
const depths = [0, 0.01, 0.5, 0.99];
const most = 1.5;

const plugins = [accounts, assets, recordings, streams, tasks] as unknown as Plugin[];
await using w = await world({ plugins, durable: true });
await fill(w);
console.log(`${total} streams, ms for 20 of them, median of ${runs}`);
console.log(
  ['order'.padEnd(24), ...depths.map((depth) => `${depth * 100}%`.padStart(9)), '  worst ratio'].join(''),
);
let isSlow = false;
for (const query of [
  '',
  'order=createdAt-false',
  'name=asc',
  'order=name-true',
  'order=id-false',
  'streamsonly=1',
  'streamsonly=1&name=asc',
  'order=name-false,createdAt-true',
]) {
  const paths = await pathsAt(query);
  const times = await medians(paths);
  const ratio = Math.max(...times) / (times[0] ?? Number.NaN);
  if (ratio > most) isSlow = true;
  const cells = times.map((time) => time.toFixed(3).padStart(9));
  console.log([(query || 'newest first').padEnd(24), ...cells, ratio.toFixed(2).padStart(13)].join(''));
}
console.log('\nWhat looks through many rows, ms, and the longest that nothing else had its turn');
const filter = (filters: unknown) => `filters=${encodeURIComponent(JSON.stringify(filters))}`;
for (const query of [
  filter([{ id: 'name', value: 'stream 99' }]),
  filter([{ id: 'name', value: 'no such name' }]),
  'name=stream%2077',
  'count=1',
  `count=1&limit=1&${filter([{ id: 'suspended', value: false }])}`,
]) {
  const { time, pause } = await watched(() => get(`/api/stream?${query}`));
  console.log(
    [decodeURIComponent(query).padEnd(60), time.toFixed(1).padStart(8), pause.toFixed(1).padStart(8)].join(
      '',
    ),
  );
}
process.exitCode = isSlow ? 1 : 0;

/** Copies of one stream under other ids and names, created a millisecond after another. */
async function fill({ store, given }: World): Promise<void> {
  const { id } = await given.stream({ name: 'stream' });
  const first = await store.resources.get('stream', id);
  if (!first) throw new Error('no stream');
  const document = JSON.parse(first.body);
  for (let done = 0; done < total; done += 500) {
    const rows = Array.from({ length: Math.min(500, total - done) }, (_, index) => {
      const changes = {
        id: crypto.randomUUID(),
        name: `stream ${((done + index) * 7919) % total}`,
        createdAt: first.createdAt - done - index,
      };
      const streamKey = crypto.randomUUID();
      const body = JSON.stringify({ ...document, ...changes, streamKey });
      const indexes = { role: 'parent', streamKey, playbackId: crypto.randomUUID() };
      return { kind: 'stream', account: first.account, ...changes, body, indexes, revision: 0 };
    });
    const { outcome } = await store.write({ at: first.createdAt, rows, events: [] });
    if (outcome !== 'ok') throw new Error(`rows were not written: ${outcome}`);
  }
}

/** The same request at each depth, by the cursors that clients get. */
async function pathsAt(query: string): Promise<string[]> {
  const found = new Map([[0, `/api/stream?${query}`]]);
  let path: string | undefined = `/api/stream?limit=1000&${query}`;
  for (let seen = 0; path; seen += 1000) {
    for (const depth of depths) {
      if (depth > 0 && !found.has(depth) && seen >= depth * total)
        found.set(depth, path.replace('limit=1000', 'limit=20'));
    }
    path = (await get(path)).next;
  }
  return depths.map((depth) => found.get(depth) ?? '');
}

/** In turns, so that what slows the machine down for a while slows all of them. */
async function medians(paths: readonly string[]): Promise<number[]> {
  const times = paths.map((): number[] => []);
  for (let run = 0; run < runs + 20; run += 1) {
    for (const [index, path] of paths.entries()) {
      const start = performance.now();
      const { rows } = await get(path);
      if (rows !== 20) throw new Error(`${path} gave ${rows}`);
      if (run >= 20) times[index]?.push(performance.now() - start);
    }
  }
  return times.map(
    (list) => list.toSorted((one, other) => one - other)[Math.floor(list.length / 2)] ?? Number.NaN,
  );
}

async function get(path: string): Promise<{ rows: number; next: string | undefined }> {
  const request = new Request(`http://localhost:8080${path}`, {
    headers: { authorization: `Bearer ${bootstrapKey}` },
  });
  const answer = await w.app.handle(request);
  const rows = JSON.parse(await answer.text()).length;
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  return { rows, next: /^<http:\/\/localhost:8080([^>]*)>/.exec(answer.headers.get('link') ?? '')?.[1] };
}

async function watched(work: () => Promise<unknown>): Promise<{ time: number; pause: number }> {
  let [isDone, pause] = [false, 0];
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    pause = Math.max(pause, now - last);
    last = now;
    if (!isDone) setImmediate(look);
  };
  look();
  const start = performance.now();
  await work();
  isDone = true;
  await new Promise((resolve) => setImmediate(resolve));
  return { time: performance.now() - start, pause };
}
