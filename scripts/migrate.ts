import * as client from 'redis';
import { loadConfig } from '../config/load.ts';
import { readPem } from '../runtime/base/read-pem.ts';
import { primaryOf } from '../runtime/drivers/redis/sentinels.ts';
import { moveFromShards } from './move-shards.ts';

/**
 * Moves the data that a fleet of Millrace 0.1 left in Redis to how this version keeps it. Run it once, with the config of the
 * fleet, while all nodes are stopped; it may be repeated. Kafka and S3 need nothing.
 */
const { redis } = await loadConfig(process.env);
const { url, sentinels, master } = redis;
if (url === undefined) throw new Error('redis.url is not set: there is no fleet to move');
const path = redis.tls.ca ?? redis.ca;
const ca = path === undefined ? undefined : await readPem('redis.tls.ca', path);
const connection = client.createClient({
  url: await primaryOf({ url, ca, sentinels, master }, { redis: client, ms: 5000 }),
  RESP: 2,
  ...(ca !== undefined && { socket: { tls: true, ca } }),
});
await connection.connect();
const moved = await moveFromShards(connection, redis.namespace);
connection.destroy();
console.log(
  moved === undefined ? 'There is nothing to move.' : `Moved: ${moved} keys of ${redis.namespace}.`,
);
