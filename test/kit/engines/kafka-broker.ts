import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mendedKafkajs } from '../../../runtime/drivers/bus/kafka/mended.ts';
import { type Engine, type EngineOptions, type Place, startEngine } from './engine.ts';
import type { KafkaJars } from './kafka-jars.ts';
import {
  brokerProperties,
  firstNode,
  joinedProperties,
  type KafkaSecurity,
  propertiesFile,
  secureProperties,
} from './kafka-properties.ts';

export interface KafkaOptions extends EngineOptions {
  /** More of server.properties: `{ 'log.retention.ms': '1000' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Listens for clients that say who they are as well, on two more ports. */
  readonly secure?: KafkaSecurity;
  /** Is one more broker of the cluster of this one, which stays its controller. */
  readonly joins?: Kafka;
}

export interface Kafka extends Engine {
  /** `['127.0.0.1:<port>']`; plain text, no authentication. */
  readonly brokers: string[];
  readonly port: number;
  /** Its number in its cluster. */
  readonly nodeId: number;
  /** Where brokers of its cluster find its controller. */
  readonly controllerPort: number;
  /** With `secure`: where a password (SASL/PLAIN) is asked for. */
  readonly withPassword: string[];
  /** With `secure`: the same over TLS. */
  readonly overTls: string[];
}

/** Starts a broker that is its own controller, unless it joins another. `flags` are Java's. */
export async function startBroker(
  { jars, flags }: { jars: KafkaJars; flags: readonly string[] },
  options: KafkaOptions,
): Promise<Kafka> {
  const nodeIdOf = ({ ports }: Place) => (options.joins ? (ports[0] as number) : firstNode);
  const { engine, place } = await startEngine(
    {
      name: 'kafka',
      portCount: options.secure ? 4 : 2,
      async prepare(where) {
        const file = join(where.folder, 'server.properties');
        const data = join(where.folder, 'data');
        writeFileSync(
          file,
          propertiesFile({
            ...brokerProperties(where),
            ...(options.secure && secureProperties(where, options.secure)),
            ...(options.joins && joinedProperties(where, options.joins)),
            ...options.settings,
          }),
        );
        if (!existsSync(data)) format(data, { jars, nodeId: nodeIdOf(where) });
        return {
          command: [jars.java, ...javaFlags, ...flags, '-cp', jars.classpath, 'kafka.Kafka', file],
        };
      },
      isReady: ({ ports }) => isUnfenced(ports[0]),
    },
    options,
  );
  const [port, controller, password, tls] = place.ports;
  const at = (one: number | undefined) => (one === undefined ? [] : [`127.0.0.1:${one}`]);
  return Object.assign(engine, {
    ...{ brokers: at(port), port, nodeId: nodeIdOf(place) },
    controllerPort: options.joins?.controllerPort ?? controller,
    ...{ withPassword: at(password), overTls: at(tls) },
  });
}

const javaFlags = [
  '-Xmx256m',
  '-XX:+UseSerialGC',
  // A broker of a test does not live long enough for the second compiler.
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
];

/** Formatting is a second of Java, and its result is always the same but for two names. A copy is complete or not there. */
function format(data: string, { jars, nodeId }: { jars: KafkaJars; nodeId: number }): void {
  const unfinished = `${data}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(join(jars.home, 'formatted'), unfinished, { recursive: true });
  if (nodeId !== firstNode) {
    const file = join(unfinished, 'meta.properties');
    const folder = randomBytes(16).toString('base64url');
    const own = readFileSync(file, 'utf8')
      .replace(/^node\.id=.*$/m, `node.id=${nodeId}`)
      .replace(/^directory\.id=.*$/m, `directory.id=${folder}`);
    writeFileSync(file, own);
  }
  renameSync(unfinished, data);
}

/** Whether it is a broker that its cluster counts on: it listens some time before that. */
async function isUnfenced(port: number | undefined): Promise<boolean> {
  const { Kafka: Client, logLevel } = await mendedKafkajs();
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
    return (await admin.describeCluster()).brokers.some((broker) => broker.port === port);
  } finally {
    await admin.disconnect();
  }
}
