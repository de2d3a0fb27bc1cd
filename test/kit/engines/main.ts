/** `npm run engines [folder]`: Redis, Kafka and S3 in the foreground, for work by hand. Data in ./tmp/engines unless told otherwise; Ctrl-C stops them. */
import { join, resolve } from 'node:path';
import { kafka } from './kafka.ts';
import { redis } from './redis.ts';
import { s3 } from './s3.ts';

const folder = resolve(process.argv[2] ?? 'tmp/engines');
// Resolves at once when Ctrl-C comes while they are still starting.
const asked = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve);
});
const engines = await Promise.all([
  redis({ folder: join(folder, 'redis') }),
  kafka({ folder: join(folder, 'kafka') }),
  s3({ folder: join(folder, 's3') }),
]);
const [{ url }, { brokers }, { endpoint, region, bucket, accessKeyId, secretAccessKey }] = engines;
console.log(`Redis  ${url}
Kafka  ${brokers[0]}
S3     ${endpoint}  region ${region}  bucket ${bucket}  key ${accessKeyId}  secret ${secretAccessKey}
data   ${folder}  (remove it to begin anew)
Ctrl-C stops them.`);
await asked;
await Promise.all(engines.map((engine) => engine.stop()));
process.exit();
