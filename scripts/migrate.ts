import { createClient } from 'redis';
import { loadConfig } from '../config/load.ts';
import { readPem } from '../runtime/base/read-pem.ts';
import { moveFromShards } from './move-shards.ts';

/**
 * Moves the data that a fleet of Millrace 0.1 left in Redis to how this version keeps it. Run it once, with the config of the
 * fleet, while all nodes are stopped; it may be repeated. Kafka and S3 need nothing.
 */
const { redis } = await loadConfig(process.env);
if (redis.url === undefined) throw new Error('redis.url is not set: there is no fleet to move');
const ca = redis.ca === undefined ? undefined : await readPem('redis.ca', redis.ca);
const client = createClient({
  url: redis.url,
  RESP: 2,
  ...(ca !== undefined && { socket: { tls: true, ca } }),
});
await client.connect();
const moved = await moveFromShards(client, redis.namespace);
client.destroy();
console.log(
  moved === undefined ? 'There is nothing to move.' : `Moved: ${moved} keys of ${redis.namespace}.`,
);
