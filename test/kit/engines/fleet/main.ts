/**
 * `npm run fleet -- [folder] [--port 8800]`: a deployment of three nodes on this machine, with Redis, Kafka and an S3
 * server that it finds or fetches, on the same ports at every start. Data in ./fleet-data by default; a second
 * run goes on with them. Ctrl-C stops everything. `npm run fleet -- restart media [folder]`, in another terminal,
 * restarts a part of it, and `kill` ends one as a crash would.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Engine } from '../engine.ts';
import { type Command, commands, isRunning, sendCommand, takeCommands } from './control.ts';
import { defaultNodes, type Fleet, startFleet } from './fleet.ts';
import { follow } from './follow.ts';
import { defaultBase, portsFrom, takenPorts } from './ports.ts';

/** A wrong command line, and no fleet to answer it. */
const exits = { usage: 2, unavailable: 69 };
const usage = `npm run fleet -- [folder] [--port ${defaultBase}]     starts it; --port 0: on any free ports
npm run fleet -- restart|kill <node> [folder]   while it runs; also redis, kafka and s3`;

const { values, positionals } = commandLine();
const isCommand = (word: string | undefined): word is Command => commands.some((one) => one === word);
const [word, name] = positionals;
if (isCommand(word)) await send(word);
if (positionals.length > 1) fail(usage, exits.usage);
const folder = resolve(word ?? 'fleet-data');
const ports = await chosenPorts();
let isStopping = false;
/** Resolves at once when Ctrl-C comes while they are still starting. */
const asked = new Promise<void>((stop) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      isStopping = true;
      stop();
    });
  }
});

const began = performance.now();
console.log('Starting Redis, Kafka, an S3 server and three nodes …');
const unfollow = defaultNodes.map(({ id }) =>
  follow(join(folder, id, `${id}.log`), (line) => line !== '' && shown(id, line)),
);
try {
  const fleet = await startFleet({
    ...{ folder, env: { MILLRACE_LOG__LEVEL: 'info' } },
    ...(ports && {
      nodes: defaultNodes.map((node) => ({
        ...node,
        ports: ports.nodes[node.id as keyof typeof ports.nodes],
      })),
      ...{ redis: { ports: ports.redis }, kafka: { ports: ports.kafka }, s3: { ports: ports.s3 } },
    }),
  });
  const parts = [...fleet.nodes, fleet.redis, fleet.kafka, ...(fleet.s3 ? [fleet.s3] : [])];
  /** Those that end on command. */
  const commanded = new Set<Engine>();
  const watch = (part: Engine) =>
    void part.ended.then((how) => {
      if (!isStopping && !commanded.has(part))
        console.log(`${part.name} has ended (${how}). Its log: ${part.logFile}`);
    });
  for (const part of parts) watch(part);
  const takeNoMore = takeCommands({
    ...{ folder, parts },
    onBegin(part, command) {
      commanded.add(part);
      console.log(`${part.name}: ${command}`);
    },
    onEnd(part) {
      commanded.delete(part);
      if (part.isRunning) watch(part);
    },
  });
  if (!isStopping) console.log(welcome(fleet, Math.round(performance.now() - began) / 1000));
  await asked;
  takeNoMore();
  console.log('Stopping the media nodes, then the other nodes, then the engines …');
  await fleet.stop();
} catch (error) {
  console.error(`The fleet could not start: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
for (const end of unfollow) end();
if (process.exitCode !== 1) console.log(`Stopped. The data stay in ${folder}.`);
process.exit();

function commandLine() {
  try {
    return parseArgs({ allowPositionals: true, options: { port: { type: 'string' } } });
  } catch (error) {
    return fail(`${(error as Error).message}\n${usage}`, exits.usage);
  }
}

/** Undefined: any free ones. */
async function chosenPorts() {
  const base = Number(values.port ?? defaultBase);
  if (!Number.isInteger(base) || base < 0 || base > 65_000)
    fail(`--port: expected 0 to 65000\n${usage}`, exits.usage);
  if (await isRunning(folder))
    fail(`A fleet runs on ${folder} already. Stop it, or name another folder and --port.`);
  if (base === 0) return undefined;
  const chosen = portsFrom(base);
  const taken = await takenPorts(chosen);
  if (taken.length === 0) return chosen;
  const another = base === defaultBase ? defaultBase + 100 : defaultBase;
  return fail(
    `The fleet cannot start: something listens on ${taken.join(', ')} already. End that, or take other ports: npm run fleet -- --port ${another}`,
  );
}

async function send(command: Command): Promise<never> {
  if (name === undefined || positionals.length > 3) fail(usage, exits.usage);
  const folder = resolve(positionals[2] ?? 'fleet-data');
  const answer = await sendCommand({ command, name }, { folder });
  if (!answer)
    fail(
      `No fleet runs on ${folder}. Start one with "npm run fleet", or name its folder.`,
      exits.unavailable,
    );
  if (!answer.isDone) fail(answer.message);
  console.log(answer.message);
  return process.exit();
}

function fail(message: string, code = 1): never {
  console.error(message);
  return process.exit(code);
}

/** The banner of a node speaks of one node alone. */
function shown(id: string, line: string): void {
  if (line.startsWith('{')) console.log(`${id.padEnd(6)}| ${line}`);
}

function welcome({ nodes, redis, kafka, s3, key }: Fleet, seconds: number): string {
  const [a, b] = nodes.filter(({ roles }) => roles.includes('api'));
  const media = nodes.find(({ roles }) => roles.includes('media'));
  const lines = nodes.map(({ id, url, roles, rtmpPort }) => {
    const rtmp = roles.includes('media') ? `   rtmp://127.0.0.1:${rtmpPort}/live` : '';
    return `  ${id.padEnd(8)} ${url}   ${roles.join(', ')}${rtmp}`;
  });
  return `
The fleet is up (${seconds.toFixed(1)} s)
${lines.join('\n')}
  redis    ${redis.url}
  kafka    ${kafka.brokers.join(', ')}
  s3       ${s3?.endpoint}   bucket ${s3?.bucket}
  API key  ${key}
  data     ${folder}   logs: ${join(folder, '<name>', '<name>.log')}

1. Create a stream on ${a.id}:
   curl -s ${a.url}/api/stream -H "Authorization: Bearer ${key}" -d '{"name":"First"}'
2. Broadcast to ${media?.id}, with its streamKey:
   ffmpeg -re -f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine -c:v libx264 -g 60 -pix_fmt yuv420p \\
     -c:a aac -f flv rtmp://127.0.0.1:${media?.rtmpPort}/live/<streamKey>
3. Watch it through ${b.id}: ${b.url}/watch/<playbackId>

In another terminal: "npm run fleet -- restart media" restarts a node, "kill" in its place ends it as a crash would; so
it goes with a, b, redis, kafka and s3. Ctrl-C stops everything; the next start goes on with the data, on the same ports.
`;
}
