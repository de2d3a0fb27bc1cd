/**
 * `npm run fleet [folder]`: a deployment of three nodes on this machine, with Redis, Kafka and an S3 server that it
 * finds or fetches. Data in ./fleet-data unless told otherwise; a second run goes on with them. Ctrl-C stops everything.
 */
import { join, resolve } from 'node:path';
import { defaultNodes, type Fleet, startFleet } from './fleet.ts';
import { follow } from './follow.ts';

const folder = resolve(process.argv[2] ?? 'fleet-data');
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
  const fleet = await startFleet({ folder, env: { MILLRACE_LOG__LEVEL: 'info' } });
  for (const part of [fleet.redis, fleet.kafka, ...(fleet.s3 ? [fleet.s3] : []), ...fleet.nodes]) {
    void part.ended.then((how) => {
      if (!isStopping) console.log(`${part.name} has ended (${how}). Its log: ${part.logFile}`);
    });
  }
  if (!isStopping) console.log(welcome(fleet, Math.round(performance.now() - began) / 1000));
  await asked;
  console.log('Stopping: first who takes broadcasts, then the others, then the engines …');
  await fleet.stop();
} catch (error) {
  console.error(`The fleet could not start: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
for (const end of unfollow) end();
if (process.exitCode !== 1) console.log(`Stopped. The data stay in ${folder}.`);
process.exit();

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

Ctrl-C stops everything; the next start goes on with the data.
`;
}
