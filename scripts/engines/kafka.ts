import { randomBytes } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka as Client, logLevel } from 'kafkajs';
import { cached, cacheFolder } from './cache.ts';
import { type Engine, type EngineOptions, type Place, startEngine } from './engine.ts';
import { type Finding, firstOnPath, isExecutable, outputOf } from './find.ts';
import { installTools } from './tools.ts';

export interface KafkaOptions extends EngineOptions {
  /** More of server.properties: `{ 'log.retention.ms': '1000' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Kafka extends Engine {
  /** `['127.0.0.1:<port>']`; plain text, no authentication. */
  readonly brokers: string[];
  readonly port: number;
}

const name = 'kafka-4.3.1';
/** The oldest Java that it runs on. */
const javaVersion = 17;

/** A real Kafka broker that is its own controller (KRaft), on one node. Topics have to be created. */
export async function kafka(options: KafkaOptions = {}): Promise<Kafka> {
  const { java, home } = await fetchKafka();
  const { engine, place } = await startEngine(
    {
      name: 'kafka',
      portCount: 2,
      async prepare(where) {
        const file = join(where.folder, 'server.properties');
        writeFileSync(file, properties({ ...propertiesOf(where), ...options.settings }));
        formatData(home, where);
        return { command: [java, ...javaFlags, '-cp', classpath(home), 'kafka.Kafka', file] };
      },
      isReady: ({ ports }) => isUnfenced(ports[0]),
    },
    options,
  );
  const [port] = place.ports;
  return Object.assign(engine, { brokers: [`127.0.0.1:${port}`], port });
}

const javaFlags = [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  // A broker of a test does not live long enough for the second compiler.
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
];

function propertiesOf({ folder, ports: [port, controller] }: Place): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataIn(folder),
    'auto.create.topics.enable': 'false',
    // One node: nothing can have a second copy.
    'default.replication.factor': '1',
    'min.insync.replicas': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // The default, 50, is a second of the first consumer's start and 50 folders.
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    // After a kill the controller waits for the session of the broker that it was: 4.6 s instead of 12.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    // The default, 128 MiB, is half of the heap.
    'log.cleaner.dedupe.buffer.size': '8388608',
  };
}

const properties = (all: Record<string, string>) =>
  `${Object.entries(all)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;

const dataIn = (folder: string) => join(folder, 'data');

/** Gives a new broker the empty formatted data of the cache: formatting is a second of Java, and its result is always the same. */
function formatData(home: string, { folder }: Place): void {
  const data = dataIn(folder);
  if (existsSync(data)) return;
  const unfinished = `${data}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(join(home, 'formatted'), unfinished, { recursive: true });
  renameSync(unfinished, data);
}

/** Whether it is a broker that its cluster counts on: it listens some time before that. */
async function isUnfenced(port: number): Promise<boolean> {
  const client = new Client({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 2000,
    retry: { retries: 0 },
  });
  const admin = client.admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.length === 1;
  } finally {
    await admin.disconnect();
  }
}

/** A Java and the jars in the cache. `program` is the Java. */
export async function findKafka(): Promise<Finding> {
  if (!existsSync(join(cacheFolder(), name))) return { missing: `no ${name} in the cache` };
  return findJava();
}

/** Finds it, or downloads its jars from Maven Central into the cache, with Java and Maven from the system's packages. */
export async function fetchKafka(): Promise<{ java: string; home: string }> {
  if (!(await findJava()).program) await installTools(['java']);
  const { program: java, missing } = await findJava();
  if (!java) throw new Error(`kafka: ${missing}; install a Java runtime of version ${javaVersion} or later`);
  const home = await cached(name, async (target) => {
    if (!firstOnPath('mvn')) await installTools(['maven']);
    console.error(`engines: downloading ${name} with Maven`);
    copyFileSync(join(import.meta.dirname, 'kafka-pom.xml'), join(target, 'pom.xml'));
    const jars = join(target, 'jars');
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
    await outputOf(
      [
        firstOnPath('mvn') ?? 'mvn',
        '-B',
        '-q',
        '-C',
        copy,
        '-DincludeScope=runtime',
        `-DoutputDirectory=${jars}`,
      ],
      { cwd: target },
    );
    await format(java, target);
  });
  return { java, home };
}

/** Formats data once, for all brokers that will ever start from here: they never meet, so they may be of one cluster id. */
async function format(java: string, home: string): Promise<void> {
  const data = join(home, 'formatted');
  const file = join(home, 'format.properties');
  writeFileSync(
    file,
    properties({ ...propertiesOf({ folder: home, ports: [9092, 9093] }), 'log.dirs': data }),
  );
  const id = randomBytes(16).toString('base64url');
  const tool = ['-cp', classpath(home), 'kafka.tools.StorageTool', 'format', '-t', id, '-c', file];
  await outputOf([java, ...javaFlags, ...tool]);
}

/** Java expands the asterisk, not a shell. */
const classpath = (home: string) => join(home, 'jars', '*');

async function findJava(): Promise<Finding> {
  const places = existsSync('/usr/lib/jvm') ? readdirSync('/usr/lib/jvm').sort().reverse() : [];
  const own = process.env.JAVA_HOME && join(process.env.JAVA_HOME, 'bin/java');
  const candidates = [
    own,
    firstOnPath('java'),
    ...places.map((folder) => join('/usr/lib/jvm', folder, 'bin/java')),
  ].filter((path): path is string => Boolean(path && isExecutable(path)));
  for (const program of candidates) {
    const version = /version "(\d+)/.exec(await outputOf([program, '-version']).catch(String))?.[1];
    if (Number(version) >= javaVersion) return { program };
  }
  return { missing: `no Java ${javaVersion} or later${candidates[0] ? ` (${candidates[0]} is older)` : ''}` };
}
