/** Starts two of an engine, one frozen, tells who they are, and then only waits to be killed: `bun owner-child.ts <engine>`. */
import { kafka } from '../kit/engines/kafka.ts';
import { redis } from '../kit/engines/redis.ts';
import { s3 } from '../kit/engines/s3.ts';

const start = { redis, kafka, s3 }[process.argv[2] as 'redis' | 'kafka' | 's3'];
const engines = [await start(), await start()];
await engines[1].freeze();
console.log(JSON.stringify(engines.map(({ pid, folder }) => ({ pid, folder }))));
setInterval(() => {}, 60_000);
