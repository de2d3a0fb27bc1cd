/** Starts two of an engine, one frozen, tells who they are, and then only waits to be killed: `bun owner-child.ts <engine>`. */
import { kafka } from '../../scripts/engines/kafka.ts';
import { redis } from '../../scripts/engines/redis.ts';
import { s3 } from '../../scripts/engines/s3.ts';

const start = { redis, kafka, s3 }[process.argv[2] as 'redis' | 'kafka' | 's3'];
const engines = [await start(), await start()];
await engines[1].freeze();
console.log(JSON.stringify(engines.map(({ pid, folder }) => ({ pid, folder }))));
setInterval(() => {}, 60_000);
