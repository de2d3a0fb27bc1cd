import { parseArgs } from 'node:util';
import { findFreePorts } from '../test/kit/free-ports.ts';
import { bun, pinSelf, start } from './harness/children.ts';
import { machine, percentile, printTable } from './harness/figures.ts';
import { type HttpLoad, httpLoad } from './harness/http-load.ts';
import { millrace } from './harness/millrace.ts';
import { usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';

/**
 * What the API costs among 100,000 streams, over sockets: durable creates by 64 clients, and GET of one stream by random
 * ids against a bare Elysia route with the same answer, by turns. The server has one core, the load the other.
 * Exit code 1 when a goal is missed. Run: bun bench/api.ts [options]
 */
const usage = `  --streams 100000   streams in the store
  --clients 64       connections
  --seconds 10       length of a turn
  --rounds 3         turns of each`;

const goals = { creates: 1000, ratio: 0.25 };
const [serverCore, loadCore] = [0, 1];

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '100000' },
    clients: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const connections = Number(values.clients);
const total = Number(values.streams);

pinSelf(loadCore);
const server = await millrace({ core: serverCore });
const port = Number(new URL(server.url).port);
const { key } = (await (await server.call('POST', '/api/api-token', { name: 'bench' })).json()) as {
  key: string;
};
const head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n`;

let made = 0;
const creates = await measured(server.pid, () =>
  httpLoad({
    port,
    connections,
    requests: total,
    keepIds: true,
    next: () => {
      const body = JSON.stringify({ name: `stream ${made++}` });
      return `POST /api/stream HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    },
  }),
);
const { ids } = creates.load;
const random = () => ids[Math.floor(Math.random() * ids.length)];
const document = await (await server.call('GET', `/api/stream/${ids[0]}`)).text();

const [barePort = 0] = await findFreePorts(1);
const bare = start([bun, 'bench/bare-elysia.ts'], {
  core: serverCore,
  env: { BARE_PORT: String(barePort), BARE_DOCUMENT: document },
});
await until('the bare route', () => bare.output.includes('listening'), { within: 10_000, every: 20 });

const cpus: number[] = [];
const turns: { words: string; turn: Measured }[] = [{ words: 'POST /api/stream', turn: creates }];
const ratios: number[] = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  const get = (to: number, pid: number) =>
    measured(pid, () =>
      httpLoad({
        port: to,
        connections,
        seconds: Number(values.seconds),
        next: () => `GET /api/stream/${random()} HTTP/1.1\r\n${head}\r\n`,
      }),
    );
  const bareTurn = await get(barePort, bare.pid);
  const turn = await get(port, server.pid);
  turns.push({ words: 'GET, bare Elysia', turn: bareTurn }, { words: 'GET, millrace', turn });
  ratios.push(rateOf(turn.load) / rateOf(bareTurn.load));
  cpus.push(bareTurn.cpu / bareTurn.load.answers / (turn.cpu / turn.load.answers));
}
await server.stop();
await bare.stop();

printTable(
  ['', 'answers/s', 'CPU µs each', 'p50 ms', 'p99 ms', 'errors'],
  turns.map(({ words, turn: { load, cpu } }) => [
    words,
    rateOf(load).toFixed(0),
    ((cpu / load.answers) * 1e6).toFixed(1),
    percentile(load.latencies, 50).toFixed(2),
    percentile(load.latencies, 99).toFixed(2),
    String(load.errors.length),
  ]),
);
const errors = turns.flatMap(({ turn }) => turn.load.errors);
for (const error of errors.slice(0, 3)) console.log(error);
const ratio = percentile(ratios, 50);
console.log(
  `\nGET to bare Elysia: ${ratio.toFixed(2)} by answers (goal ≥ ${goals.ratio}), ${percentile(cpus, 50).toFixed(2)} by CPU, where the\nload is in nobody's way; durable creates ${rateOf(creates.load).toFixed(0)}/s (goal ≥ ${goals.creates}).\n` +
    `${ids.length} streams, ${connections} connections; server on core ${serverCore}, load on core ${loadCore}.\n${machine()}`,
);
const isGood = errors.length === 0 && ratio >= goals.ratio && rateOf(creates.load) >= goals.creates;
process.exit(isGood ? 0 : 1);

interface Measured {
  load: HttpLoad;
  /** Seconds of CPU that the server took, all threads. */
  cpu: number;
}

async function measured(pid: number, work: () => Promise<HttpLoad>): Promise<Measured> {
  const before = usageOf(pid).cpu;
  const load = await work();
  return { load, cpu: usageOf(pid).cpu - before };
}

function rateOf(load: HttpLoad): number {
  return load.answers / load.seconds;
}
