import { Database } from 'bun:sqlite';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bun, root, start, temporaryFolder } from '../../bench/harness/children.ts';
import { startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

/**
 * Nothing is lost: the server is killed with -9 at random moments while events are delivered to a receiver that syncs
 * before it answers 2xx and fails some. Afterwards every event of the event log must have arrived, with no id that is
 * not in the log, and the first attempts of each stream in order. Run: npm run soak -- webhooks [options]
 */
const usage = `  --deliveries 10000  events, each for one webhook
  --kills 20          times that the server is killed
  --streams 20        streams that the events belong to
  --failures 0.1      share of requests that the receiver refuses
  --rate 100          events a second`;

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '20' },
    streams: { type: 'string', default: '20' },
    failures: { type: 'string', default: '0.1' },
    rate: { type: 'string', default: '100' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const streams = Array.from({ length: Number(values.streams) }, (_, n) => `soak-${n}`);
const rounds = Math.ceil(Number(values.deliveries) / streams.length);
const rate = Number(values.rate);

const folder = temporaryFolder();
const file = join(folder.path, 'received');
let port = 0;
const receiver = start([bun, 'test/soak/hook-receiver.ts', file, '0', values.failures], {
  onLine(line) {
    if (line.startsWith('listening ')) port = Number(line.slice('listening '.length));
  },
});
await until('the receiver', () => port > 0, { within: 10_000 });

const dataDir = join(folder.path, 'data');
const server = await startServer({
  env: {
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_PLUGINS: JSON.stringify({
      [join(root, 'test/kit/emitter-plugin.ts')]: {},
      webhooks: { firstRetry: '1s', longestRetry: '5s', breakerFailures: 50 },
    }),
  },
});
const made = await server.api.request('POST', '/api/webhook', {
  ...{ name: 'soak', url: `http://127.0.0.1:${port}/`, events: ['stream.started'] },
});
if (made.status !== 201) throw new Error(`no webhook: ${await made.text()}`);

let isDone = false;
let kills = 0;
const killing = (async () => {
  const length = (rounds * streams.length * 1000) / rate;
  const moments = Array.from({ length: Number(values.kills) }, () => Math.random() * length).sort(
    (a, b) => a - b,
  );
  const began = performance.now();
  for (const moment of moments) {
    const wait = began + moment - performance.now();
    if (wait > 0) await Bun.sleep(wait);
    await server.kill('SIGKILL');
    kills += 1;
    await server.restart();
  }
  isDone = true;
})();

/** What was asked for and not answered may be in the log or not: the log says what must arrive. */
const began = performance.now();
for (let round = 0; round < rounds; round += 1) {
  const wait = began + (round * streams.length * 1000) / rate - performance.now();
  if (wait > 0) await Bun.sleep(wait);
  for (;;) {
    try {
      const body = { type: 'stream.started', streams, from: round, batch: streams.length };
      const answer = await server.api.request('POST', '/emit', body);
      if (answer.ok) break;
    } catch {
      // The server is away; the round is emitted again, under the same ids, unless its commit was done.
      if (await isLogged(round)) break;
    }
    await Bun.sleep(100);
  }
}
await killing;
console.log(
  `${rounds * streams.length} events emitted, ${kills} kills, ${((performance.now() - began) / 1000).toFixed(0)} s`,
);

const expected = loggedIds();
await until('every event at the receiver', () => expected.every((id) => received().taken.has(id)), {
  within: 300_000,
  every: 1000,
}).catch((error: unknown) => console.log(String(error).slice(0, 200)));

const { taken, firsts, requests } = received();
const known = new Set(expected);
const lost = expected.filter((id) => !taken.has(id));
const strange = [...firsts].filter((id) => !known.has(id));
const outOfOrder = streams.filter((stream) => {
  const own = (id: string) => id.startsWith(`emitted/${stream}/`);
  return firsts.filter(own).join() !== expected.filter(own).join();
});
const repeated = requests - firsts.length;
await server[Symbol.asyncDispose]();
await receiver.stop();
folder.remove();
console.log(
  `${expected.length} events in the log, ${taken.size} taken, ${lost.length} lost, ${strange.length} that are not in the log, ` +
    `${outOfOrder.length} of ${streams.length} streams out of order; ${requests} requests, ${repeated} of them repeats`,
);
if (!isDone || lost.length > 0 || strange.length > 0 || outOfOrder.length > 0) process.exit(1);
rmSync(dataDir, { recursive: true, force: true });
process.exit(0);

function received() {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const taken = new Map<string, number>();
  const firsts: string[] = [];
  const seen = new Set<string>();
  for (const line of lines) {
    const [how, id = ''] = line.split(' ');
    if (!seen.has(id)) firsts.push(id);
    seen.add(id);
    if (how === 'taken') taken.set(id, (taken.get(id) ?? 0) + 1);
  }
  return { taken, firsts, requests: lines.length };
}

/** Ids of the event log, in order; each once, though a round may have been emitted twice. */
function loggedIds(): string[] {
  const db = new Database(join(dataDir, 'millrace.db'), { readonly: true });
  const rows = db.query<{ id: string }, []>(
    "SELECT id FROM events WHERE type = 'stream.started' ORDER BY position",
  );
  const ids = rows.all().map(({ id }) => id);
  db.close();
  return [...new Set(ids)];
}

async function isLogged(round: number): Promise<boolean> {
  const id = `emitted/${streams[0]}/${round}/stream.started`;
  try {
    return loggedIds().includes(id);
  } catch {
    return false;
  }
}
