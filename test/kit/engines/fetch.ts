/**
 * Makes sure that the real engines are on this machine: `bun test/kit/engines/fetch.ts [redis|kafka|s3 …]`. Looks first,
 * fetches only what is missing. Exit code 1 when one could not be had; the line on stderr says why.
 */
import { fetchKafka } from './kafka.ts';
import { fetchRedis } from './redis.ts';
import { fetchS3 } from './s3.ts';

const fetchers: Record<string, () => Promise<string>> = {
  redis: fetchRedis,
  kafka: async () => (await fetchKafka()).jars.home,
  s3: fetchS3,
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(fetchers);
for (const name of names) {
  const started = performance.now();
  try {
    if (!fetchers[name]) throw new Error(`no engine ${name}: there are ${Object.keys(fetchers).join(', ')}`);
    const where = await fetchers[name]();
    console.error(`engines: ${name} is ${where} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    process.exitCode = 1;
    console.error(`engines: ${(error as Error).message}`);
  }
}
