import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cached } from './cache.ts';
import { type Kafka, type KafkaOptions, startBroker } from './kafka-broker.ts';
import { fetchKafkaJars, type KafkaJars, kafkaName } from './kafka-jars.ts';

/** A real Kafka broker (KRaft), on one node. Topics have to be created. */
export async function kafka(options: KafkaOptions = {}): Promise<Kafka> {
  const { jars, archive } = await fetchKafka();
  return startBroker({ jars, flags: archive ? [`-XX:SharedArchiveFile=${archive}`] : [] }, options);
}

/** Finds it, or downloads it. Its first start here leaves an archive of its classes, by which each later one takes half as long. */
export async function fetchKafka(): Promise<{ jars: KafkaJars; archive?: string }> {
  const jars = await fetchKafkaJars();
  const file = 'classes.jsa';
  try {
    const folder = await cached(`${kafkaName}-java-${jars.javaVersion}`, async (target) => {
      const archive = join(target, file);
      await using engine = await startBroker({ jars, flags: [`-XX:ArchiveClassesAtExit=${archive}`] }, {});
      await engine.stop();
      if (!existsSync(archive)) throw new Error('no archive was written');
    });
    return { jars, archive: join(folder, file) };
  } catch (error) {
    console.error(`engines: kafka will start slowly: ${(error as Error).message}`);
    return { jars };
  }
}
