import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/base/log.ts';
import type { DriverContext as GivenContext } from '../../core/plugin/driver.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import type { Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { readPem } from '../base/read-pem.ts';
import type { KafkaBusOptions } from '../drivers/bus/kafka/index.ts';
import { engineSilence } from './engine-watch.ts';

/**
 * The drivers that a config names, which has been checked for what they need. Of the others neither code nor client is loaded.
 * Nothing is connected yet: that begins with the first call.
 */
export async function openDrivers(
  settings: DriverSettings,
  context: DriverContext,
): Promise<DriversOfSet & { blobs: Blobs }> {
  const [main, blobs] = await Promise.all([
    settings.drivers.store === 'redis' ? ofCluster(settings, context) : embedded(settings, context),
    openBlobs(settings, context),
  ]);
  return { ...main, blobs };
}

/** The sections of the config that drivers need, and which drivers it chooses. */
export type DriverSettings = Pick<Config, 'dataDir' | 'redis' | 'kafka' | 's3' | 'node'> & {
  readonly drivers: { readonly store: 'sqlite' | 'redis'; readonly blobs: string };
};

interface DriverContext {
  readonly clock: Clock;
  readonly log: Log;
  /** The store cannot go on. */
  onFailure(error: Error): void;
  /** Makes the driver for blobs that a plugin brings. */
  blobsOfPlugin(name: string, context: GivenContext): Promise<Blobs>;
}

interface DriversOfSet {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly volatile: Volatile;
  /** Where there may be several nodes. */
  readonly bus?: Bus;
  /** Engines that the API needs: name → a question that it answers when it can. */
  readonly engines?: Readonly<Record<string, () => Promise<unknown>>>;
}

async function embedded(
  { dataDir }: DriverSettings,
  { clock, onFailure }: DriverContext,
): Promise<DriversOfSet> {
  const [{ sqliteStore }, { memoryVolatile }] = await Promise.all([
    import('../drivers/store/sqlite/index.ts'),
    import('../drivers/volatile/memory.ts'),
  ]);
  const store = sqliteStore({ file: join(dataDir, 'millrace.db'), onFailure });
  return { store, jobs: store.jobs, volatile: memoryVolatile({ clock }) };
}

async function ofCluster(settings: DriverSettings, { clock, log }: DriverContext): Promise<DriversOfSet> {
  const [{ redisStore }, { redisVolatile }, { kafkaBus }] = await Promise.all([
    import('../drivers/store/redis/index.ts'),
    import('../drivers/volatile/redis/index.ts'),
    import('../drivers/bus/kafka/index.ts'),
  ]);
  const { redis, kafka, node } = settings;
  const ca = await pemOf('redis.tls.ca', redis.tls.ca ?? redis.ca);
  const redisOptions = {
    ...{ url: redis.url ?? '', sentinels: redis.sentinels, master: redis.master },
    ...{ namespace: redis.namespace, log },
    ...(ca !== undefined && { ca }),
  };
  const { fsync, allowLoss } = redis;
  const { id = '' } = node;
  const store = redisStore({ ...redisOptions, fsync, allowLoss });
  const bus = kafkaBus({ ...(await kafkaOptions(kafka)), node: id, clock, log });
  return {
    ...{ store, bus },
    jobs: store.jobs,
    volatile: redisVolatile(redisOptions),
    engines: {
      redis: () => store.resources.get('node', id),
      async kafka() {
        await bus.ping();
        checkHeard(bus, clock.now());
      },
    },
  };
}

async function kafkaOptions(
  kafka: DriverSettings['kafka'],
): Promise<Omit<KafkaBusOptions, 'node' | 'clock' | 'log'>> {
  const { brokers, namespace, partitions, ssl, sasl, replication, minInsync } = kafka;
  const paths = typeof ssl === 'object' ? ssl : kafka;
  const [ca, cert, key] = await Promise.all([
    pemOf('kafka.ssl.ca', paths.ca),
    pemOf('kafka.ssl.cert', paths.cert),
    pemOf('kafka.ssl.key', paths.key),
  ]);
  const files = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
  return {
    ...{ brokers, namespace, partitions },
    ...(ssl && { ssl: Object.keys(files).length > 0 ? files : true }),
    ...(sasl && { sasl }),
    ...(replication !== undefined && { replication }),
    ...(minInsync !== undefined && { minInsync }),
  };
}

async function pemOf(key: string, path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readPem(key, path);
}

/** Throws when nothing was heard of any partition that this node consumes, whatever else Kafka answers. */
function checkHeard(bus: Bus, now: number): void {
  const lags = bus.lags();
  const isSilent = lags.every(({ heardAt }) => now - heardAt > engineSilence);
  if (lags.length > 0 && isSilent) throw new Error('Kafka does not answer');
}

async function openBlobs(
  { drivers, dataDir, s3 }: DriverSettings,
  { clock, log, blobsOfPlugin }: DriverContext,
): Promise<Blobs> {
  if (drivers.blobs === 'fs') {
    const { fsBlobs } = await import('../drivers/blobs/fs/index.ts');
    return fsBlobs({ folder: join(dataDir, 'blobs') });
  }
  if (drivers.blobs !== 's3') return blobsOfPlugin(drivers.blobs, { clock, log, dataDir });
  const { s3Blobs } = await import('../drivers/blobs/s3/index.ts');
  const { bucket = '', accessKeyId = '', secretAccessKey = '' } = s3;
  return s3Blobs({ ...s3, clock, bucket, accessKeyId, secretAccessKey });
}
