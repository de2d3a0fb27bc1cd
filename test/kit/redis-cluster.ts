import { createClient } from 'redis';
import { until } from '../e2e/harness/wait.ts';
import type { EngineForTests } from './engines.ts';

/** A cluster of one node: it refuses calls and scripts whose keys are in different slots. Answers its URL. */
export async function startCluster(redis: EngineForTests<'redis'>): Promise<string> {
  const { url } = await redis.start({ settings: { 'cluster-enabled': 'yes' } });
  const client = createClient({ url });
  await client.connect();
  await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383']);
  const isReady = async () =>
    String(await client.sendCommand(['CLUSTER', 'INFO'])).includes('cluster_state:ok');
  await until('the cluster to be whole', isReady, { within: 30_000, every: 20 });
  client.destroy();
  return url;
}
