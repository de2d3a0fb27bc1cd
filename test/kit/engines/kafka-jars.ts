/** A Kafka on this machine: its jars, and a Java that runs them. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cached, cacheFolder } from './cache.ts';
import { type Finding, firstOnPath, isExecutable, outputOf } from './find.ts';
import { brokerProperties, propertiesFile } from './kafka-properties.ts';
import { installTools } from './tools.ts';

export const kafkaName = 'kafka-4.3.1';
/** The oldest Java that it runs on. */
const oldestJava = 17;

export interface KafkaJars {
  /** Path of the program. */
  readonly java: string;
  /** As it calls itself: `17.0.15`. */
  readonly javaVersion: string;
  /** Folder of the cache. In it `formatted`: empty formatted data of a broker. */
  readonly home: string;
  readonly classpath: string;
}

/** A Java, and the jars in the cache. */
export async function findKafka(): Promise<Finding> {
  if (!existsSync(join(cacheFolder(), kafkaName))) return { missing: `no ${kafkaName} in the cache` };
  return findJava();
}

/** Finds it, or downloads its jars from Maven Central into the cache, with Java and Maven from the system's packages. */
export async function fetchKafkaJars(): Promise<KafkaJars> {
  let java = await findJava();
  if (!java.program) {
    await installTools(['java']);
    java = await findJava();
  }
  const { program, version, missing } = java;
  if (!program) throw new Error(`kafka: ${missing}; install a Java runtime`);
  const home = await cached(kafkaName, async (target) => {
    if (!firstOnPath('mvn')) await installTools(['maven']);
    console.error(`engines: downloading ${kafkaName} with Maven`);
    copyFileSync(join(import.meta.dirname, 'kafka-pom.xml'), join(target, 'pom.xml'));
    const jars = join(target, 'jars');
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
    await outputOf(['mvn', '-B', '-q', '-C', copy, '-DincludeScope=runtime', `-DoutputDirectory=${jars}`], {
      cwd: target,
    });
    await format(program, target);
  });
  return { java: program, javaVersion: version, home, classpath: classpathOf(home) };
}

/** Formats data once, for all brokers that will ever start from here: they never meet, so they may be of one cluster id. */
async function format(java: string, home: string): Promise<void> {
  const data = join(home, 'formatted');
  const file = join(home, 'format.properties');
  writeFileSync(
    file,
    propertiesFile({ ...brokerProperties({ folder: home, ports: [9092, 9093] }), 'log.dirs': data }),
  );
  const id = randomBytes(16).toString('base64url');
  const tool = ['-cp', classpathOf(home), 'kafka.tools.StorageTool', 'format', '-t', id, '-c', file];
  await outputOf([java, ...tool]);
}

/** Every jar by its name, in an order that is always the same: the archive of classes is of use to no other. */
function classpathOf(home: string): string {
  const jars = join(home, 'jars');
  return readdirSync(jars)
    .sort()
    .map((jar) => join(jars, jar))
    .join(delimiter);
}

async function findJava(): Promise<FoundJava> {
  const places = existsSync('/usr/lib/jvm') ? readdirSync('/usr/lib/jvm').sort().reverse() : [];
  const own = process.env.JAVA_HOME && join(process.env.JAVA_HOME, 'bin/java');
  const candidates = [
    own,
    firstOnPath('java'),
    ...places.map((folder) => join('/usr/lib/jvm', folder, 'bin/java')),
  ].filter((path): path is string => Boolean(path && isExecutable(path)));
  for (const program of candidates) {
    const version = /version "([^"]+)/.exec(await outputOf([program, '-version']).catch(String))?.[1] ?? '';
    if (Number.parseInt(version, 10) >= oldestJava) return { program, version };
  }
  return { missing: `no Java ${oldestJava} or later${candidates[0] ? ` (${candidates[0]} is older)` : ''}` };
}

/** `version` as it calls itself: `17.0.15`. */
type FoundJava =
  | { program: string; version: string; missing?: undefined }
  | { missing: string; program?: undefined; version?: undefined };
